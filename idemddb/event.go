package idemddb

import (
	"errors"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Kind names what happened to a key.
type Kind string

// The kinds of events.
const (
	KindClaimed       Kind = "claimed"        // a claim was granted; Attempt and Fence are its own
	KindTakeover      Kind = "takeover"       // a claim was granted after the lease of another holder ran out: the effect may have happened
	KindReplayed      Kind = "replayed"       // a claim found a completed record; Err says why the record cannot answer
	KindInProgress    Kind = "in_progress"    // a claim was refused, because another worker holds the key
	KindMismatch      Kind = "mismatch"       // a claim was refused, because the key was used with another fingerprint
	KindRefused       Kind = "refused"        // a claim was refused, because the key has failed for good
	KindCorrupt       Kind = "corrupt"        // a claim was refused, because the record cannot be read
	KindUnanswered    Kind = "unanswered"     // DynamoDB did not answer a claim, or refused it for another reason than its condition; see Err
	KindCompleted     Kind = "completed"      // a completion was accepted; Err says why its result was not kept
	KindReleased      Kind = "released"       // a claim was released; Err is the cause
	KindFailed        Kind = "failed"         // a key ended for good; Err is the cause
	KindExtended      Kind = "extended"       // a lease was renewed
	KindFenced        Kind = "fenced"         // a write of a claim was refused: another worker has the key, it was ended, or its record is gone
	KindUnrecorded    Kind = "unrecorded"     // a completion did not get through: the work is done, and its record perhaps not written
	KindUncommitted   Kind = "uncommitted"    // a transaction of effects and completion is not known to be committed; the record decides
	KindEffectRefused Kind = "effect_refused" // DynamoDB refused a staged item: nothing was written, unless EffectError.Unknown is set; see Err
	KindConflict      Kind = "conflict"       // the transaction of a write was cancelled, because another write of one of its items was under way
	KindUnsent        Kind = "unsent"         // a message of a completed record is not sent yet; the sweep or a redelivery sends it; Err has the cause
	KindSent          Kind = "sent"           // all messages of a completed record are sent
	KindParked        Kind = "parked"         // a message can never be sent, and stays in its record; Err names it, its target and the cause
	KindRetried       Kind = "retried"        // a write is sent again; Err is the last answer
	KindReadsDenied   Kind = "reads_denied"   // records are not read before transactions for five minutes, so that a saving is missing; Err says why
	KindUnshared      Kind = "unshared"       // requests are not shared: for five minutes, or for good if New emits it; Err says why

	// KindPanicked: Options.Trace panicked, and the claim goes on without it; or a renewal did, and its work is cancelled. See Err.
	KindPanicked Kind = "panicked"

	// KindDisabled: IDEMDDB_DISABLED is set. It is emitted once. Other events then say only what becomes of effects that are written
	// without a record.
	KindDisabled Kind = "disabled"
)

// Event is something that happened to a key, for metrics and alarms. KindFenced and KindUnrecorded deserve an alarm. An event
// never holds an input or a result. Err may hold the key in a field. If code of the user panicked, Err wraps an error whose
// method Stack() []byte returns the stack.
type Event struct {
	Kind    Kind   // what happened
	Key     string // as claimed; use [Event.KeyHash] for logs; "" for what concerns several keys or none
	Fence   int64  // the fencing token of the claim; of KindReplayed without Err that of the record; 0 if there is none, as for a commit
	Attempt int    // the attempt of the claim; of KindReplayed without Err those of the record; 1 for a completed commit; 0 if there is none
	Trace   string // of KindReplayed and KindTakeover: the traceparent of the run before, which Options.Trace gave to it; "" for none
	Err     error  // nil if nothing went wrong
}

// KeyHash returns the form of the event's key that stands in messages and logs: keys may hold what should not be there. It is the
// beginning of the key's SHA-256, in URL-safe base64, behind "sha256:".
func (e Event) KeyHash() string { return record.KeyHash(e.Key) }

// kindOf returns what an error of a claim, a commit or a completion says about its key; "" if it says nothing.
func kindOf(err error) Kind {
	for _, known := range []struct {
		err  error
		kind Kind
	}{
		{ErrUnread, ""}, {ErrUncommitted, KindUncommitted}, {ErrUnsent, KindUnsent}, {ErrEffectRefused, KindEffectRefused}, {ErrInProgress, KindInProgress},
		{ErrMismatch, KindMismatch}, {ErrFailed, KindRefused}, {ErrCorrupt, KindCorrupt},
	} {
		if errors.Is(err, known.err) {
			return known.kind
		}
	}

	return ""
}
