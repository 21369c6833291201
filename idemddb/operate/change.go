package operate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/unsent"
)

// The bounds of what an operator says of a change, in bytes: a record without a result stays near 1 KB.
const (
	MaxBy  = 64
	MaxWhy = 200
)

// Release lets the next claim have a key that a worker holds, or whose worker died, before its lease ends. If the worker lives,
// it loses its claim: its work is cancelled and not recorded. The next claim may do the work a second time; its Takeover method
// then returns true, but not for a key that was claimed with Options.NoTakeover (View.NoTakeover): an operator releases such a
// key only after finding out that its effect did not happen.
//
// It costs one write of the record, as each change does. by and why say who changes the record and why. Both are kept in it, must
// not be empty, and are UTF-8 of at most MaxBy and MaxWhy bytes.
//
// Errors: ErrChanged; idemddb.ErrMisuse; ErrNotAllowed unless the record is held or stuck.
func (r *Records) Release(ctx context.Context, seen View, by, why string) error {
	if seen.Status != Held && seen.Status != Stuck {
		return notAllowed("release", seen, "only a claim that a worker holds can be released")
	}

	lease := record.Number(-1)
	if seen.NoTakeover {
		lease = record.Number(0)
	}

	_, err := r.update(ctx, seen, Change{What: "release", By: by, Why: why}, expression{text: updateRelease, values: item{":lease": lease}})

	return err
}

// Fail ends a key for good, whether a worker holds it or not. Later claims are refused with ErrFailed, and their messages go to
// the dead-letter queue. If a worker lives and succeeds, its message is done and its record stays failed.
//
// Errors: ErrChanged; idemddb.ErrMisuse; ErrNotAllowed unless the record is held, stuck or released.
func (r *Records) Fail(ctx context.Context, seen View, by, why string) error {
	if seen.Status != Held && seen.Status != Stuck && seen.Status != Released {
		return notAllowed("fail", seen, "only a key in progress can be failed")
	}

	cause := record.Cause("ended by "+by+": "+why, seen.Cause)

	_, err := r.update(ctx, seen, Change{What: "fail", By: by, Why: why}, expression{text: updateFail, values: item{
		":failed": record.Text(record.Failed), ":err": record.Text(cause), ":exp": record.Number(r.expires(seen)),
	}})

	return err
}

// Reopen lets a key that failed for good be claimed again, with its attempts counted from zero. Mend the cause first. The message
// comes back by a redrive from its dead-letter queue.
//
// Errors: ErrChanged; idemddb.ErrMisuse; ErrNotAllowed unless the record is failed.
func (r *Records) Reopen(ctx context.Context, seen View, by, why string) error {
	if seen.Status != Failed {
		return notAllowed("reopen", seen, "only a failed key can be reopened")
	}

	_, err := r.update(ctx, seen, Change{What: "reopen", By: by, Why: why}, expression{text: updateReopen, values: item{
		":inprogress": record.Text(record.InProgress), ":next": record.Number(seen.Fence + 1), ":zero": record.Number(0), ":one": record.Number(1),
		":exp": record.Number(r.expires(seen)),
	}})

	return err
}

// Delivery is what became of the messages of one record.
type Delivery struct {
	Key                string // as stored: behind the namespace, perhaps as a digest
	Sent, Left, Parked int    // messages: sent now, to be sent later, and parked
}

// Send sends the messages of a completed record that are not sent, also those that are parked, under the same ids. The store must
// have their senders. The error joins those of the messages that are left. None is parked by it: the sweep goes on with what it
// would have sent.
//
// Errors: ErrChanged; idemddb.ErrMisuse; ErrNotAllowed if the record has no such messages.
func (r *Records) Send(ctx context.Context, seen View, by, why string) (Delivery, error) {
	switch {
	case seen.Status == Corrupt:
		return Delivery{}, notAllowed("send", seen, "only the messages of a record that can be read are sent")
	case len(seen.Messages) == 0:
		return Delivery{}, notAllowed("send", seen, "it has no messages that are not sent")
	}

	now, err := r.update(ctx, seen, Change{What: "send", By: by, Why: why}, expression{text: updateStamp})
	if err != nil {
		return Delivery{}, err
	}

	report, err := r.store.SendStored(ctx, now.stored, true)
	if err != nil {
		return Delivery(report), changeError("send", seen.Key, err)
	}

	return Delivery(report), nil
}

// Forget deletes a record: its key is new, and its work runs again when it is asked for. That holds for staged effects, too: a
// transaction of a worker without a claim (Store.Commit, Options.Optimistic) whose request is still on its way may write its
// effects again for up to 15 minutes. Processes with Options.Cache go on answering from their memory. It costs two writes of the
// record, and one of each part of a result that is kept beside it in the table.
//
// Errors: ErrChanged; idemddb.ErrMisuse; ErrUnsent.
func (r *Records) Forget(ctx context.Context, seen View, by, why string) error {
	if seen.hasMessages() {
		return changeError("forget", seen.Key, ErrUnsent)
	}

	return r.forget(ctx, seen, Change{What: "forget", By: by, Why: why}, noMessages)
}

// ForgetUnsent is Forget for a record whose messages shall never be sent: they are lost.
//
// Errors: ErrChanged; idemddb.ErrMisuse.
func (r *Records) ForgetUnsent(ctx context.Context, seen View, by, why string) error {
	return r.forget(ctx, seen, Change{What: "forget", By: by, Why: why}, "")
}

