package lambdawrap

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/turns"
)

// Outcome says in one word how a message ended, in the log, for Options.OnMessage and for metrics.
type Outcome string

// The outcomes. A message with one of the first four is done. One with permanent, refused, mismatch or no_key is done if
// Options.DeadLetter took it. All others are reported failed and come back.
const (
	OutcomeCompleted   Outcome = "completed"   // the handler succeeded, and its success is recorded
	OutcomeReplayed    Outcome = "replayed"    // the key was completed before; the handler did not run
	OutcomeUnrecorded  Outcome = "unrecorded"  // the handler succeeded, and its record was perhaps not written
	OutcomeFenced      Outcome = "fenced"      // the handler ran, and the record is another's; done if the work is done, else failed
	OutcomePermanent   Outcome = "permanent"   // the handler returned Permanent
	OutcomeRefused     Outcome = "refused"     // the key failed for good before, or its attempts are used up
	OutcomeMismatch    Outcome = "mismatch"    // the key was used for another input
	OutcomeNoKey       Outcome = "no_key"      // the message has no key
	OutcomeFailed      Outcome = "failed"      // the handler failed or panicked, or the key function did
	OutcomeInProgress  Outcome = "in_progress" // another worker holds the key
	OutcomeUnanswered  Outcome = "unanswered"  // DynamoDB did not answer the claim, or refused it
	OutcomeCorrupt     Outcome = "corrupt"     // the record cannot be read, or is of another version
	OutcomeUncommitted Outcome = "uncommitted" // what the handler staged is not known to be committed; the record decides
	OutcomeUnsent      Outcome = "unsent"      // what the handler staged is committed, and its messages are not sent yet
	OutcomeNoTime      Outcome = "no_time"     // too little time was left to start
	OutcomeLate        Outcome = "late"        // the handler did not answer in time
	OutcomeBlocked     Outcome = "blocked"     // an earlier message of its FIFO group failed
)

// outcome is how a message's piece of work ended.
type outcome struct {
	name      Outcome
	err       error // nil: done, and nothing is worth a line in the log
	done      bool  // the message is done although there is an error
	permanent bool  // it will never succeed: for the dead-letter hook
	unknown   bool  // the write that settles it had no answer, so nobody knows what its record says

	until   time.Time // the end of the lease that keeps the key from being claimed
	seconds int32     // of a blocked message: until the message before it comes back
}

var (
	errNoTime   = errors.New("lambdawrap: too little time was left before it could start")
	errBlocked  = errors.New("lambdawrap: an earlier message of its group failed")
	errLost     = errors.New("lambdawrap: its claim, or that of another message of its event, was lost before it could start")
	errReleased = errors.New("lambdawrap: the handler released its claim and returned no error")
	errLate     = errors.New("lambdawrap: the handler had not answered when the invocation's answer was due; its claim lasts for one more lease")
)

// ofDuplicate is the outcome of another message with the same key and batch, for which no handler ran.
func (o outcome) ofDuplicate() outcome {
	if o.name == OutcomeCompleted && o.err == nil {
		o.name = OutcomeReplayed
	}

	return o
}

// noKeyOutcome is that of a message without a key: no delivery of it will have one. An error of the user's own key function is a
// failure like any other.
func noKeyOutcome(err error) outcome {
	switch {
	case errors.Is(err, ErrNoKey), errors.Is(err, idemddb.ErrBadKey):
		return outcome{name: OutcomeNoKey, err: err, permanent: true}
	case isPermanent(err):
		return outcome{name: OutcomePermanent, err: err, permanent: true}
	default:
		return outcome{name: OutcomeFailed, err: err}
	}
}

// unclaimed is the outcome of a message whose key was not claimed.
func unclaimed(err error) outcome {
	o := outcome{name: uncommitted(err, OutcomeUnanswered), err: err}

	switch {
	case err == nil:
		return outcome{name: OutcomeReplayed}
	case errors.Is(err, idemddb.ErrInProgress):
		o.name = OutcomeInProgress
		if other, ok := errors.AsType[*idemddb.InProgressError](err); ok {
			o.until = other.Until
		}
	case errors.Is(err, idemddb.ErrFailed):
		o.name, o.permanent = OutcomeRefused, true
	case errors.Is(err, idemddb.ErrMismatch):
		o.name, o.permanent = OutcomeMismatch, true
	case errors.Is(err, idemddb.ErrBadKey):
		o.name, o.permanent = OutcomeNoKey, true
	case errors.Is(err, idemddb.ErrCorrupt):
		o.name = OutcomeCorrupt
	}

	return o
}

// settle settles a claim after its handler. Until that is done, an effect counts as unrecorded.
func (v *invocation) settle(ctx context.Context, t *turns.Turn, claim *idemddb.Claim, err error) outcome {
	if err == nil {
		err = claim.StageErr()
	}

	effect := err == nil && !claim.Staged() || isPermanent(err) // what is staged has not happened yet
	t.End(effect)

	if !effect {
		return settle(ctx, claim, err)
	}

	written := false
	defer func() { t.Recorded(written) }()

	trouble, stop := v.watchRecord(ctx, t)
	defer stop()

	o := settle(idemddb.OnRetry(ctx, func() { trouble(true) }), claim, err)
	written = claim.Settled() != "" || o.name == OutcomeFenced

	return o
}

