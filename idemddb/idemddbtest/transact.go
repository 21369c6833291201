package idemddbtest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// TransactWriteItems does all of its writes or none. A ClientRequestToken counts for ten minutes. Unlike the SDK's client, a DB does not
// generate one.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return call[dynamodb.TransactWriteItemsOutput](ctx, db, in)
}

const (
	maxTransactItems = 100
	maxTransactSize  = 4 << 20
	maxToken         = 36
	tokenLifetime    = 10 * time.Minute
)

// sentTransaction is a transaction that was done with a ClientRequestToken.
type sentTransaction struct {
	token string
	items []types.TransactWriteItem
	until time.Time
}

func (db *DB) transactWriteItems(in *dynamodb.TransactWriteItemsInput, r *Request) (*dynamodb.TransactWriteItemsOutput, error) {
	writes, err := transactWrites(in)
	if err != nil {
		return nil, err
	}

	sent, err := db.token(in)
	if err != nil {
		return nil, err
	}

	repeated, err := db.repeats(sent)
	if err != nil {
		return nil, err
	}

	if err := db.prepareAll(writes); err != nil {
		return nil, err
	}

	if repeated {
		return db.transactOutput(in, writes, replayedUnits(writes)), nil
	}

	outcomes, err := evaluateAll(writes, r)
	if err != nil {
		return nil, err
	}

	cost := make([]int, len(writes))
	for i, w := range writes {
		w.store(outcomes[i])
		cost[i] = 2 * outcomes[i].units
	}

	db.remember(sent)

	return db.transactOutput(in, writes, cost), nil
}

func transactWrites(in *dynamodb.TransactWriteItemsInput) ([]*write, error) {
	if n := len(in.TransactItems); n == 0 || n > maxTransactItems {
		return nil, invalid("Value at 'transactItems' failed to satisfy constraint: Member must have length between 1 and 100")
	}

	writes := make([]*write, len(in.TransactItems))
	for i, part := range in.TransactItems {
		w, n := transactWrite(part)
		if n != 1 {
			return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
		}

		if (w.kind == checkWrite && w.condition == nil) || w.tableName == nil {
			return nil, invalid("Value null at 'transactItems.%d.member' failed to satisfy constraint: Member must not be null", i+1)
		}

		writes[i] = w
	}

	return writes, nil
}

