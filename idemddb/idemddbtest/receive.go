package idemddbtest

import (
	"context"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

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

// hold keeps a request for Deliver. A transaction that is to be committed late begins at once and sets r.
func (db *DB) hold(in any, f Fault, r *Request) (err error) {
	h := heldRequest{input: copyInput(in)}

	if transaction, ok := h.input.(*dynamodb.TransactWriteItemsInput); ok && f == LateCommit {
		if h.begun, err = db.begin(transaction, r); err != nil {
			return err
		}
	}

	db.held = append(db.held, h)

	return nil
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
