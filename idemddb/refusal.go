package idemddb

import (
	"context"
	"strings"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/record"
)

// refuseNested refuses a call that was made inside the work of the same key, and reports true: it would wait for itself. If that
// work has no claim, the call would complete the key, and the effects that its caller staged would be lost.
func (a *acquisition) refuseNested(ctx context.Context) bool {
	for w := workOf(ctx); w != nil; w = w.outer {
		if !w.isOf(a) || !w.isOpen() {
			continue
		}

		refusal := &InProgressError{Key: a.key, Holder: engine.RequestID(ctx), hint: hintContext}
		if w.claim != nil {
			refusal.Until = w.claim.Deadline()
		}

		a.err = refusal

		return true
	}

	return false
}

// isOf reports whether the work is that of the key of the call. A call by another Store counts as one of another worker, because
// the record refuses it. Work without a claim has no record yet, so then the table and the key decide.
func (w *running) isOf(a *acquisition) bool {
	own, other := w.staging.store, a.store

	return w.staging.partition == a.Partition && (own == other || w.claim == nil && own.table == other.table)
}

// isOpen reports whether the work still has its key: its claim is held, or what it stages is still to be committed.
func (w *running) isOpen() bool {
	if w.claim != nil {
		return w.claim.isHeld()
	}

	return !w.staging.isClosed()
}

// inProgress returns the error for a key that another claim holds: that of another worker, or of this very invocation, as when a
// handler of a batch claims the key of one of its messages.
func (a *acquisition) inProgress(rec *record.Stored) error {
	e := &InProgressError{Key: a.key, Until: rec.Until(), Holder: rec.Holder()}
	if strings.HasPrefix(a.Token, e.Holder+record.TokenMark) {
		e.hint = hintInvocation
	}

	return e
}

// mismatch returns the error for a key that was used for another input.
func (a *acquisition) mismatch(rec *record.Stored) error {
	e := &MismatchError{Key: a.key}
	if rec.State == record.Completed {
		e.Record = answerOf(rec, a.key)
		e.Record.Result = nil // it is the answer to another input
	}

	return e
}
