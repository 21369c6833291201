package idemddb_test

import (
	"context"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A wrapper that looks at Done alone never sends done work back, and never acknowledges work that is not done.
func TestAnEndingIsDoneIfTheWorkIs(t *testing.T) {
	t.Parallel()

	settled := func(f *fixture, opts *idemddb.ClaimOptions, code func(context.Context) error) idemddb.Ending {
		work, ending := f.store.Begin(f.Context(), "k", opts)
		if work == nil {
			return ending
		}

		return work.Settle(f.Context(), nil, code(work.Context(f.Context())))
	}
	ownClaim := func(ctx context.Context) *idemddb.Claim {
		c, _ := idemddb.FromContext(ctx)

		return c
	}

	ignoresStage := func(opts *idemddb.ClaimOptions) func(f *fixture) idemddb.Ending {
		return func(f *fixture) idemddb.Ending {
			e := settled(f, opts, func(ctx context.Context) error { _, err := ignores(ctx); return err })
			if is(f, e.Err, idemddb.ErrNotStaged); e.Unknown {
				f.Error("it is unknown")
			}

			return e
		}
	}

	for name, c := range map[string]struct {
		end  func(f *fixture) idemddb.Ending
		kind idemddb.Kind
		done bool
	}{
		"the code succeeds": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(context.Context) error { return nil })
		}, idemddb.KindCompleted, true},
		"the code succeeds without a claim": {func(f *fixture) idemddb.Ending {
			return settled(f, &idemddb.ClaimOptions{Optimistic: true}, func(ctx context.Context) error { return idemddb.Stage(ctx, items(counted("x"))) })
		}, idemddb.KindCompleted, true},
		"the key was completed before": {func(f *fixture) idemddb.Ending {
			must(f, claim(f, f.store, "k").Complete(f.Context(), nil))

			return settled(f, nil, nil)
		}, idemddb.KindReplayed, true},
		"the key was completed before, and the code ran without a claim": {func(f *fixture) idemddb.Ending {
			must(f, claim(f, f.store, "k").Complete(f.Context(), nil))

			return settled(f, &idemddb.ClaimOptions{Optimistic: true}, func(ctx context.Context) error { return idemddb.Stage(ctx, items(counted("x"))) })
		}, idemddb.KindReplayed, true},
		"the completion does not get through": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(context.Context) error {
				f.db.Intercept(always(idemddbtest.ServerError))

				return nil
			})
		}, idemddb.KindUnrecorded, true},
		"the code completes its claim itself": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(ctx context.Context) error { return ownClaim(ctx).Complete(ctx, nil) })
		}, idemddb.KindCompleted, true},
		"the code completes its claim itself and fails": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(ctx context.Context) error {
				must(f, ownClaim(ctx).Complete(ctx, nil))

				return errClosed
			})
		}, idemddb.KindCompleted, false},
		"the code releases its claim itself": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(ctx context.Context) error { return ownClaim(ctx).Release(ctx, nil) })
		}, idemddb.KindReleased, false},
		"the code fails": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(context.Context) error { return errClosed })
		}, idemddb.KindReleased, false},
		"the code fails, and another worker has completed the key": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(ctx context.Context) error {
				must(f, claim(f, ahead(f, f.db), "k").Complete(ctx, nil))

				return errClosed
			})
		}, idemddb.KindFenced, true},
		"the code succeeds, and another worker holds the key": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(context.Context) error {
				claim(f, ahead(f, f.db), "k")

				return nil
			})
		}, idemddb.KindFenced, false},
		"the code succeeds, and another worker has failed the key": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(ctx context.Context) error { return claim(f, ahead(f, f.db), "k").Fail(ctx, errClosed) })
		}, idemddb.KindFenced, false},
		"the code completes its claim itself, with an effect": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(ctx context.Context) error { return ownClaim(ctx).CompleteWith(ctx, nil, items(counted("x"))) })
		}, idemddb.KindCompleted, true},
		"the code fails without a claim, and its rejection is not answered": {func(f *fixture) idemddb.Ending {
			return settled(f, optimistic, func(context.Context) error {
				f.db.Intercept(always(idemddbtest.ServerError))

				return errClosed
			})
		}, idemddb.KindReleased, false},
		"the code fails, and says that it is not for good": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(context.Context) error { return passingError{errClosed} })
		}, idemddb.KindReleased, false},
		"the code ignores an error of Stage":                  {ignoresStage(nil), idemddb.KindReleased, false},
		"the code ignores an error of Stage, without a claim": {ignoresStage(optimistic), idemddb.KindReleased, false},
		"the transaction of the effects does not get through": {func(f *fixture) idemddb.Ending {
			return settled(f, nil, func(ctx context.Context) error {
				f.db.Intercept(always(idemddbtest.ServerError))

				return idemddb.Stage(ctx, items(counted("x")))
			})
		}, idemddb.KindUncommitted, false},
		"another worker holds the key": {func(f *fixture) idemddb.Ending {
			claim(f, f.store, "k")

			return settled(f, nil, nil)
		}, idemddb.KindInProgress, false},
		"the key has failed for good": {func(f *fixture) idemddb.Ending {
			must(f, claim(f, f.store, "k").Fail(f.Context(), nil))

			return settled(f, nil, nil)
		}, idemddb.KindRefused, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				if e := c.end(f); e.Done != c.done || e.Kind != c.kind {
					f.Errorf("got %s, done %t, error %v; want %s, done %t", e.Kind, e.Done, e.Err, c.kind, c.done)
				}
			})
		})
	}
}

// A worker that does not take over has ended the key as failed while its work ran. What the work staged has not happened then;
// all else is done.
func TestTheEndingOfAKeyThatWasGivenUpIsDoneUnlessAnEffectIsStaged(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		stages bool
		kind   idemddb.Kind
		done   bool
	}{{false, idemddb.KindFenced, true}, {true, idemddb.KindRefused, false}} {
		bubble(t, nil, func(f *fixture) {
			work, _ := f.store.Begin(f.Context(), "k", nil)
			ctx := work.Context(f.Context())

			if c.stages {
				must(f, idemddb.Stage(ctx, items(counted("x"))))
			}

			_, _, err := aheadWithoutTakeover(f).Claim(f.Context(), "k", nil)
			is(f, err, idemddb.ErrFailed)

			if e := work.Settle(f.Context(), nil, nil); e.Kind != c.kind || e.Done != c.done {
				f.Errorf("got %s, done %t, error %v; want %s, done %t", e.Kind, e.Done, e.Err, c.kind, c.done)
			}
		})
	}
}
