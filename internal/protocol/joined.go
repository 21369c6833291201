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
	Adds    []Addition // each of another item
	Token   string     // the client request token if it travels alone; "" for a new one
}

// Joined is a transaction of several parts. Its sums are made of the additions of just these parts: a part that is not in it has
// no number in it. Its zero value is ready.
type Joined struct {
	parts []Part
	sums  []sum
}

// Take takes a part. It returns false, and leaves the part out, if a sum with its additions would have more digits than DynamoDB
// holds. The first part always fits.
func (j *Joined) Take(p Part) bool {
	sums := slices.Clone(j.sums)

	for i := range p.Adds {
		a := &p.Adds[i]

		at := indexOfSum(sums, a)
		if at < 0 {
			sums = append(sums, sum{Addition: a, values: a.Values, parts: 1})

			continue
		}

		values := sums[at].plus(a)
		if values == nil {
			return false
		}

		sums[at].values = values
		sums[at].parts++
	}

	j.parts, j.sums = append(j.parts, p), sums

	return true
}

func indexOfSum(sums []sum, a *Addition) int {
	return slices.IndexFunc(sums, func(s sum) bool { return s.Item == a.Item && s.As == a.As })
}

// Token returns the client request token of a part that is alone; "" for a new one.
func (j *Joined) Token() string {
	if len(j.parts) > 1 {
		return ""
	}

	return j.parts[0].Token
}

// Items returns the items of the transaction: the record and the effects of each part, then the sums.
func (j *Joined) Items() []types.TransactWriteItem {
	var items []types.TransactWriteItem

	for _, p := range j.parts {
		if p.Record != nil {
			items = append(items, *p.Record)
		}

		items = append(items, p.Effects...)
	}

	for i := range j.sums {
		items = append(items, j.sums[i].item())
	}

	return items
}

// Cancelled is what a cancelled transaction says of one of its parts.
type Cancelled struct {
	Answer

	IsInnocent bool  // nothing of it stood in the way
	IsConflict bool  // another transaction held its record or an effect of it
	Conflicts  []int // its effects that other transactions held; the additions are counted after the others
	IsHeld     bool  // its record was held, or an item was throttled
}

// ErrReasons is the error of a cancelled transaction whose reasons are not those of its items.
var ErrReasons = fmt.Errorf("%w: the transaction was cancelled, and the number of its reasons is not that of its items", ErrNoContent)

// ReadCancelled returns what the reasons of the cancelled transaction, which wrote nothing, say of each part.
func (j *Joined) ReadCancelled(reasons []types.CancellationReason) ([]Cancelled, error) {
	ofSums := len(reasons) - len(j.sums)
	for _, p := range j.parts {
		ofSums -= p.items()
	}

	if ofSums != 0 {
		return nil, ErrReasons
	}

	read, rest := make([]Cancelled, len(j.parts)), reasons
	err := errors.New("the transaction was cancelled: " + textOf(reasons))

	for i, p := range j.parts {
		read[i] = j.readPart(&p, rest[:p.items()], reasons[len(reasons)-len(j.sums):])
		read[i].Err = err
		rest = rest[p.items():]
	}

	return read, nil
}

// items returns how many items of the transaction are the part's own.
func (p *Part) items() int {
	if p.Record == nil {
		return len(p.Effects)
	}

	return 1 + len(p.Effects)
}

// readPart reads the reasons of one part's own items and of all sums. A refused effect beside a conflict of the record can be an
// earlier try of the same transaction, seen half-way, so only a clean answer counts. A refused sum of several parts does not say
// whose number it refuses, so each of them must be sent by itself.
func (j *Joined) readPart(p *Part, own, sums []types.CancellationReason) (c Cancelled) {
	records := len(own) - len(p.Effects)
	record, effects, isJoint := own[:records], slices.Clip(own[records:]), false

	for i := range p.Adds {
		at := indexOfSum(j.sums, &p.Adds[i])
		effects = append(effects, sums[at])
		isJoint = isJoint || j.sums[at].parts > 1 && isRefusal(sums[at])
	}

	c.noteConflicts(record, effects)

	switch c.Outcome = Unprocessed; {
	case len(record) > 0 && aws.ToString(record[0].Code) == ConditionFailed:
		c.Outcome, c.Item = Refused, record[0].Item
	case c.IsHeld, len(c.Conflicts) > 0:
	case slices.ContainsFunc(record, isRefusal):
		c.Outcome, c.Refusal = EffectRefused, refusedRecord(record[0])
	case isJoint:
		c.Outcome = NotShared
	case slices.ContainsFunc(effects, isRefusal):
		c.Outcome, c.Refusal = EffectRefused, p.firstRefused(effects)
	default:
		c.IsInnocent = true
	}

	return c
}

// noteConflicts notes for what the part must wait: items that other transactions held, and those that were throttled.
func (c *Cancelled) noteConflicts(record, effects []types.CancellationReason) {
	for i, r := range effects {
		if isConflict(r) {
			c.Conflicts = append(c.Conflicts, i)
		} else if isTransient(r) {
			c.IsHeld = true
		}
	}

	c.IsHeld = c.IsHeld || slices.ContainsFunc(record, isTransient)
	c.IsConflict = len(c.Conflicts) > 0 || slices.ContainsFunc(record, isConflict)
}

// firstRefused returns the refusal of the first effect that was refused.
func (p *Part) firstRefused(effects []types.CancellationReason) *Refusal {
	i := slices.IndexFunc(effects, isRefusal)

	r := effects[i]
	if i >= len(p.Effects) {
		i = p.Adds[i-len(p.Effects)].Index
	}

	return &Refusal{Index: i, Code: aws.ToString(r.Code), Message: aws.ToString(r.Message), Item: r.Item}
}

// refusedRecord returns the refusal of a part whose record DynamoDB does not accept as the transaction would leave it, such as a
// record that has become too large by the attributes of others. The same request would be refused again.
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

// isRefusal reports whether an item has a reason at all: the others of a cancelled transaction have the code None, which says
// only that they did not cause the cancellation.
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
