package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// ConditionFailed is the code of an item whose condition was false.
const ConditionFailed = "ConditionalCheckFailed"

// Part is what one write writes in a transaction.
type Part struct {
	Record  *types.TransactWriteItem // nil for effects without a record
	Effects []types.TransactWriteItem
	Token   string // the client request token if it travels alone; "" for a new one
}

// Refusal says that DynamoDB refused an effect of a part, its record as it would be, or the request.
type Refusal struct {
	Index   int    // of the effect in its part; -1 if the record or the request was refused
	Code    string // DynamoDB's code for the refusal
	Message string // DynamoDB's text for it
	Item    Item
	Cause   error // nil for an effect
}

// Join returns the items of a transaction of these parts.
func Join(parts []Part) []types.TransactWriteItem {
	var items []types.TransactWriteItem

	for _, p := range parts {
		if p.Record != nil {
			items = append(items, *p.Record)
		}

		items = append(items, p.Effects...)
	}

	return items
}

// Cancelled is what a cancelled transaction says of one of its parts.
type Cancelled struct {
	Answer

	IsInnocent bool  // nothing of it stood in the way
	IsConflict bool  // another transaction held its record or an effect of it
	Conflicts  []int // its effects that other transactions held
	IsHeld     bool  // its record was held, or an item was throttled
}

// ErrReasons is the error of a cancelled transaction whose reasons are not those of its items.
var ErrReasons = fmt.Errorf("%w: the transaction was cancelled, and the number of its reasons is not that of its items", ErrNoContent)

// ReadCancelled returns what the reasons of a cancelled transaction, which wrote nothing, say of each part.
func ReadCancelled(parts []Part, reasons []types.CancellationReason) ([]Cancelled, error) {
	if len(reasons) != len(Join(parts)) {
		return nil, ErrReasons
	}

	read, rest := make([]Cancelled, len(parts)), reasons
	err := errors.New("the transaction was cancelled: " + textOf(reasons))

	for i, p := range parts {
		records := 0
		if p.Record != nil {
			records = 1
		}

		items := records + len(p.Effects)
		read[i] = readPart(rest[:records], rest[records:items], err)
		rest = rest[items:]
	}

	return read, nil
}

// readPart reads the reasons of one part. A refused effect beside a conflict of the record can be an earlier try of the same transaction,
// seen half-way, so only a clean answer counts.
func readPart(record, effects []types.CancellationReason, cancelled error) Cancelled {
	c := Cancelled{Answer: Answer{Outcome: Unprocessed, Err: cancelled}}

	for i, r := range effects {
		if isConflict(r) {
			c.Conflicts = append(c.Conflicts, i)
		} else if isTransient(r) {
			c.IsHeld = true
		}
	}

	c.IsHeld = c.IsHeld || slices.ContainsFunc(record, isTransient)
	c.IsConflict = len(c.Conflicts) > 0 || slices.ContainsFunc(record, isConflict)

	switch {
	case len(record) > 0 && aws.ToString(record[0].Code) == ConditionFailed:
		c.Outcome, c.Item = Refused, record[0].Item
	case c.IsHeld, len(c.Conflicts) > 0:
	case slices.ContainsFunc(record, isRefusal):
		c.Outcome, c.Refusal = EffectRefused, refusedRecord(record[0])
	case slices.ContainsFunc(effects, isRefusal):
		c.Outcome, c.Refusal = EffectRefused, firstRefused(effects)
	default:
		c.IsInnocent = true
	}

	return c
}

// firstRefused returns the refusal of the first effect that was refused.
func firstRefused(effects []types.CancellationReason) *Refusal {
	i := slices.IndexFunc(effects, isRefusal)
	r := effects[i]

	return &Refusal{Index: i, Code: aws.ToString(r.Code), Message: aws.ToString(r.Message), Item: r.Item}
}

// refusedRecord returns the refusal of a part whose record DynamoDB does not accept as the transaction would leave it, such as a record
// that has become too large by the attributes of others. The same request would be refused again.
func refusedRecord(r types.CancellationReason) *Refusal {
	cause := &smithy.GenericAPIError{Code: aws.ToString(r.Code), Message: "the record of the key: " + aws.ToString(r.Message)}

	return &Refusal{Index: -1, Code: cause.Code, Message: cause.Error(), Cause: cause}
}

func textOf(reasons []types.CancellationReason) string {
	codes := []string{}

	for i, r := range reasons {
		if isRefusal(r) {
			codes = append(codes, fmt.Sprintf("item %d: %s", i, *r.Code))
		}
	}

	return strings.Join(codes, ", ")
}

// isRefusal reports whether an item has a reason at all: the others of a cancelled transaction have the code None, which says only that they
// did not cause the cancellation.
func isRefusal(r types.CancellationReason) bool {
	code := aws.ToString(r.Code)

	return code != "" && code != "None"
}

func isConflict(r types.CancellationReason) bool {
	return aws.ToString(r.Code) == "TransactionConflict"
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
