package idemddb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// cancelled reads the reasons of a cancelled transaction, which wrote nothing. It returns an error if the transaction is to be sent
// again: no part was refused, or the reasons do not tell.
func (t *transaction) cancelled(ctx context.Context, reasons []types.CancellationReason) error {
	t.cancels++

	if len(reasons) != len(t.input.TransactItems) {
		t.unknown = true

		return t.again(fmt.Errorf("%w: a cancelled transaction of %d items has %d reasons",
			retry.ErrNoContent, len(t.input.TransactItems), len(reasons)))
	}

	if slices.ContainsFunc(reasons, func(r types.CancellationReason) bool { return aws.ToString(r.Code) == "TransactionConflict" }) {
		t.store.opts.Observe(ctx, Event{Kind: Conflict, Key: t.key()})
	}

	isAnswered := false

	for _, p := range t.parts {
		isAnswered = p.read(reasons[p.first:p.first+p.items], t.unknown) || isAnswered
	}

	if isAnswered {
		return nil
	}

	return t.again(&cancelledError{reasons})
}

// again returns the error with which a cancelled transaction is sent again. Keys that are cancelled together twice are sent alone.
func (t *transaction) again(err error) error {
	if t.grouped && t.cancels > 1 {
		return retry.ErrFinal
	}

	return err
}

// read reads the reasons of one part. It returns whether the part was refused. A refused effect beside a conflict of the record can be
// an earlier try of the same transaction, seen half-way, so only a clean answer counts.
func (p *part) read(reasons []types.CancellationReason, unknown bool) bool {
	if p.records > 0 {
		if aws.ToString(reasons[0].Code) == conditionFailed {
			p.refused, p.found = true, reasons[0].Item

			return true
		}
	}

	if slices.ContainsFunc(reasons, isTransientReason) {
		return false
	}

	if ours := reasons[:p.records]; len(ours) > 0 && !isNone(aws.ToString(ours[0].Code)) {
		p.effect = refusedRecord(ours[0], unknown)

		return true
	}

	p.effect = firstRefused(reasons[p.records:], unknown)

	return p.effect != nil
}

// firstRefused returns the error of the first effect that was refused, or nil if none was.
func firstRefused(reasons []types.CancellationReason, unknown bool) *EffectError {
	for i, r := range reasons {
		if code := aws.ToString(r.Code); !isNone(code) {
			return &EffectError{Index: i, Code: code, Item: r.Item, Unknown: unknown, message: aws.ToString(r.Message)}
		}
	}

	return nil
}

// refusedRecord is the answer to a part whose record DynamoDB does not accept as it would be, as one that has grown too large by
// attributes of others. The same request would be refused again.
func refusedRecord(r types.CancellationReason, unknown bool) *EffectError {
	cause := &smithy.GenericAPIError{Code: aws.ToString(r.Code), Message: "the record of the key: " + aws.ToString(r.Message)}

	return &EffectError{Index: -1, Code: cause.Code, Unknown: unknown, message: cause.Error(), cause: cause}
}

// cancelledError is a transaction that was cancelled for a reason that passes. It hides the SDK's error: its code says nothing about
// whether to send it again.
type cancelledError struct{ reasons []types.CancellationReason }

func (e *cancelledError) Error() string {
	codes := []string{}

	for i, r := range e.reasons {
		if code := aws.ToString(r.Code); !isNone(code) {
			codes = append(codes, fmt.Sprintf("item %d: %s", i, code))
		}
	}

	return "the transaction was cancelled: " + strings.Join(codes, ", ")
}

func isNone(code string) bool { return code == "" || code == "None" }

// isTransientReason tells the reasons that say nothing about the item itself.
func isTransientReason(r types.CancellationReason) bool {
	switch aws.ToString(r.Code) {
	case "", "None", conditionFailed, "ValidationError", "ItemCollectionSizeLimitExceeded", "DuplicateItem":
		return false
	default:
		return true
	}
}

const conditionFailed = "ConditionalCheckFailed"
