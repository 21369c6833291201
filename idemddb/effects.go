package idemddb

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Effects are written in one transaction with the completion of a claim: all of them exactly when the key is completed, none
// otherwise. So Items and Adds happen exactly once, whatever dies; Messages are stored exactly once, and sent at least once.
type Effects struct {
	// Items are the caller's own writes, in any table of the account and Region. Each item may occur once. There can be 99 of them
	// beside the record. DynamoDB charges twice the write units of a plain write.
	Items []types.TransactWriteItem

	// Adds are additions to numbers of other items, which travel together: see [Add]. Two of one item under the same condition are
	// summed. Each item counts as one of the 99.
	Adds []Add

	// Messages are stored in the record and sent after the completion, at least once and each under one id. See [Message].
	Messages []Message

	// Refused says what it means that the condition of one of Items or Adds was false: an error that is marked as permanent, as by
	// lambdawrap.Permanent, ends the key; any other error releases it, so that the work runs again. Only [Run], [Do] and wrappers
	// call it. If it panics, the key is released, and the error is the *EffectError joined with the panic. Defaults to nil: the error
	// is the *EffectError itself, so the work runs again.
	Refused func(*EffectError) error
}

// EffectError says that DynamoDB refused one of the staged items. Nothing was written, unless Unknown is set, and the claim is
// still held. It unwraps to ErrEffectRefused.
type EffectError struct {
	// Index is the position in Effects.Items and then Effects.Adds, both counted over all calls of Stage: with three Items, 3 is the
	// first one of Adds. Of Adds that were summed it is that of the first one. It is -1 if DynamoDB refused the request as a whole,
	// because an item is not valid or access to its table is denied, or if it refused the record of the key, because it would be too
	// large.
	Index int
	Code  string                          // DynamoDB's, such as ConditionalCheckFailed
	Item  map[string]types.AttributeValue // the item as it is, if its condition was false

	// Unknown says that an earlier try of the same transaction had no answer, and may be what made the condition false. Then only a
	// write that settles the claim decides: Release, Fail and a new CompleteWith are refused if that try was applied.
	Unknown bool

	refused func(*EffectError) error
	message string // DynamoDB's
	cause   error  // the error of a request that DynamoDB refused as a whole; nil if it refused one item
}

// Error says which item was refused, with the text of DynamoDB.
func (e *EffectError) Error() string {
	if e.cause != nil {
		return "idemddb: the effects were refused: " + e.message + e.hint()
	}

	return fmt.Sprintf("idemddb: effect %d was refused: %s: %s", e.Index, e.Code, e.message)
}

// Unwrap returns ErrEffectRefused, and the SDK's error if the request was refused as a whole.
func (e *EffectError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrEffectRefused}
	}

	return []error{ErrEffectRefused, e.cause}
}

// hint says what else may be wrong if DynamoDB finds a whole request not valid, and what it does not say of a missing table.
func (e *EffectError) hint() string {
	switch e.Code {
	case "ValidationException":
		return "; besides, DynamoDB takes no transactions for a table with multi-Region strong consistency (MRSC), as idem check shows"
	case "ResourceNotFoundException":
		return "; it is the table of the records or that of an effect, which is missing in this account and Region: DynamoDB does not say which"
	default:
		return ""
	}
}

// meaning returns what Effects.Refused says of the error, or the error itself. If Effects.Refused panics, or its error cannot be
// read, the error is returned together with that panic, because the key must be settled all the same.
func (e *EffectError) meaning() (meaning error) {
	if e.Code != protocol.ConditionFailed {
		return e
	}

	defer func() {
		if v := recover(); v != nil {
			meaning = errors.Join(e, panicerror.New("Effects.Refused", v))
		}
	}()

	if err := panicerror.Readable(e.refused(e)); err != nil {
		return err
	}

	return e
}

// Limits of DynamoDB's transactions.
const (
	maxEffects     = 99 // with the record 100
	maxTransaction = 4 << 20
	plainRecord    = 8 << 10 // bytes of a record without its result and messages, at most
	maxOutbox      = dbitem.MaxSize - plainRecord
)

