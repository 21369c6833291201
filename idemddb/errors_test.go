package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A caller who acknowledges by IsDone must not lose work that did not succeed.
func TestIsDoneHoldsOnlyForWorkThatIsDone(t *testing.T) {
	t.Parallel()

	for err, want := range map[error]bool{
		nil: true, idemddb.ErrUnrecorded: true, idemddb.ErrTooLarge: true, idemddb.ErrResultOmitted: true,

		idemddb.ErrInProgress: false, idemddb.ErrFailed: false, idemddb.ErrMismatch: false, idemddb.ErrCorrupt: false, idemddb.ErrBadKey: false,
		idemddb.ErrUncommitted: false, idemddb.ErrEffectRefused: false, idemddb.ErrNoClaim: false, idemddb.ErrNotStaged: false,
		idemddb.ErrBadEffects: false, idemddb.ErrUnsent: false, idemddb.ErrUnsendable: false,
		context.Canceled: false, errors.New("the charge failed"): false,
	} {
		wrapped := err
		if err != nil {
			wrapped = fmt.Errorf("complete: %w", err)
		}

		if got := idemddb.IsDone(wrapped); got != want {
			t.Errorf("IsDone(%v) = %t, want %t", err, got, want)
		}
	}
}

// The way of docs/do.md: failed work is an error, also if its release is written, and finished work is none, also without its record.
func TestTheStepsOfTheDocsReportFailedWorkAndAcknowledgeFinishedWork(t *testing.T) {
	t.Parallel()

	errClosed := errors.New("the bank is closed")
	byClaim := func(f *fixture, charge func() error) error {
		claim := claim(f, f.store, "k")
		defer claim.Release(f.Context(), nil)

		if err := charge(); err != nil {
			return errors.Join(err, claim.Release(f.Context(), err))
		}

		if err := claim.Complete(f.Context(), nil); !idemddb.IsDone(err) {
			return err
		}

		return nil
	}

	bubble(t, nil, func(f *fixture) {
		is(f, byClaim(f, func() error { return errClosed }), errClosed)
		must(f, byClaim(f, func() error {
			f.db.Intercept(always(idemddbtest.ServerError)) // no answer to the completion

			return nil
		}))
	})
}
