// Package transact sends one TransactWriteItems of several parts until DynamoDB answers it, and reads what the answer says of each part.
// It knows nothing of what the parts write.
package transact

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/retry"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// tokenLife is how long DynamoDB recognizes a client request token, at least: ten minutes after its transaction is done.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const tokenLife = 10 * time.Minute

// MaxTogether is how often a transaction of several parts is cancelled before each part is to be sent alone.
const MaxTogether = 2

// Transaction is one write of several parts: all of them or none. The input is built once: all tries send the same bytes, because a client
// request token belongs to one input.
type Transaction struct {
	Client  *Client
	Key     string                // the key with which the functions of Client are called; "" for several
	Token   string                // the first client request token; "" for a new one
	Between func(context.Context) // called before each further try; nil for none

	// The caller reads these after Send. Before Send it sets them to the values that an earlier transaction of the same parts left.
	Cancels int
	Unknown bool // a try had no answer, so it may be applied yet

	input dynamodb.TransactWriteItemsInput
	parts []*Part
	tries int
}

// Part is a record together with its effects. If neither RecordRefused nor Refusal is set after Send, the part was not refused.
type Part struct {
	records int // 1, or 0 for effects without a record
	items   int // the record included

	RecordRefused bool                            // the condition of the record was false
	Found         map[string]types.AttributeValue // the item for which it was false; nil if there is none
	Refusal       *Refusal                        // anything else was refused
}

// Refusal says that DynamoDB refused an effect of a part, its record as it would be, or the request.
type Refusal struct {
	Index   int    // of the effect in its part; -1 if the record or the request was refused
	Code    string // DynamoDB's code for the refusal
	Message string // DynamoDB's text for it
	Item    map[string]types.AttributeValue
	Unknown bool  // an earlier try had no answer, and may be what made the condition of the effect false
	Cause   error // nil for an effect
}

// IsRefused reports whether the part was refused.
func (p *Part) IsRefused() bool { return p.RecordRefused || p.Refusal != nil }

// IsRefused reports whether a part was refused, so that nothing was written.
func (t *Transaction) IsRefused() bool { return slices.ContainsFunc(t.parts, (*Part).IsRefused) }

// Add adds a part: a record, nil for none, and its effects in their order.
func (t *Transaction) Add(record *types.TransactWriteItem, effects []types.TransactWriteItem) *Part {
	p := &Part{items: len(effects)}

	if record != nil {
		p.records = 1
		p.items++
		t.input.TransactItems = append(t.input.TransactItems, *record)
	}

	t.input.TransactItems = append(t.input.TransactItems, effects...)
	t.parts = append(t.parts, p)

	return p
}

// Send sends the transaction until it is answered. If no part was refused then, the transaction is committed; else nothing was written.
// Send returns an error if the transaction got no answer. If DynamoDB refuses the request as a whole, a part that is alone gets the refusal
// as its answer. With several parts Send returns it as an error, because the answer to each part alone is more specific.
//
// An answer without the consumed capacity, which each request asks for, proves nothing, however often it comes: something between the
// client and DynamoDB may have answered, or dropped the content.
//
// The records decide whether an earlier try was applied: their conditions refuse whatever is sent after it, and show it. So a transaction
// with records may be sent under any client request token. After no answer it is sent under the same one, because DynamoDB answers a
// transaction that it has committed with success, which saves a try. After an answer without content it is sent under a new one, so that a
// record answers in place of whatever dropped the content. Without records nothing but the token keeps the effects from being written
// twice. Such a transaction has one token to its end, and is not sent when DynamoDB may have forgotten it.
func (t *Transaction) Send(ctx context.Context, p planner.Policy) error {
	t.input.ClientRequestToken = new(cmp.Or(t.Token, rand.Text()))
	t.input.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	if forgotten := time.Now().Add(tokenLife); !t.hasRecords() && p.End.After(forgotten) {
		p.End = forgotten
	}

	err := retry.Do(ctx, p, func(err error) { t.Client.Retried(ctx, t.Key, err) }, t.try)
	if err == nil || len(t.parts) > 1 || wire.IsTransient(err) {
		return err //nolint:wrapcheck // its caller says what was sent
	}

	t.parts[0].Refusal = &Refusal{Index: -1, Code: wire.Code(err), Message: err.Error(), Unknown: t.Unknown, Cause: err}

	return nil
}

// hasRecords reports whether a record decides if an earlier try was applied.
func (t *Transaction) hasRecords() bool {
	return slices.ContainsFunc(t.parts, func(p *Part) bool { return p.records > 0 })
}

// renewToken gives the next try another token, unless it has no record.
func (t *Transaction) renewToken() {
	if t.hasRecords() {
		t.input.ClientRequestToken = new(rand.Text())
	}
}

// try makes one try. Its error is nil once the transaction is answered.
func (t *Transaction) try(ctx context.Context) error {
	if t.tries++; t.tries > 1 && t.Between != nil {
		t.Between(ctx)
	}

	answer := wire.Transact(ctx, t.Client.API, &t.input, t.Client.Options...)
	if answer.IsTokenSpent {
		t.renewToken()
	}

	if answer.Outcome == protocol.Refused && answer.Err == nil {
		return t.cancelled(ctx, answer.Reasons)
	}

	if answer.Outcome == protocol.Unknown {
		t.Unknown = true
	}

	return answer.Err
}