// transactWrite returns the write of a part, and how many kinds of write the part holds: it should be one.
func transactWrite(part types.TransactWriteItem) (w *write, n int) {
	if p := part.Update; p != nil {
		n++
		w = &write{kind: updateWrite, tableName: p.TableName, key: p.Key, condition: p.ConditionExpression, update: p.UpdateExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.Put; p != nil {
		n++
		w = &write{kind: putWrite, tableName: p.TableName, key: p.Item, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.Delete; p != nil {
		n++
		w = &write{kind: deleteWrite, tableName: p.TableName, key: p.Key, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	if p := part.ConditionCheck; p != nil {
		n++
		w = &write{kind: checkWrite, tableName: p.TableName, key: p.Key, condition: p.ConditionExpression,
			names: p.ExpressionAttributeNames, values: p.ExpressionAttributeValues, giveItem: p.ReturnValuesOnConditionCheckFailure}
	}

	return w, n
}

func (db *DB) prepareAll(writes []*write) error {
	type itemID struct{ table, id string }

	seen := map[itemID]bool{}
	size := 0

	for _, w := range writes {
		if err := db.prepare(w); err != nil {
			return err
		}

		id := itemID{w.table.name, w.id}
		if seen[id] {
			return invalid("Transaction request cannot include multiple operations on one item")
		}

		seen[id] = true

		if size += itemSize(w.adopted); size > maxTransactSize {
			return invalid("Transaction size has exceeded the maximum allowed size")
		}
	}

	return nil
}

// evaluateAll returns the outcomes of all writes, or an error with a reason for each if one of them is refused. An update that does not fit
// its item has the reason ValidationError, as the service documents it; DynamoDB Local answers most of these with a ValidationException.
func evaluateAll(writes []*write, r *Request) ([]outcome, error) {
	outcomes := make([]outcome, len(writes))
	reasons := make([]types.CancellationReason, len(writes))
	codes := make([]string, len(writes))
	canceled := false

	for i, w := range writes {
		var err error

		outcomes[i], err = w.evaluate()
		reasons[i] = w.reason(outcomes[i], err)
		codes[i] = *reasons[i].Code
		canceled = canceled || codes[i] != "None"
		part := &r.Items[i]
		part.Refused, part.WriteUnits = outcomes[i].refused, 2*max(1, outcomes[i].units)
		r.Refused = r.Refused || part.Refused
		r.WriteUnits += part.WriteUnits
	}

	if !canceled {
		return outcomes, nil
	}

	return nil, &types.TransactionCanceledException{
		Message: new("Transaction cancelled, please refer cancellation reasons for specific reasons [" +
			strings.Join(codes, ", ") + "]"),
		CancellationReasons: reasons,
	}
}

func (w *write) reason(o outcome, err error) types.CancellationReason {
	switch {
	case err != nil:
		c := types.CancellationReason{Code: new("ValidationError"), Message: new(err.Error())}
		if api, ok := errors.AsType[*smithy.GenericAPIError](err); ok {
			c.Message = new(api.Message)
		}

		return c
	case !o.refused:
		return types.CancellationReason{Code: new("None")}
	}

	c := types.CancellationReason{Code: new("ConditionalCheckFailed"), Message: new("The conditional request failed")}
	if w.giveItem == types.ReturnValuesOnConditionCheckFailureAllOld {
		c.Item = copyItem(o.before)
	}

	return c
}

// token returns a transaction with its ClientRequestToken, as a copy. It returns nil for one without a token.
func (db *DB) token(in *dynamodb.TransactWriteItemsInput) (*sentTransaction, error) {
	switch n := len(text(in.ClientRequestToken)); {
	case n == 0:
		return nil, nil
	case n > maxToken:
		return nil, invalid("Value at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36")
	}

	copied, err := copyInput(in)
	if err != nil {
		return nil, err
	}

	return &sentTransaction{
		token: *in.ClientRequestToken, items: copied.(*dynamodb.TransactWriteItemsInput).TransactItems, until: db.now().Add(tokenLifetime),
	}, nil
}

// repeats reports whether a transaction with the same token was done in the last ten minutes.
func (db *DB) repeats(t *sentTransaction) (bool, error) {
	if t == nil {
		return false, nil
	}

	sent, ok := db.tokens[t.token]
	if !ok || !db.now().Before(sent.until) {
		return false, nil
	}

	if !reflect.DeepEqual(sent.items, t.items) {
		return false, &types.IdempotentParameterMismatchException{Message: new("Request rejected because it was retried with a different payload")}
	}

	return true, nil
}

// remember keeps a transaction that has a token, and removes those whose ten minutes are over.
func (db *DB) remember(t *sentTransaction) {
	if t == nil {
		return
	}

	now := db.now()
	maps.DeleteFunc(db.tokens, func(_ string, sent *sentTransaction) bool { return !now.Before(sent.until) })
	db.tokens[t.token] = t
}

// replayedUnits returns the price of a transaction whose token is repeated: the items are read, not written.
func replayedUnits(writes []*write) []int {
	cost := make([]int, len(writes))
	for i, w := range writes {
		cost[i] = 2 * units(itemSize(w.table.items[w.id]), readUnit)
	}

	return cost
}

func (db *DB) transactOutput(in *dynamodb.TransactWriteItemsInput, writes []*write, cost []int) *dynamodb.TransactWriteItemsOutput {
	out := &dynamodb.TransactWriteItemsOutput{}
	at := map[string]int{}

	for i, w := range writes {
		c := capacity(in.ReturnConsumedCapacity, w.table, cost[i])
		if c == nil {
			return out
		}

		if j, ok := at[w.table.name]; ok {
			*out.ConsumedCapacity[j].CapacityUnits += *c.CapacityUnits

			continue
		}

		at[w.table.name] = len(out.ConsumedCapacity)
		c.Table = nil
		out.ConsumedCapacity = append(out.ConsumedCapacity, *c)
	}

	return out
}
