package idemddb

import (
	"cmp"
	"errors"
)

// Ending says how a run of the work of a key ended. It is for wrappers.
type Ending struct {
	// Kind is KindCompleted, KindFailed or KindReleased if the settlement wrote that. With Unknown set, the failure or the release is
	// perhaps not written. It is KindReplayed if another run has completed the key: then Record is its record. It is KindFenced if
	// the settlement was refused, because the key is another worker's, was settled before, or its record is gone; KindUnrecorded,
	// KindUncommitted or KindUnsent if the completion is not known to be written, is not known to be committed, or has left messages;
	// and otherwise the Kind of the refused claim of the key. It is "" for a key or for options with which no work can begin.
	Kind Kind

	// Err is the error of the code, joined with that of its settlement, or why the work did not begin. It is nil if there is none.
	Err error

	// Done reports that the work is done: its message may be acknowledged, and must not be worked on again. It is true if Err is nil,
	// unless the code has released the claim itself. It is also true beside an Err that is about the record only, such as
	// ErrUnrecorded, and if Record is set, because another run has completed the key. It is false for any other error of the code.
	Done bool

	// Unknown reports that the settlement had no answer.
	Unknown bool

	// BySelf reports that the code settled its claim itself, as Kind says.
	BySelf bool

	// Record is the record that another run of the work completed. It is nil if there is none.
	Record *Record
}

// notBegun is the ending of work whose key is not claimed.
func notBegun(rec *Record, err error) Ending {
	switch {
	case rec != nil:
		return Ending{Kind: KindReplayed, Done: true, Record: rec}
	case errors.Is(err, ErrBadKey):
		return Ending{Err: err}
	default:
		return Ending{Kind: cmp.Or(kindOf(err), KindUnanswered), Err: err}
	}
}