// effects are Effects together with what their transaction needs to know of them, which checkEffects computes.
type effects struct {
	Effects

	outbox []record.Message // Messages, as the record holds them

	adds    []protocol.Addition // Adds as they travel: those to one item under one condition are one
	touched []planner.Item      // beside the record: those of Items, and then those of adds
	size    int                 // of the transaction without the result, in bytes
}

// checkEffects returns an error for what DynamoDB could only refuse. It makes what the transaction needs to know of the effects.
func (s *Store) checkEffects(partition string, e *effects) error {
	if !s.transacts && !e.isEmpty() {
		return fmt.Errorf("%w: %w", ErrBadEffects, errNoTransactor)
	}

	for i, it := range e.Items {
		if err := dbitem.CheckWrite(it); err != nil {
			return fmt.Errorf("%w: item %d: %w", ErrBadEffects, i, err)
		}
	}

	for i := range e.Adds {
		if err := e.Adds[i].check(); err != nil {
			return fmt.Errorf("%w: add %d: %w", ErrBadEffects, i, err)
		}
	}

	outbox := delivery.Check(e.outbox, maxOutbox)
	writes := e.writes()

	if err := errors.Join(s.checkItems(partition, e, writes), outbox, s.checkTargets(e.Messages)); err != nil {
		return fmt.Errorf("%w: %w", ErrBadEffects, err)
	}

	if e.size = dbitem.WriteSize(writes...) + delivery.Size(e.outbox) + plainRecord; e.size > maxTransaction {
		return fmt.Errorf("%w: with the record they have %d bytes, a transaction takes %d", ErrBadEffects, e.size, maxTransaction)
	}

	return nil
}

// checkTargets returns an error for a message whose target nobody knows: no process would send it, and its record would stay for
// ever.
func (s *Store) checkTargets(messages []Message) error {
	for i, m := range messages {
		sender, known := s.opts.Senders[m.To]

		switch {
		case m.ID != "":
			return fmt.Errorf("message %d: Message.ID: must be empty, is %q: the Store gives each message its id", i, m.ID)
		case m.To == "": // delivery.Check says so
		case len(s.opts.Senders) == 0:
			return fmt.Errorf("message %d: Message.To: %q: the Store has no Options.Senders; "+
				"it must have an entry of this name, with a nil Sender if another process sends the message", i, m.To)
		case !known:
			return fmt.Errorf("message %d: Message.To: %q is no entry of Options.Senders, which has %q; "+
				"correct the name, or add the entry, with a nil Sender if another process sends the message", i, m.To, senders(s.opts.Senders).names())
		case sender == nil && s.disabled:
			return fmt.Errorf("message %d: Message.To: %q has a nil Sender in Options.Senders, and IDEMDDB_DISABLED keeps no record "+
				"from which another process could send the message; give the entry a Sender", i, m.To)
		}
	}

	return nil
}

// checkItems returns an error if there are too many items, if two are the same one, or if one is the record of the key, as far as
// their keys are known. writes are those of the effects.
func (s *Store) checkItems(partition string, e *effects, writes []types.TransactWriteItem) error {
	ids := s.identities(partition, writes)
	own := len(e.Items) + 1
	e.adds = e.additions(ids[own:])

	all := len(e.Items) + len(e.adds)
	if all > maxEffects {
		return fmt.Errorf("%d items: 1 record and %d of yours; DynamoDB takes 100 in a transaction", all+1, all)
	}

	seen := map[string]int{ids[0]: 0}
	e.touched = make([]planner.Item, 0, all)

	for i, id := range ids[1:own] {
		if err := checkTwice(seen, id, i, &e.Effects); err != nil {
			return err
		}

		e.touched = append(e.touched, planner.Item{Key: id})
	}

	for i := range e.adds {
		a := &e.adds[i]
		if err := errors.Join(checkTwice(seen, a.Item, a.Index, &e.Effects), checkSum(a)); err != nil {
			return err
		}

		e.touched = append(e.touched, planner.Item{Key: a.Item, As: a.As})
	}

	return nil
}

