package lambdawrap

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// Outcome says in one word how a message ended, in the log, for Options.OnMessage and for metrics.
type Outcome string

// The outcomes. One that has the word of an [idemddb.Kind] means the same: failed is a key that has ended for good, released one
// that may be claimed again. A message with one of the first four is done, and so is one with fenced whose work is done. One with
// failed, refused, mismatch or no_key is permanent: it is done if Options.DeadLetter took it. All other messages are reported
// failed and come back.
const (
	OutcomeCompleted   Outcome = "completed"   // the handler succeeded, and its success is recorded
	OutcomeReplayed    Outcome = "replayed"    // the key was completed before; the handler did not run, or with Options.Optimistic its effects were dropped
	OutcomeEmpty       Outcome = "empty"       // the message's envelope holds nothing
	OutcomeUnrecorded  Outcome = "unrecorded"  // the handler succeeded, and its record was perhaps not written
	OutcomeFenced      Outcome = "fenced"      // the handler ran, and its settlement was refused; done if the work is done, else it comes back
	OutcomeFailed      Outcome = "failed"      // the handler returned Permanent: the key has ended for good
	OutcomeRefused     Outcome = "refused"     // the key failed for good before, or its attempts are used up
	OutcomeMismatch    Outcome = "mismatch"    // the key was used for another input
	OutcomeNoKey       Outcome = "no_key"      // the message has no key
	OutcomeReleased    Outcome = "released"    // the handler returned an error or panicked, or the key function did; the key is free
	OutcomeInProgress  Outcome = "in_progress" // another worker holds the key
	OutcomeUnanswered  Outcome = "unanswered"  // DynamoDB did not answer the claim, or refused it
	OutcomeCorrupt     Outcome = "corrupt"     // the record cannot be read, or is of another version
	OutcomeUncommitted Outcome = "uncommitted" // what the handler staged is not known to be committed; the record decides
	OutcomeUnsent      Outcome = "unsent"      // what the handler staged is committed, and its messages are not sent yet
	OutcomeNoTime      Outcome = "no_time"     // too little time was left to start, or the key was not there in time
	OutcomeLate        Outcome = "late"        // the handler did not answer in time
	OutcomeBlocked     Outcome = "blocked"     // an earlier message of its FIFO group came back, or of the batch with Options.StopAtFailure
)

// outcome is how a message's piece of work ended.
type outcome struct {
	name      Outcome
	err       error // nil: done, and nothing is worth a line in the log
	done      bool  // the message is done although there is an error
	permanent bool  // it will never succeed: for the dead-letter hook
	unknown   bool  // the write that settles it had no answer, so nobody knows what its record says
	recorded  bool  // the effect of its handler is known to be recorded

	until   time.Time // the end of the lease that keeps the key from being claimed
	seconds int32     // of a blocked message: until the message before it comes back
}

// ErrNoTime is the error of a message, or of an invocation of [Func], whose work did not start because too little time was left
// for it. Its key was not claimed, or it is given back as it was, so that the next delivery of the event begins the work. The
// outcome is [OutcomeNoTime].
var ErrNoTime = errors.New("lambdawrap: too little time was left before it could start")

var (
	errNoKeyInTime = fmt.Errorf("%w: the functions that find its key had not answered", ErrNoTime)
	errEmpty       = errors.New("lambdawrap: the envelope holds nothing")
	errBlocked     = errors.New("lambdawrap: an earlier message of its group failed")
	errStopped     = errors.New("lambdawrap: an earlier message of the batch failed, and Options.StopAtFailure is set")
	errLost        = errors.New("lambdawrap: its claim, or that of another message of its event, was lost before it could start")
	errReleased    = errors.New("lambdawrap: the handler released its claim and returned no error")
	errLate        = errors.New("lambdawrap: the handler had not answered when the invocation's answer was due; its claim lasts for one more lease")

	errLateUnclaimed = errors.New("lambdawrap: the handler had not answered when the invocation's answer was due; nothing of what it staged is written")
)

// ofDuplicate returns the outcome of another message with the same key and batch, for which no handler ran.
func (o outcome) ofDuplicate() outcome {
	if o.name == OutcomeCompleted {
		o.name = OutcomeReplayed
	}

	return o
}

// noKeyOutcome returns the outcome of a message without a key. No delivery of it will have a key. Any other error of the user's
// key function is a failure like the error of a handler.
func noKeyOutcome(err error) outcome {
	switch {
	case errors.Is(err, errEmpty):
		return outcome{name: OutcomeEmpty, err: err, done: true}
	case errors.Is(err, errNoKeyInTime):
		return outcome{name: OutcomeNoTime, err: err}
	case errors.Is(err, ErrNoKey), errors.Is(err, idemddb.ErrBadKey), panicerror.IsPermanent(err):
		return outcome{name: OutcomeNoKey, err: err, permanent: true}
	default:
		return outcome{name: OutcomeReleased, err: err}
	}
}

// outcomes names the outcome for each way in which work ends, by the same word. Every other ending is OutcomeReleased.
var outcomes = map[idemddb.Kind]Outcome{
	idemddb.KindCompleted: OutcomeCompleted, idemddb.KindReplayed: OutcomeReplayed, idemddb.KindUnrecorded: OutcomeUnrecorded,
	idemddb.KindFenced: OutcomeFenced, idemddb.KindFailed: OutcomeFailed, idemddb.KindRefused: OutcomeRefused, idemddb.KindMismatch: OutcomeMismatch,
	idemddb.KindReleased: OutcomeReleased, idemddb.KindInProgress: OutcomeInProgress, idemddb.KindUnanswered: OutcomeUnanswered,
	idemddb.KindCorrupt: OutcomeCorrupt, idemddb.KindUncommitted: OutcomeUncommitted, idemddb.KindUnsent: OutcomeUnsent,
}

// outcomeOf returns the outcome of a message whose work has ended, or has not begun.
func outcomeOf(e idemddb.Ending) outcome {
	o := outcome{name: cmp.Or(outcomes[e.Kind], OutcomeReleased), err: e.Err, done: e.Done, unknown: e.Unknown}

	switch {
	case e.Kind == "":
		return noKeyOutcome(e.Err)
	case e.Kind == idemddb.KindCompleted && e.Err != nil: // the handler completed its claim and returned an error
		o.name = OutcomeReleased
	case e.Kind == idemddb.KindReleased && e.Err == nil:
		o.err = errReleased
	case e.Kind == idemddb.KindFailed, e.Kind == idemddb.KindRefused, e.Kind == idemddb.KindMismatch:
		o.permanent = !e.Unknown
	case e.Kind == idemddb.KindInProgress:
		if other, ok := errors.AsType[*idemddb.InProgressError](e.Err); ok {
			o.until = other.Until
		}
	}

	return o
}

// givenBack returns the outcome of a message whose work did not begin, with the error of giving its claim back, if any.
func givenBack(o outcome, err error) outcome {
	switch {
	case err == nil:
	case !errors.Is(err, idemddb.ErrFenced):
		o.err, o.unknown = errors.Join(o.err, err), true
	case o.name == OutcomeReleased:
		o.name, o.err = OutcomeFenced, errors.Join(o.err, err)
	}

	return o
}
