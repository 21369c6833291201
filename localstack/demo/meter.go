package main

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

type item = map[string]types.AttributeValue

// request is one request of a worker, as it is shown.
type request struct {
	table     string // "records" or "ledger"
	operation string
	purpose   string
	key       string
	outcome   string
	applied   bool
	units     float64
}

// meter is one worker's way to DynamoDB. It writes down each request and its price, on any engine, and is where trouble comes
// from: before may answer in DynamoDB's place, after holds the answer back from the worker.
type meter struct {
	api     idemddb.DynamoDB
	records string // the name of their table
	before  func(request) error
	after   func(request)

	mu  sync.Mutex
	log []request
}

// UpdateItem changes one item, and is counted.
func (m *meter) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "UpdateItem", table: m.table(*in.TableName), purpose: purpose(in), key: text(in.Key["pk"])}

	return send(m, r, func() (*dynamodb.UpdateItemOutput, item, []types.ConsumedCapacity, error) {
		out, err := m.api.UpdateItem(ctx, &asked, opts...)
		if err != nil {
			return nil, nil, nil, err //nolint:wrapcheck // the worker gets what the engine said
		}

		return out, out.Attributes, capacity(out.ConsumedCapacity), nil
	})
}

// PutItem writes a whole item, and is counted.
func (m *meter) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "PutItem", table: m.table(*in.TableName), purpose: "claim", key: text(in.Item["pk"])}

	return send(m, r, func() (*dynamodb.PutItemOutput, item, []types.ConsumedCapacity, error) {
		out, err := m.api.PutItem(ctx, &asked, opts...)
		if err != nil {
			return nil, nil, nil, err //nolint:wrapcheck // as above
		}

		return out, nil, capacity(out.ConsumedCapacity), nil
	})
}

// TransactWriteItems writes several items or none, and is counted as one request.
func (m *meter) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	r := request{operation: "TransactWriteItems", table: "records", purpose: "complete"}

	return send(m, r, func() (*dynamodb.TransactWriteItemsOutput, item, []types.ConsumedCapacity, error) {
		out, err := m.api.TransactWriteItems(ctx, &asked, opts...)
		if err != nil {
			return nil, nil, nil, err //nolint:wrapcheck // as above
		}

		return out, nil, out.ConsumedCapacity, nil
	})
}

// send asks the engine, unless trouble is quicker, and writes down how it went before the worker learns of it.
func send[Out any](m *meter, r request, ask func() (*Out, item, []types.ConsumedCapacity, error)) (*Out, error) {
	if m.before != nil {
		if err := m.before(r); err != nil {
			r.outcome = "throttled, not applied"
			m.add(r)

			return nil, err
		}
	}

	out, old, used, err := ask()

	if r.applied = err == nil; r.applied {
		r.outcome, r.units = written(r, old), total(used)
	} else {
		r.outcome, r.units = refused(err), refusalUnits(err)
	}

	m.add(r)

	if m.after != nil {
		m.after(r)
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

func capacity(c *types.ConsumedCapacity) []types.ConsumedCapacity {
	if c == nil {
		return nil
	}

	return []types.ConsumedCapacity{*c}
}

func total(used []types.ConsumedCapacity) float64 {
	var sum float64

	for _, c := range used {
		if c.CapacityUnits != nil {
			sum += *c.CapacityUnits
		}
	}

	return sum
}

// refusalUnits is the price of a write that its condition refused: that of the item that stood in the way. The answer does not
// say, but carries the item.
func refusalUnits(err error) float64 {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return float64(idemddbtest.WriteUnits(e.Item))
	}

	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return 0
	}

	var sum float64
	for _, reason := range canceled.CancellationReasons {
		sum += 2 * float64(idemddbtest.WriteUnits(reason.Item)) // a transaction costs double
	}

	return sum
}