// checkTwice returns an error if the item of an effect was seen before. The record of the key was seen as 0, the first effect as
// 1.
func checkTwice(seen map[string]int, id string, at int, e *Effects) error {
	earlier, isTwice := seen[id]

	switch {
	case id == "":
	case !isTwice:
		seen[id] = at + 1
	case earlier == 0:
		return fmt.Errorf("%s: it is the record of the key itself", e.name(at))
	case earlier > len(e.Items):
		return fmt.Errorf("%s: it is of the same item as %s, and has other Requires or Unless", e.name(at), e.name(earlier-1))
	default:
		return fmt.Errorf("%s: it is the same item as %s; a transaction takes an item once", e.name(at), e.name(earlier-1))
	}

	return nil
}

// checkSum returns an error if additions of one message have a sum that DynamoDB does not hold.
func checkSum(a *protocol.Addition) error {
	for name, n := range a.Values {
		if !n.IsHeld() {
			return fmt.Errorf("the sum of all Adds to attribute %q of an item has more than 38 digits", name)
		}
	}

	return nil
}

// name returns what errors call an effect.
func (e *Effects) name(at int) string {
	if at < len(e.Items) {
		return fmt.Sprint("item ", at)
	}

	return fmt.Sprint("add ", at-len(e.Items))
}

// isEmpty reports whether there is nothing to write.
func (e *Effects) isEmpty() bool { return len(e.Items)+len(e.Adds)+len(e.Messages) == 0 }

// identities returns a text for each item: first for the record of the key, then for each staged item. The text is empty if the
// key of an item is not known.
func (s *Store) identities(partition string, items []types.TransactWriteItem) []string {
	record := types.TransactWriteItem{Update: &types.Update{TableName: &s.table, Key: s.records.Key(partition)}}

	return dbitem.Identities(slices.Concat([]types.TransactWriteItem{record}, items))
}

// Bounds for measuring a record before it is written. DynamoDB counts the names and the values of attributes, and a number as
// about one byte for two digits.
const (
	maxNumberSize  = 12  // of a number with 20 digits
	recordNumbers  = 13  // attributes of a record that are numbers
	maxToken       = 128 // an owner token and a tx
	maxFingerprint = 64
	maxOperator    = 2 << 10 // what package operate writes: its texts, as JSON
)

// room returns how many bytes a result may have at most, so that the record with it and with these messages fits into an item,
// and into a transaction with these effects.
func (s *Store) room(partition string, e effects) int {
	size := len(s.opts.PartitionKey) + len(partition) + len(s.opts.SortKey) + len(protocol.SortKeyValue) + len(s.opts.TTLAttribute) +
		maxToken + len(record.InProgress) + maxFingerprint + recordNumbers*maxNumberSize + delivery.Size(e.outbox) + len(strings.Join(record.Names, "")) +
		2*record.MaxTrace + maxOperator // the record may have them although this Store sets none

	if s.opts.Codec != nil {
		size += record.SealedOverhead
	}

	return min(dbitem.MaxSize, maxTransaction-dbitem.WriteSize(e.writes()...)) - size
}

// part returns the part of a transaction that writes these effects together with a record; nil for none.
func (e *effects) part(record *types.TransactWriteItem) protocol.Part {
	return protocol.Part{Record: record, Effects: e.Items, Adds: e.adds}
}

// joint returns what a write of a record with these effects and this result needs of its transaction.
func (e *effects) joint(result types.AttributeValue) *planner.Joint {
	value := dbitem.ValueSize(result)

	return &planner.Joint{Items: e.touched, Value: value, Size: e.size + value}
}

// refusal returns the error for one of these effects, or the write of all of them, that DynamoDB refused.
func (e Effects) refusal(j *jointWrite) *EffectError {
	r := j.answer.Refusal

	return &EffectError{
		Index: r.Index, Code: r.Code, Item: r.Item, Unknown: j.unknown, refused: e.Refused, message: r.Message, cause: r.Cause,
	}
}
