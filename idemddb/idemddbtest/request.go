package idemddbtest

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/storage"
)

// Request describes one request and its answer. Each try of the SDK is a request. An interceptor gets only what was sent:
// Operation, Table, Key, the expressions and Items.
type Request struct {
	Operation string                          // "UpdateItem"
	Table     string                          // "" for a transaction and a call of statements
	Index     string                          // IndexName of a Query or a Scan; "" for the table itself
	Key       map[string]types.AttributeValue // of the item; for a PutItem or a statement nil if there is no such table
	Condition string                          // ConditionExpression; for a statement the text after WHERE, for a Query KeyConditionExpression, for a Scan FilterExpression
	Update    string                          // UpdateExpression; for an UPDATE its SET and REMOVE clauses, for an INSERT the text after VALUE
	Items     []Request                       // the parts of a transaction (Operation Put, Update, Delete or ConditionCheck) or the statements of a call (INSERT, UPDATE or SELECT)

	WriteUnits int     // write units that were consumed; a refused condition consumes them, too
	ReadUnits  float64 // read units that were consumed
	Refused    bool    // a condition did not hold or an INSERT found an item; for a call, whether that is so for any of its statements
	Err        error   // the error of the service, unwrapped, or of a statement's response, or why [Limits] throttle a part of a transaction; nil for a success and if nothing was applied
	Fault      Fault   // the fault that was injected; the sender then did not get Err, or not all of it
}

// Requests returns all requests that were sent so far, in the order in which they were answered. It includes those that a fault
// kept from being applied. A request that was applied late is there twice, the second time without the Fault.
func (db *DB) Requests() []Request {
	db.mu.Lock()
	defer db.mu.Unlock()

	out := slices.Clone(db.requests)
	for i := range out {
		out[i] = out[i].clone()
	}

	return out
}

// ResetRequests removes all requests from the list that Requests returns.
func (db *DB) ResetRequests() {
	db.mu.Lock()
	defer db.mu.Unlock()

	db.requests = nil
}

func (r Request) clone() Request {
	r.Key = attribute.CopyItem(r.Key)

	r.Items = slices.Clone(r.Items)
	for i := range r.Items {
		r.Items[i] = r.Items[i].clone()
	}

	return r
}

// receive answers a request, and returns the fault that happens to it or to its answer.
func (db *DB) receive(ctx context.Context, in any) (out any, f Fault, err error) {
	r := db.arrive(ctx, in)
	f = r.Fault

	db.mu.Lock()
	defer db.mu.Unlock()
	defer func() { db.requests = append(db.requests, r) }()

	if r.Err = f.refusal(r); r.Err != nil {
		return nil, f, r.Err
	}

	switch f {
	case LostRequest, EmptyAnswer:
		return nil, f, nil
	case LateRequest, LateCommit:
		r.Err = db.hold(in, f, &r)

		return nil, f, r.Err
	}

	out, r.Err = db.apply(ctx, in, &r)
	f.spoil(out, r.Err)

	return out, f, r.Err
}

// arrive describes a request and chooses its faults. It calls interceptors without the lock, because they may wait, or use the
// DB.
func (db *DB) arrive(ctx context.Context, in any) Request {
	db.mu.Lock()
	r := db.describe(in)
	f, intercept := db.nextFault()
	each := db.itemInterceptor(r)
	db.mu.Unlock()

	if intercept != nil {
		f = intercept(ctx, r.clone())
		if ctx.Err() != nil {
			f = LostRequest // its sender gave up while the interceptor waited
		}
	}

	if f != LostRequest && !db.limits.wait(ctx) || !chooseItemFaults(ctx, &r, f, each) {
		f = LostRequest
	}

	r.Fault = f

	return r
}