func (r *Records) forget(ctx context.Context, seen View, change Change, condition string) error {
	now, err := r.update(ctx, seen, change, expression{text: updateStamp})
	if err != nil {
		return err
	}

	// A worker may have written between two tries of the stamp. So what is deleted must be what was shown, apart from the stamp.
	stamped := maps.Clone(seen.stored)
	stamped[record.Operator] = now.stored[record.Operator]

	out, err := r.api.DeleteItem(ctx, r.deleteInput(stamped, condition))

	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)

	switch {
	case ok && len(refused.Item) == 0: // an earlier try of this request, or somebody else, has deleted it
		return r.forgetResult(ctx, seen)
	case ok && refused.Item[record.Operator] == nil: // workers leave the stamp in a record
		return changeError(change.What, seen.Key, errMadeAnew)
	case ok:
		return r.changed(change.What, seen.Key, refused.Item)
	case err != nil:
		return changeError(change.What, seen.Key, err)
	case len(out.Attributes) == 0:
		return changeError(change.What, seen.Key, errNoContent)
	default:
		return r.forgetResult(ctx, seen)
	}
}

// deleteInput returns the request that deletes a record if it is unchanged and the further condition holds. It asks for the
// deleted or the present record, because forget takes the outcome from it.
func (r *Records) deleteInput(stored item, condition string) *dynamodb.DeleteItemInput {
	key := unsent.Read(r.store, stored)
	unchanged := r.unchanged(stored)

	return &dynamodb.DeleteItemInput{
		TableName: key.TableName, Key: key.Key,
		ConditionExpression:                 new(unchanged.text + condition),
		ExpressionAttributeNames:            unchanged.names,
		ExpressionAttributeValues:           unchanged.values,
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

var errMadeAnew = errors.New("the record was deleted, perhaps by an earlier try of this request, and its key was claimed anew: look again")

var errNoContent = errors.New("the answer has no content, so it is not known whether the change was made: look again")

// update makes a change of a record that is as it was seen, and returns the record after it.
func (r *Records) update(ctx context.Context, seen View, change Change, update expression) (View, error) {
	op, err := r.sign(seen, change)
	if err != nil {
		return View{}, err
	}

	out, err := r.api.UpdateItem(ctx, r.updateInput(seen.stored, op, update))

	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)

	switch {
	case ok && record.TextOf(refused.Item[record.Operator]) == op: // an earlier try of this request was applied, and its answer was lost
		return r.view(refused.Item), nil
	case ok:
		return View{}, r.changed(change.What, seen.Key, refused.Item)
	case err != nil:
		return View{}, changeError(change.What, seen.Key, err)
	case len(out.Attributes) == 0:
		return View{}, changeError(change.What, seen.Key, errNoContent)
	default:
		return r.view(out.Attributes), nil
	}
}

// updateInput returns the request that updates a record if it is unchanged. It stores op with the update, because update
// recognises by it a change whose answer was lost.
func (r *Records) updateInput(stored item, op string, update expression) *dynamodb.UpdateItemInput {
	key := unsent.Read(r.store, stored)
	unchanged := r.unchanged(stored)
	maps.Copy(unchanged.values, update.values)
	unchanged.values[":op"] = record.Text(op)

	if strings.Contains(update.text, "#exp") {
		unchanged.names["#exp"] = r.opts.TTLAttribute
	}

	return &dynamodb.UpdateItemInput{
		TableName: key.TableName, Key: key.Key,
		ConditionExpression:                 &unchanged.text,
		UpdateExpression:                    &update.text,
		ExpressionAttributeNames:            unchanged.names,
		ExpressionAttributeValues:           unchanged.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// sign returns the text that is kept in the record, or why the change cannot be made.
func (r *Records) sign(seen View, change Change) (string, error) {
	if err := change.validate(); err != nil {
		return "", err
	}

	if seen.stored == nil {
		return "", fmt.Errorf("operate: %w: seen: must come from Look, List or a ChangedError, so that it says what was shown", idemddb.ErrMisuse)
	}

	change.At, change.ID = r.opts.Now().UTC().Truncate(time.Second), rand.Text()

	op, err := json.Marshal(change)
	if err != nil {
		return "", fmt.Errorf("operate: %w", err) // texts and a time can always be encoded
	}

	return string(op), nil
}

// validate returns an ErrMisuse if by or why is empty, too long or not UTF-8. It bounds both texts, because they are stored in
// the record.
func (c *Change) validate() error {
	for _, said := range []struct {
		name, text string
		limit      int
	}{{"by", c.By, MaxBy}, {"why", c.Why, MaxWhy}} {
		switch {
		case strings.TrimSpace(said.text) == "":
			return fmt.Errorf("operate: %w: %s: must not be empty; it is kept in the record for the next operator", idemddb.ErrMisuse, said.name)
		case len(said.text) > said.limit, !utf8.ValidString(said.text):
			return fmt.Errorf("operate: %w: %s: must be UTF-8 of at most %d bytes, has %d", idemddb.ErrMisuse, said.name, said.limit, len(said.text))
		}
	}

	return nil
}

func (r *Records) changed(what, key string, stored item) error {
	e := &ChangedError{What: what, Key: key}
	if len(stored) > 0 {
		e.Current = new(r.view(stored))
	}

	return e
}

// expires returns the end of a record that ends or begins anew now. The operator's program may have another retention than the
// workers, so the record keeps at least the end that it has.
func (r *Records) expires(seen View) int64 {
	return max(seen.Ends.Unix(), r.opts.Now().Add(r.opts.Retention+time.Second-1).Unix())
}

func notAllowed(what string, seen View, rule string) error {
	state := string(seen.Status)
	if seen.Corrupt != "" {
		state += " (" + seen.Corrupt + ")"
	}

	return changeError(what, seen.Key, fmt.Errorf("%w: it is %s, and %s", ErrNotAllowed, state, rule))
}
