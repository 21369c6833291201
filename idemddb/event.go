package idemddb

import "context"

// Kind names what happened to a key.
type Kind string

// The kinds of events.
const (
	Claimed    Kind = "claimed"     // a claim was won; Attempt and Fence are its own
	Takeover   Kind = "takeover"    // the same, from a holder whose lease ran out
	Replayed   Kind = "replayed"    // a completed record answered
	InProgress Kind = "in_progress" // refused: another worker holds the key
	Mismatch   Kind = "mismatch"    // refused: another fingerprint
	Refused    Kind = "refused"     // refused: the key has failed for good
	Corrupt    Kind = "corrupt"     // refused: the record can't be read
	Unanswered Kind = "unanswered"  // a claim got no answer, or a no of the service: Err tells
	Completed  Kind = "completed"   // the completion was accepted
	Released   Kind = "released"    // the claim was given back; Err is the cause
	Failed     Kind = "failed"      // the key ended for good; Err is the cause
	Extended   Kind = "extended"    // the lease was renewed
	Fenced     Kind = "fenced"      // a write of a claim was refused: another has the key, or its record is gone
	Unrecorded Kind = "unrecorded"  // the completion never got through: the work is done, its record perhaps not
	Retried    Kind = "retried"     // a request is sent again; Err is what the one before got
	Ungrouped  Kind = "ungrouped"   // groups are off from now on, every write is a request of its own; Err tells why; heard once
	Disabled   Kind = "disabled"    // IDEMDDB_DISABLED is set: heard once, and nothing else of this Store
)

// Event is something that happened to a key, for metrics and alarms: Fenced and Unrecorded deserve one. It never holds an
// input or a result. Err may hold the key only in a field.
type Event struct {
	Kind    Kind
	Key     string // as claimed; use [KeyHash] for what is written down; "" for what concerns no single key
	Fence   int64  // 0 if there is no claim
	Attempt int    // 0 if there is no claim
	Err     error  // nil if nothing went wrong
}

func (s *Store) observe(ctx context.Context, e Event) {
	if s.opts.Observe != nil {
		s.opts.Observe(ctx, e)
	}
}
