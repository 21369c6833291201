package idemddbtest

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A Request is what a DB knows of one request, each attempt of the SDK being one. An interceptor sees only what was sent: Operation,
// Table, Key, the expressions and Items.
type Request struct {
	Operation string                          // "UpdateItem"
	Table     string                          // "" for a transaction and for a call of statements
	Index     string                          // IndexName of a Query or a Scan; "" for the table itself
	Key       map[string]types.AttributeValue // of the one item that the request names; of a PutItem or a statement the key, once the table is known, else nil
	Condition string                          // ConditionExpression; of a statement what follows WHERE, of a Query KeyConditionExpression, of a Scan FilterExpression
	Update    string                          // UpdateExpression; of a statement its SET and REMOVE clauses, of an INSERT what follows VALUE
	Items     []Request                       // the parts of a transaction, with Operation Put, Update, Delete or ConditionCheck; statements, with Operation INSERT or UPDATE

	WriteUnits int   // consumed; a refused condition consumes too
	Refused    bool  // a condition did not hold; INSERT found an item; of a call of statements: of one of them
	Err        error // what the service answered, unwrapped; nil for success, and when nothing was applied; of a statement what its response says
	Fault      Fault // what was injected; Err is then not, or not all, that the sender saw
}

// Requests returns all requests that were sent so far, in the order in which they were done. It includes those that a fault kept from
// being applied; one that is applied late stands there twice, the second time without the Fault.
func (db *DB) Requests() []Request {
	db.mu.Lock()
	defer db.mu.Unlock()
	out := slices.Clone(db.requests)
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

// ResetRequests empties the log.
func (db *DB) ResetRequests() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.requests = nil
}

func (r Request) clone() Request {
	r.Key = copyItem(r.Key)
	r.Items = slices.Clone(r.Items)
	for i := range r.Items {
		r.Items[i] = r.Items[i].clone()
	}
	return r
}

// receive takes a request as it came in and answers it, or says what fault its answer meets.
func (db *DB) receive(ctx context.Context, in any) (out any, f Fault, err error) {
	db.mu.Lock()
	r := db.describe(in)
	f, intercept := db.nextFault()
	each := db.itemInterceptor(r)
	db.mu.Unlock()
	if intercept != nil { // without the lock: it may wait, or use the DB
		f = intercept(ctx, r.clone())
		if ctx.Err() != nil {
			f = LostRequest // its sender gave up while it was held
		}
	}
	if !db.chooseItemFaults(ctx, &r, f, each) {
		f = LostRequest
	}

	db.mu.Lock()
	defer db.mu.Unlock()
	r.Fault = f
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
	out, r.Err = db.apply(in, &r)
	f.spoil(out, r.Err)
	return out, f, r.Err
}

func (db *DB) apply(in any, r *Request) (out any, err error) {
	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		return db.updateItem(in, r)
	case *dynamodb.PutItemInput:
		return db.putItem(in, r)
	case *dynamodb.TransactWriteItemsInput:
		return db.transactWriteItems(in, r)
	case *dynamodb.BatchExecuteStatementInput:
		return db.batchExecuteStatement(in, r)
	case *dynamodb.GetItemInput:
		return db.getItem(in)
	case *dynamodb.DeleteItemInput:
		return db.deleteItem(in, r)
	case *dynamodb.QueryInput:
		return db.query(in)
	case *dynamodb.ScanInput:
		return db.scan(in)
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
		r.Update = text(in.UpdateExpression)
	case *dynamodb.PutItemInput:
		db.describeItem(&r, in.TableName, db.keyIn(in.TableName, in.Item), in.ConditionExpression)
	case *dynamodb.DeleteItemInput:
		db.describeItem(&r, in.TableName, in.Key, in.ConditionExpression)
	case *dynamodb.GetItemInput:
		db.describeItem(&r, in.TableName, in.Key, nil)
	case *dynamodb.QueryInput:
		r.Table, r.Index, r.Condition = tableName(in.TableName), text(in.IndexName), text(in.KeyConditionExpression)
	case *dynamodb.ScanInput:
		r.Table, r.Index, r.Condition = tableName(in.TableName), text(in.IndexName), text(in.FilterExpression)
	case *dynamodb.CreateTableInput:
		r.Table = tableName(in.TableName)
	case *dynamodb.DescribeTableInput:
		r.Table = tableName(in.TableName)
	case *dynamodb.UpdateTimeToLiveInput:
		r.Table = tableName(in.TableName)
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
		r.Operation, r.Update = "Update", text(part.Update.UpdateExpression)
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

func (db *DB) describeItem(r *Request, table *string, key item, condition *string) {
	r.Table, r.Key, r.Condition = tableName(table), copyItem(key), text(condition)
}

func (db *DB) keyIn(table *string, it item) item {
	t, err := db.table(table)
	if err != nil {
		return nil
	}
	return t.keyPart(it)
}

// operation is the name that an input's type carries.
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

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
