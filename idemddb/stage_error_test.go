package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

// tooBig is an effect that Stage refuses.
func tooBig() idemddb.Effects { return items(putOf("big", strings.Repeat("x", 500<<10))) }

// ignores is the work of a careless caller: it stages what is refused, and something else, and looks at no error.
func ignores(ctx context.Context) (string, error) {
	_ = idemddb.Stage(ctx, tooBig())
	_ = idemddb.Stage(ctx, items(counted("a")))

	return "done", nil
}

// Otherwise the key would be completed without the effect, and every later call would be a replay: the effect would be lost.
func TestDoIsNotDoneIfItsWorkIgnoresAnErrorOfStage(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*idemddb.ClaimOptions{"claimed": nil, "optimistic": optimistic} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				_, err := f.do(opts, ignores)
				is(f, err, idemddb.ErrNotStaged)

				if !strings.Contains(err.Error(), "item 0") {
					f.Errorf("the error does not name the item: %v", err)
				}

				if isDone(err) {
					f.Error("the error says that the work is done")
				}

				happened(f, f.db, "a", 0)

				got, err := f.do(opts, func(ctx context.Context) (string, error) {
					_ = idemddb.Stage(ctx, tooBig())
					idemddb.Unstage(ctx)

					return "smaller", idemddb.Stage(ctx, items(counted("a")))
				})
				must(f, err)
				happened(f, f.db, "a", 1)

				if got != "smaller" {
					f.Errorf("got %q", got)
				}
			})
		})
	}
}

func TestAClaimIsNotCompletedIfItsWorkIgnoresAnErrorOfStage(t *testing.T) {
	t.Parallel()

	for name, complete := range map[string]func(context.Context, *idemddb.Claim) error{
		"Complete": func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) },
		"CompleteWith": func(ctx context.Context, c *idemddb.Claim) error {
			return c.CompleteWith(ctx, nil, items(counted("b")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				c := claim(f, f.store, "k")
				work, stop := c.Keep(f.Context())
				_, _ = ignores(work)

				stop()
				f.requests()
				is(f, complete(f.Context(), c), idemddb.ErrNotStaged)
				f.want()

				if settled := c.Settled(); settled != "" {
					f.Errorf("settled: %s", settled)
				}

				is(f, complete(f.Context(), c), idemddb.ErrNotStaged)
				must(f, c.Release(f.Context(), nil))
				must(f, claim(f, f.store, "k").Complete(f.Context(), nil))
				happened(f, f.db, "a", 0)
				happened(f, f.db, "b", 0)
			})
		})
	}
}

// A wrapper decides what the error means, for an answer that says so to its client, for example.
// The same slip with CompleteWith. A later call with other effects, or Unstage, takes the error back.
func TestWorkThatIgnoresAnErrorOfCompleteWithIsNotCompleted(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		then func(context.Context, *idemddb.Claim) error
		want error
		runs int64
	}{
		"ignored": {func(context.Context, *idemddb.Claim) error { return nil }, idemddb.ErrNotStaged, 0},
		"smaller": {func(ctx context.Context, c *idemddb.Claim) error {
			return c.CompleteWith(ctx, nil, items(counted("a")))
		}, nil, 1},
		"unstaged": {func(ctx context.Context, _ *idemddb.Claim) error { idemddb.Unstage(ctx); return nil }, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				_, err := f.do(nil, func(ctx context.Context) (string, error) {
					claim, _ := idemddb.FromContext(ctx)
					is(f, claim.CompleteWith(ctx, nil, tooBig()), idemddb.ErrBadEffects)

					return "", c.then(ctx, claim)
				})
				if !errors.Is(err, c.want) {
					f.Errorf("got %v, want %v", err, c.want)
				}

				happened(f, f.db, "a", c.runs)
			})
		})
	}
}

func TestStageErrIsReturnedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		for _, opts := range []*idemddb.ClaimOptions{nil, optimistic} {
			key := fmt.Sprint(opts != nil)
			work := beginWork(f, f.store, key, opts)
			_, _ = ignores(work.Context(f.Context()))
			is(f, work.StageErr(), idemddb.ErrNotStaged)
			must(f, work.StageErr(), work.Settle(f.Context(), nil, nil).Err)
		}

		happened(f, f.db, "a", 2)
	})
}

// A wrapper that does not ask for the error does not commit the rest.
func TestWorkOfWhichStageRefusedSomethingIsNotCompleted(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		for _, opts := range []*idemddb.ClaimOptions{nil, optimistic} {
			work := beginWork(f, f.store, fmt.Sprint(opts != nil), opts)
			_, _ = ignores(work.Context(f.Context()))

			e := work.Settle(f.Context(), nil, nil)
			is(f, e.Err, idemddb.ErrNotStaged)

			if e.Kind != idemddb.KindReleased || e.Done || e.Unknown {
				f.Errorf("got %+v, want a release", e)
			}
		}

		happened(f, f.db, "a", 0)
	})
}
