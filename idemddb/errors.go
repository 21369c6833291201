package idemddb

import (
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/record"
)

// The errors of this package, for errors.Is. The comment of each says what is true after it, and what the caller should do. After
// any other error the outcome is unknown: the write may have been applied. It is safe to repeat the call. A claim that was lost
// this way ends with its lease.
var (
	// ErrInProgress: nothing was written, unless a try without an answer was applied and its lease has run out since; another worker
	// holds the key, or the call was made inside the work of the same key. Retry after [InProgressError].Until.
	ErrInProgress = errors.New("in progress")

	// ErrFenced: a write of the claim was refused, because another worker has taken the key over, because the key was settled or
	// ended before, or because its record is gone; or Stage was called after the end of the work. The work has run, or is running.
	// Never repeat the work blindly; raise an alarm. [FencedError] says who holds the key now.
	ErrFenced = errors.New("fenced")

	// ErrFailed: the key has ended for good and is not run again while its record lives. Dead-letter the message. [FailedError]
	// holds the cause.
	ErrFailed = errors.New("failed for good")

	// ErrMismatch: nothing was written; the key was claimed before with another fingerprint. This is a bug of the sender:
	// dead-letter the message. [MismatchError] holds the record.
	ErrMismatch = errors.New("key was used for another input")

	// ErrUnrecorded: the work is done, and its record was perhaps not written. Acknowledge the message and raise an alarm: running
	// the work again would be the second time.
	ErrUnrecorded = errors.New("completion unrecorded")

	// ErrResultOmitted: the work was done earlier, and its result was not kept: it was too large, could not be encoded, or is gone
	// from where large results are kept. The value is zero.
	ErrResultOmitted = errors.New("done earlier, result not kept")

	// ErrUnread: the work was done earlier, and its result, which is kept beside the record or sealed, cannot be read now. Try again
	// later; a caller that does not need the result may acknowledge its message.
	ErrUnread = errors.New("done earlier, and its result cannot be read now")

	// ErrCorrupt: no work began; the record cannot be read, it has another format version, or Options.Codec does not open its result.
	// It needs an operator. Nothing was written, with one exception: if the numbers of a record that is free to be claimed make no
	// sense, only the answer to the claim shows it, and the key then stays claimed, without a worker, until that lease ends.
	ErrCorrupt = record.ErrCorrupt

	// ErrTooLarge: the completion is written, and its result is not kept, because it is above 6 MB, or because the table or
	// Options.Results did not take it, or because Options.Codec did not seal it. The work is done. The error says which of these it
	// is; Options.Results takes larger results.
	ErrTooLarge = errors.New("result not kept")

	// ErrChanged: nothing was written by this call; the record changed several times in a row while it was asked for. Try again
	// later.
	ErrChanged = errors.New("the record changed meanwhile, several times in a row; try again later")

	// ErrUnsent: the key is completed, and its messages are not sent yet. It occurs only with Options.RedeliverUnsent: report the
	// message failed, because its next delivery sends them. If IDEMDDB_DISABLED has turned the Store off, nothing is completed, and
	// the next delivery runs the work again.
	ErrUnsent = errors.New("completed, with messages not sent yet")

	// ErrNotStaged: nothing was written. [Run], [Do] and wrappers release the key, with one attempt more; after [Claim.Complete] and
	// [Claim.CompleteWith] the claim is still held. Work returned no error although what it has to write is not staged: [Stage]
	// refused it and the error was ignored; or the work ran without a claim and did not call Stage, not even as Stage(ctx,
	// Effects{}), which means that there is nothing to write. This is a bug of the work: its effect would be lost.
	ErrNotStaged = errors.New("the work succeeded, but what it has to write is not staged")

	// ErrBadEffects: nothing was sent, because DynamoDB would refuse the effects as they are (their number, their size, an item
	// without a key), because a message has a target that is no entry of Options.Senders, because the client of the Store is no
	// [Transactor], or because its Retention is too short for a [Store.Commit]. This is a bug of the work or of the program; the
	// text says what is wrong.
	ErrBadEffects = errors.New("effects cannot be written")

	// ErrNoRecord: nothing was written; the key has no record. [Store.Reopen] and package operate return it.
	ErrNoRecord = record.ErrNoRecord

	// ErrCompleted: nothing was written; the key is completed, and its record answers until its retention ends. Only [Store.Reopen]
	// returns it.
	ErrCompleted = errors.New("it completed; its record answers until its retention ends")

	// ErrUncommitted: the effects and the completion are perhaps written, perhaps not; the record decides. Report the message failed:
	// its next delivery asks the record.
	ErrUncommitted = errors.New("not known to be committed")

	// ErrEffectRefused: the condition of a staged item was false, or DynamoDB refused the item. Nothing was written, unless
	// [EffectError].Unknown is set, and the claim is still held: decide anew, or call Fail.
	ErrEffectRefused = errors.New("effect refused")

	// ErrNoClaim: nothing was written; the context belongs to no work of a key. This is a bug.
	ErrNoClaim = errors.New("no claim in the context")

	// ErrBadKey: nothing was sent; the key is empty or not UTF-8.
	ErrBadKey = record.ErrBadKey

	// ErrMisuse: nothing was sent, and no work ran; the call is wrong. ClaimOptions.Optimistic is set where a key is always claimed,
	// the context is that of the handler of a durable function, or packages operate and outbox got what they cannot use. The program
	// has a bug, and the text says which.
	ErrMisuse = errors.New("wrong call")

	// ErrNoSender is in the Err of an event [KindUnsent] whose message is left to another process, because the entry of its target in
	// Options.Senders is nil. Only calls that must send the message return it: those with Options.RedeliverUnsent, those of
	// outbox.Sweep, and those of an operator.
	ErrNoSender = delivery.ErrNoSender

	// ErrUnsendable is wrapped by the answer of a [Sender] for a message that no later try can send: the target refuses what it
	// contains, or the target is gone. The message is then parked: it stays in its record, apart from those that are still to be
	// sent, until an operator sends it. A failure that may pass or that a permission mends must not wrap ErrUnsendable.
	ErrUnsendable = delivery.ErrUnsendable
)

