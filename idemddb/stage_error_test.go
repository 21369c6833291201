package idemddb_test

import (
	"context"
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
func TestTheErrorOfStageIsTakenOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		for _, opts := range []*idemddb.ClaimOptions{nil, optimistic} {
			key := fmt.Sprint(opts != nil)
			work := beginWork(f, f.store, key, opts)
			_, _ = ignores(work.Context(f.Context()))
			is(f, work.TakeStageErr(), idemddb.ErrNotStaged)
			must(f, work.TakeStageErr(), work.Settle(f.Context(), nil, nil).Err)
		}

		happened(f, f.db, "a", 2)
	})
}
