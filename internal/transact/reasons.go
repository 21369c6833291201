package transact

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// ConditionFailed is the code of an item whose condition was false.
const ConditionFailed = "ConditionalCheckFailed"

// cancelled reads the reasons of a cancelled transaction, which wrote nothing. It returns an error if the transaction is to be sent again:
// no part was refused, or the number of reasons is wrong.
func (t *Transaction) cancelled(ctx context.Context, reasons []types.CancellationReason) error {
	t.Cancels++

	if len(reasons) != len(t.input.TransactItems) {
		t.Unknown = true

		return t.again(fmt.Errorf("%w: a cancelled transaction of %d items has %d reasons",
			protocol.ErrNoContent, len(t.input.TransactItems), len(reasons)))
	}

	if slices.ContainsFunc(reasons, func(r types.CancellationReason) bool { return aws.ToString(r.Code) == "TransactionConflict" }) {
		t.Client.Conflict(ctx, t.Key)
	}

	rest := reasons
	for _, p := range t.parts {
		p.read(rest[:p.items], t.Unknown)
		rest = rest[p.items:]
	}

	if t.IsRefused() {
		return nil
	}

	return t.again(&cancelledError{reasons})
}

// again returns the error with which a cancelled transaction is sent again. Parts that are cancelled together too often are sent alone.
func (t *Transaction) again(err error) error {
	if len(t.parts) > 1 && t.Cancels >= MaxTogether {
		return wire.ErrFinal
	}

	return err
}

// read reads the reasons of one part. A refused effect beside a conflict of the record can be an earlier try of the same transaction,
// seen half-way, so only a clean answer counts.
func (p *Part) read(reasons []types.CancellationReason, unknown bool) {
	record, effects := reasons[:p.records], reasons[p.records:]

	switch {
	case len(record) > 0 && aws.ToString(record[0].Code) == ConditionFailed:
		p.RecordRefused, p.Found = true, record[0].Item
	case slices.ContainsFunc(reasons, isTransient):
	case slices.ContainsFunc(record, isRefusal):
		p.Refusal = refusedRecord(record[0], unknown)
	default:
		p.Refusal = firstRefused(effects, unknown)
	}
}

// firstRefused returns the refusal of the first effect that was refused, or nil if none was.
func firstRefused(effects []types.CancellationReason, unknown bool) *Refusal {
	i := slices.IndexFunc(effects, isRefusal)
	if i < 0 {
		return nil
	}

	r := effects[i]

	return &Refusal{Index: i, Code: aws.ToString(r.Code), Message: aws.ToString(r.Message), Item: r.Item, Unknown: unknown}
}

// refusedRecord returns the refusal of a part whose record DynamoDB does not accept as the transaction would leave it, such as a record
// that has become too large by the attributes of others. The same request would be refused again.
func refusedRecord(r types.CancellationReason, unknown bool) *Refusal {
	cause := &smithy.GenericAPIError{Code: aws.ToString(r.Code), Message: "the record of the key: " + aws.ToString(r.Message)}

	return &Refusal{Index: -1, Code: cause.Code, Message: cause.Error(), Unknown: unknown, Cause: cause}
}

// cancelledError is a transaction that was cancelled for a reason that passes. It hides the SDK's error: its code says nothing about
// whether to send it again.
type cancelledError struct{ reasons []types.CancellationReason }

func (e *cancelledError) Error() string {
	codes := []string{}

	for i, r := range e.reasons {
		if isRefusal(r) {
			codes = append(codes, fmt.Sprintf("item %d: %s", i, *r.Code))
		}
	}

	return "the transaction was cancelled: " + strings.Join(codes, ", ")
}

// isRefusal reports whether an item has a reason at all: the others of a cancelled transaction have the code None.
func isRefusal(r types.CancellationReason) bool {
	code := aws.ToString(r.Code)

	return code != "" && code != "None"
}

// isTransient reports whether a reason says nothing about the item itself.
func isTransient(r types.CancellationReason) bool {
	switch aws.ToString(r.Code) {
	case ConditionFailed, "ValidationError", "ItemCollectionSizeLimitExceeded", "DuplicateItem":
		return false
	default:
		return isRefusal(r)
	}
}