// watchRecord returns a function that reports trouble with the record of a finished effect. It is also called when the record takes long,
// and no more after stop.
func (v *invocation) watchRecord(ctx context.Context, t *turns.Turn) (trouble func(refused bool), stop func()) {
	var (
		mu   sync.Mutex // held while the warning is written, so that it is not written later than the call
		over bool
	)

	trouble = func(refused bool) {
		mu.Lock()
		defer mu.Unlock()

		if !over && t.Trouble(refused) {
			v.warnOfTrouble(ctx)
		}
	}

	timer := time.AfterFunc(troubleTime, func() { trouble(false) })

	return trouble, func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()

		over = true
	}
}

// troubleTime is how long a finished effect waits for its record before it is in trouble.
const troubleTime = 100 * time.Millisecond

// settle writes down how the work ended. The handler may have settled the claim itself, through idemddb.FromContext. Only errors of
// this message's own claim decide about its outcome: an error of the handler may wrap those of other keys.
func settle(ctx context.Context, claim *idemddb.Claim, err error) outcome {
	switch settled := claim.Settled(); {
	case settled == idemddb.Failed:
		cause := &idemddb.FailedError{Key: claim.Key(), Cause: "ended by its handler", Attempts: claim.Attempt()}

		return outcome{name: OutcomePermanent, err: errors.Join(err, cause), permanent: true}
	case settled == idemddb.Released && err == nil:
		return outcome{name: OutcomeFailed, err: errReleased}
	case settled == idemddb.Completed && err == nil:
		return outcome{name: OutcomeCompleted}
	case settled != "":
		return outcome{name: OutcomeFailed, err: err}
	case err == nil:
		return completed(ctx, claim, claim.Complete(ctx, nil))
	case isPermanent(err):
		return ended(err, claim.Fail(ctx, err))
	default:
		return released(OutcomeFailed, err, claim.Release(ctx, err))
	}
}

// completed reads the answer to a completion. The work is done, and the message comes back only if another worker is at work on the
// key. But what was staged has happened only if it is committed.
func completed(ctx context.Context, claim *idemddb.Claim, err error) outcome {
	if err == nil {
		return outcome{name: OutcomeCompleted}
	}

	o := outcome{name: OutcomeUnrecorded, err: err, done: idemddb.IsDone(err)}
	fenced, isFenced := errors.AsType[*idemddb.FencedError](err)
	effect, isEffect := errors.AsType[*idemddb.EffectError](err)

	switch {
	case isEffect:
		return refused(claim.Refuse(ctx, effect))
	case isFenced && !o.done && fenced.HasFailed():
		o.name, o.permanent = OutcomeRefused, true
	case isFenced:
		o.name = OutcomeFenced
	default:
		o.name = uncommitted(err, OutcomeUnrecorded)
	}

	return o
}

// refused reads what the refusal of a staged item means, and the answer to the write that settles it.
func refused(meaning, err error) outcome {
	switch {
	case meaning == nil:
		return outcome{name: OutcomeCompleted}
	case isPermanent(meaning):
		return ended(meaning, err)
	default:
		return released(OutcomeFailed, meaning, err)
	}
}

// uncommitted names the errors of a commit that is not proven.
func uncommitted(err error, otherwise Outcome) Outcome {
	switch {
	case errors.Is(err, idemddb.ErrUncommitted):
		return OutcomeUncommitted
	case errors.Is(err, idemddb.ErrUnsent):
		return OutcomeUnsent
	default:
		return otherwise
	}
}

// ended reads the answer to Fail. Only a key that has ended is for the dead-letter hook.
func ended(err, failed error) outcome {
	switch {
	case failed == nil:
		return outcome{name: OutcomePermanent, err: err, permanent: true}
	case errors.Is(failed, idemddb.ErrFenced):
		return outcome{name: OutcomeFenced, err: errors.Join(err, failed)}
	default:
		return outcome{name: OutcomePermanent, err: errors.Join(err, failed), unknown: true}
	}
}

// released reads the answer to a release.
func released(name Outcome, err, failed error) outcome {
	switch {
	case failed == nil:
	case !errors.Is(failed, idemddb.ErrFenced):
		return outcome{name: name, err: errors.Join(err, failed), unknown: true}
	case name == OutcomeFailed:
		name, err = OutcomeFenced, errors.Join(err, failed)
	}

	return outcome{name: name, err: err}
}

// isOutage reports whether all messages failed because DynamoDB did not answer their claims, or because they were behind such a message, or
// because waiting for DynamoDB left too little time.
func isOutage(messages []*message) bool {
	unanswered := 0

	for _, m := range messages {
		switch {
		case m.failed && (m.outcome == OutcomeUnanswered || m.outcome == OutcomeUncommitted):
			unanswered++
		case m.failed && (m.outcome == OutcomeBlocked || m.outcome == OutcomeNoTime):
		default:
			return false
		}
	}

	return unanswered > 0
}
