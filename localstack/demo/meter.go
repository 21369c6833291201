package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
)

type item = map[string]types.AttributeValue

// request is one request of a worker, or one statement of it, as it is shown.
type request struct {
	table     string // "records" or "ledger"; "" for a statement
	operation string
	purpose   string
	key       string
	outcome   string
	applied   bool
	units     float64
	parts     []request // its statements, by key
}

// meter is one worker's way to DynamoDB. It writes down each request and its price, on any engine, and is where trouble comes
// from: before may answer in DynamoDB's place, after holds the answer back from the worker, and a dead worker reaches nothing.
type meter struct {
	api     client
	records string // the name of their table
	before  func(context.Context, request) error
	after   func(request)
	dead    atomic.Bool

	mu  sync.Mutex
	log []request
}

// client is what the library uses of *dynamodb.Client. Without its second part it would make a request of each write.
type client interface {
	idemddb.DynamoDB
	BatchExecuteStatement(
		ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
}

// UpdateItem changes one item, and is counted.
func (m *meter) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "UpdateItem", table: m.table(*in.TableName), purpose: purpose(in), key: text(in.Key["pk"])}

	return send(ctx, m, r, func() (*dynamodb.UpdateItemOutput, error) {
		return m.api.UpdateItem(ctx, &asked, opts...)
	}, func(r *request, out *dynamodb.UpdateItemOutput) {
		r.outcome, r.units = written(*r, out.Attributes), units(out.ConsumedCapacity)
	})
}

// PutItem writes a whole item, and is counted.
func (m *meter) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "PutItem", table: m.table(*in.TableName), purpose: "claim", key: text(in.Item["pk"])}

	return send(ctx, m, r, func() (*dynamodb.PutItemOutput, error) {
		return m.api.PutItem(ctx, &asked, opts...)
	}, func(r *request, out *dynamodb.PutItemOutput) {
		r.outcome, r.units = written(*r, nil), units(out.ConsumedCapacity)
	})
}

// TransactWriteItems writes several items or none, and is counted as one request.
func (m *meter) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "TransactWriteItems", table: "records", purpose: "complete"}

	return send(ctx, m, r, func() (*dynamodb.TransactWriteItemsOutput, error) {
		return m.api.TransactWriteItems(ctx, &asked, opts...)
	}, func(r *request, out *dynamodb.TransactWriteItemsOutput) {
		r.outcome = written(*r, nil)
		for i := range out.ConsumedCapacity {
			r.units += units(&out.ConsumedCapacity[i])
		}
	})
}

// errDead is all that a dead worker gets. What is left of it gives up at once: only an answer that may be another one next time is
// asked for again.
var errDead = &smithy.GenericAPIError{Code: "WorkerDied"}

// send asks the engine, unless trouble is quicker, and writes down how it went before the worker learns of it.
func send[Out any](
	ctx context.Context, m *meter, r request, ask func() (*Out, error), read func(*request, *Out),
) (*Out, error) {
	if m.dead.Load() {
		return nil, errDead
	}

	if m.before != nil {
		if err := m.before(ctx, r); err != nil {
			r.outcome = "throttled, not applied"
			m.add(r)

			return nil, err
		}
	}

	out, err := ask()

	if r.applied = err == nil; r.applied {
		read(&r, out)
	} else {
		r.outcome, r.units = refused(err), refusalUnits(err)
	}

	m.add(r)

	if m.after != nil {
		m.after(r)
	}

	if m.dead.Load() {
		return nil, errDead
	}

	return out, err
}

func (m *meter) add(r request) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.log = append(m.log, r)
}

// take returns the requests since it was last called.
func (m *meter) take() []request {
	m.mu.Lock()
	defer m.mu.Unlock()

	log := m.log
	m.log = nil

	return log
}

func (m *meter) table(name string) string {
	if name == m.records {
		return "records"
	}

	return "ledger"
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil || c.CapacityUnits == nil {
		return 0
	}

	return *c.CapacityUnits
}

// refusalUnits is the price of a write that its condition refused: that of the item that stood in the way. The answer does not
// say, but carries the item.
func refusalUnits(err error) float64 {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return price(e.Item)
	}

	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return 0
	}

	var sum float64
	for _, reason := range canceled.CancellationReasons {
		sum += 2 * price(reason.Item) // a transaction costs double
	}

	return sum
}