// InProgressError is returned, as ErrInProgress, for a key that another claim holds.
type InProgressError struct {
	Key   string    // as claimed
	Until time.Time // the end of the lease by the holder's clock, if it is not renewed; a takeover is possible ClockSkew later

	// Holder is the Lambda request id of the other worker, to find its logs; "" if it claimed the key outside of Lambda.
	Holder string

	hint string // what the caller has in common with the holder of the key; "" if that is another worker
}

// Hints for a caller who may be the holder of the key itself.
const (
	hintContext    = ": the work with this context holds it itself; a nested call needs a key of its own"
	hintInvocation = ": this invocation holds it itself, by another call or by an earlier try of it; a nested call needs a key of its own"
)

// Error names the key by its hash, and the end of the lease.
func (e *InProgressError) Error() string {
	text := fmt.Sprintf("idemddb: key %s is in progress", record.KeyHash(e.Key))
	if !e.Until.IsZero() {
		text += " until " + e.Until.UTC().Format(time.RFC3339Nano)
	}

	return text + e.hint
}

// Unwrap returns ErrInProgress.
func (*InProgressError) Unwrap() error { return ErrInProgress }

// FencedError is returned, as ErrFenced, for a claim whose write was refused.
type FencedError struct {
	Key     string  // as claimed
	Held    int64   // the fencing token of the claim whose write was refused
	Current int64   // the fencing token in the record: Held if nobody has claimed the key since; 0 if the record is gone; -1 if unreadable
	Record  *Record // the record of the other worker, if it completed; else nil
	Holder  string  // the Lambda request id of the worker whose claim is in the record; "" if there is none

	hasFailed bool  // the key was ended as failed while the claim was held: by another worker's claim, because of NoTakeover or MaxAttempts
	staged    bool  // the write had effects, which have not happened
	unread    error // why the result of Record could not be read; nil if it was
}

// Error names the key by its hash, and says what stands in the record now.
func (e *FencedError) Error() string {
	text := fmt.Sprintf("idemddb: key %s: claim with fencing token %d is fenced", record.KeyHash(e.Key), e.Held)

	switch {
	case e.Current < 0:
		return text + ", its record cannot be read"
	case e.Current == 0:
		return text + ", its record is gone"
	case e.hasFailed:
		return text + ", its key was ended as failed"
	case e.Current == e.Held:
		return text + ", it was settled before"
	case e.Record != nil:
		return fmt.Sprintf("%s, completed with fencing token %d", text, e.Current)
	default:
		return fmt.Sprintf("%s, the key has fencing token %d now", text, e.Current)
	}
}

// Unwrap returns ErrFenced.
func (*FencedError) Unwrap() error { return ErrFenced }

// other returns the record of another claim of the key, if that completed it and its result could be read.
func (e *FencedError) other() *Record {
	if e.Current == e.Held || e.unread != nil {
		return nil
	}

	return e.Record
}

// FailedError is returned, as ErrFailed, for a key that has ended for good.
type FailedError struct {
	Key      string // as claimed
	Cause    string // text of the last failure, bounded
	Attempts int    // claims whose work began
}

// Error names the key by its hash, and gives the attempts and the cause.
func (e *FailedError) Error() string {
	return fmt.Sprintf("idemddb: key %s failed for good (attempts: %d): %s", record.KeyHash(e.Key), e.Attempts, e.Cause)
}

// Unwrap returns ErrFailed.
func (*FailedError) Unwrap() error { return ErrFailed }

// MismatchError is returned, as ErrMismatch, for a key that was used for another input.
type MismatchError struct {
	Key    string  // as claimed
	Record *Record // of the other input, without its result; nil if the key is not completed
}

// Error names the key by its hash, and says when the other input was completed.
func (e *MismatchError) Error() string {
	text := fmt.Sprintf("idemddb: claim of key %s: %v", record.KeyHash(e.Key), ErrMismatch)
	if e.Record == nil || e.Record.CompletedAt.IsZero() {
		return text
	}

	return text + ", which was completed at " + e.Record.CompletedAt.UTC().Format(time.RFC3339Nano)
}

// Unwrap returns ErrMismatch.
func (*MismatchError) Unwrap() error { return ErrMismatch }

// keyError puts the package's prefix and the key's hash before an error of this package or of the SDK.
func keyError(op, key string, err error) error {
	return fmt.Errorf("idemddb: %s of key %s: %w", op, record.KeyHash(key), err)
}
