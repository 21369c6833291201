package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// An error of the user may wrap one of this package, of another key: the first error of an errgroup is the cause of its context,
// and a sender or a keeper of results may use a Store of its own. Such an error says nothing of the key in question.

func TestTheCauseOfAContextIsNoAnswerForAnotherKey(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		must(f, claim(f, f.store, "failed").Fail(f.Context(), errClosed))

		_, failed := idemddb.Do(f.Context(), f.store, "failed", nil, func(context.Context) (int, error) { return 1, nil })
		is(f, failed, idemddb.ErrFailed)

		ctx, cancel := context.WithCancelCause(f.Context())
		f.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			cancel(failed)

			return idemddbtest.LostReply
		})

		_, err := idemddb.Do(ctx, f.store, "key", nil, func(context.Context) (int, error) { return 1, nil })
		if errors.Is(err, idemddb.ErrFailed) || !errors.Is(err, context.Canceled) {
			f.Errorf("of a key that has not failed: %v", err)
		}
	})
}

func TestTheCauseOfAContextDoesNotFenceAnotherClaim(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		work, stop := claim(f, f.store, "outer").Keep(f.Context())
		defer stop()

		inner := claim(f, f.store, "inner")
		claim(f, ahead(f, f.db), "outer")

		<-work.Done() // the outer claim is lost

		if err := inner.Extend(work); errors.Is(err, idemddb.ErrFenced) || !inner.Held() {
			f.Errorf("extended with %v, held %v", err, inner.Held())
		}

		must(f, inner.Release(f.Context(), nil))

		if lease := numberOf(f, recordOf(f.db, "inner"), "lease"); lease != 0 {
			f.Errorf("the inner claim is not released: its lease is %d", lease)
		}
	})
}

func TestReopenDoesNotTakeTheCauseOfAContextForAMissingRecord(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		must(f, claim(f, f.store, "key").Fail(f.Context(), errClosed))

		ctx, cancel := context.WithCancelCause(f.Context())
		cancel(idemddb.ErrFenced)

		if err := f.store.Reopen(ctx, "key"); err == nil || errors.Is(err, idemddb.ErrNoRecord) {
			f.Errorf("the key has a record: %v", err)
		}
	})
}

func TestTheErrorOfASenderDoesNotSayThatItsMessageIsSent(t *testing.T) {
	t.Parallel()

	bubble(t, sendingBy(func([]idemddb.Message) []error { return []error{idemddb.ErrTooLarge} }), func(f *fixture) {
		for key, opts := range map[string]*idemddb.ClaimOptions{"claimed": nil, "optimistic": optimistic} {
			_, err := idemddb.Do(f.Context(), f.store, key, opts, func(ctx context.Context) (int, error) { return 1, idemddb.Stage(ctx, oneMessage) })
			is(f, err, idemddb.ErrUnsent)
		}
	})

	effect := &idemddb.EffectError{Index: 0, Code: "ConditionalCheckFailed"}
	bubble(t, sendingBy(func([]idemddb.Message) []error { return []error{effect} }), func(f *fixture) {
		work := beginWork(f, f.store, "key", nil)
		must(f, idemddb.Stage(work.Context(f.Context()), oneMessage))

		if e := work.Settle(f.Context(), nil, nil); e.Kind != idemddb.KindUnsent {
			f.Errorf("the ending says %s: %v", e.Kind, e.Err)
		}

		if sent := f.db.Requests(); len(sent) != 2 {
			f.Errorf("%d requests, want the claim and its completion", len(sent))
		}
	})
}

func TestTheErrorOfResultsDoesNotSayHowTheWorkEnded(t *testing.T) {
	t.Parallel()

	kept := &shelf{}
	bubble(t, &idemddb.Options{Results: kept}, func(f *fixture) {
		must(f, claim(f, f.store, "kept").Complete(f.Context(), large("a")))

		kept.OnGet = func() error { return fmt.Errorf("get: %w", &idemddb.FailedError{Key: "another"}) }
		kept.OnPut = func(context.Context) error {
			return fmt.Errorf("put: %w", &idemddb.FencedError{Key: "another", Held: 7, Current: 8})
		}

		if work, e := f.store.Begin(f.Context(), "kept", nil); work != nil || e.Kind == idemddb.KindRefused {
			f.Errorf("the key is completed, and the ending says %s: %v", e.Kind, e.Err)
		}

		held := claim(f, f.store, "key")
		err := held.Complete(f.Context(), large("a"))
		is(f, err, idemddb.ErrTooLarge)

		if !held.IsDone(err) {
			f.Errorf("the completion is written, and the work is not done: %v", err)
		}
	})
}