func (db *DB) apply(ctx context.Context, in any, r *Request) (out any, err error) {
	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		return db.updateItem(in, r)
	case *dynamodb.PutItemInput:
		return db.putItem(in, r)
	case *dynamodb.TransactWriteItemsInput:
		return db.transactWriteItems(ctx, in, r)
	case *dynamodb.BatchExecuteStatementInput:
		return db.batchExecuteStatement(in, r)
	case *dynamodb.GetItemInput:
		return db.getItem(in, r)
	case *dynamodb.DeleteItemInput:
		return db.deleteItem(in, r)
	case *dynamodb.QueryInput:
		return db.query(in, r)
	case *dynamodb.ScanInput:
		return db.scan(in, r)
	case *dynamodb.CreateTableInput:
		return db.createTable(in)
	case *dynamodb.DescribeTableInput:
		return db.describeTable(in)
	case *dynamodb.UpdateTimeToLiveInput:
		return db.updateTimeToLive(in)
	}

	panic("idemddbtest: no operation takes " + reflect.TypeOf(in).String())
}

func (db *DB) describe(in any) Request {
	r := Request{Operation: operation(in)}
	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		db.describeItem(&r, in.TableName, in.Key, in.ConditionExpression)
		r.Update = aws.ToString(in.UpdateExpression)
	case *dynamodb.PutItemInput:
		db.describeItem(&r, in.TableName, db.keyIn(in.TableName, in.Item), in.ConditionExpression)
	case *dynamodb.DeleteItemInput:
		db.describeItem(&r, in.TableName, in.Key, in.ConditionExpression)
	case *dynamodb.GetItemInput:
		db.describeItem(&r, in.TableName, in.Key, nil)
	case *dynamodb.QueryInput:
		r.Table, r.Index, r.Condition = storage.TableName(in.TableName), aws.ToString(in.IndexName), aws.ToString(in.KeyConditionExpression)
	case *dynamodb.ScanInput:
		r.Table, r.Index, r.Condition = storage.TableName(in.TableName), aws.ToString(in.IndexName), aws.ToString(in.FilterExpression)
	case *dynamodb.CreateTableInput:
		r.Table = storage.TableName(in.TableName)
	case *dynamodb.DescribeTableInput:
		r.Table = storage.TableName(in.TableName)
	case *dynamodb.UpdateTimeToLiveInput:
		r.Table = storage.TableName(in.TableName)
	case *dynamodb.TransactWriteItemsInput:
		for _, part := range in.TransactItems {
			r.Items = append(r.Items, db.describePart(part))
		}
	case *dynamodb.BatchExecuteStatementInput:
		r.Items = make([]Request, len(in.Statements))
		for i, s := range in.Statements {
			r.Items[i] = db.describeStatement(s)
		}
	}

	return r
}

func (db *DB) describePart(part types.TransactWriteItem) (r Request) {
	switch {
	case part.Update != nil:
		r.Operation, r.Update = "Update", aws.ToString(part.Update.UpdateExpression)
		db.describeItem(&r, part.Update.TableName, part.Update.Key, part.Update.ConditionExpression)
	case part.Put != nil:
		r.Operation = "Put"
		db.describeItem(&r, part.Put.TableName, db.keyIn(part.Put.TableName, part.Put.Item), part.Put.ConditionExpression)
	case part.Delete != nil:
		r.Operation = "Delete"
		db.describeItem(&r, part.Delete.TableName, part.Delete.Key, part.Delete.ConditionExpression)
	case part.ConditionCheck != nil:
		r.Operation = "ConditionCheck"
		db.describeItem(&r, part.ConditionCheck.TableName, part.ConditionCheck.Key, part.ConditionCheck.ConditionExpression)
	}

	return r
}

func (db *DB) describeItem(r *Request, table *string, key attribute.Item, condition *string) {
	r.Table, r.Key, r.Condition = storage.TableName(table), attribute.CopyItem(key), aws.ToString(condition)
}

func (db *DB) keyIn(table *string, it attribute.Item) attribute.Item {
	t, err := db.tables.Find(table)
	if err != nil {
		return nil
	}

	return t.Key.Part(it)
}

// operation returns the name of the operation that takes this input.
func operation(in any) string {
	switch in.(type) {
	case *dynamodb.UpdateItemInput:
		return "UpdateItem"
	case *dynamodb.PutItemInput:
		return "PutItem"
	case *dynamodb.TransactWriteItemsInput:
		return transactWrite
	case *dynamodb.BatchExecuteStatementInput:
		return "BatchExecuteStatement"
	}

	return strings.TrimSuffix(reflect.TypeOf(in).Elem().Name(), "Input")
}
