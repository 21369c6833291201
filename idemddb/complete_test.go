package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The work is done, and its record is perhaps written: the key must not be given to another worker, nothing is cached, and it is
// safe to repeat.
func TestACompletionThatNeverGetsThroughIsUnrecorded(t *testing.T) {
	t.Parallel()

	for name, result := range map[string][]byte{"a result": []byte("r"), "one that is too large": make([]byte, 6_500_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Cache: 10}, func(f *fixture) {
				c := claim(f, f.store, "k")
				f.db.Intercept(always(idemddbtest.LostRequest))

				err := c.Complete(f.Context(), result)
				if is(f, err, idemddb.ErrUnrecorded); errors.Is(err, idemddb.ErrTooLarge) || c.Settled() != "" {
					f.Errorf("got %v, settled as %q, want that nothing is known", err, c.Settled())
				}

				f.events.want(f, idemddb.KindClaimed, idemddb.KindUnrecorded)
				f.db.Intercept(nil)
				f.requests()
				must(f, c.Release(f.Context(), nil))
				f.want()

				_, _, err = f.store.Claim(f.Context(), "k", nil)
				is(f, err, idemddb.ErrInProgress)

				if err := c.Complete(f.Context(), result); !isDone(err) {
					f.Error(err)
				}

				replay(f, f.store, "k")
			})
		})
	}
}

func TestAnEndedContextDoesNotKeepASettlementFromBeingWritten(t *testing.T) {
	t.Parallel()

	for verb, settle := range settlements {
		for name, end := range map[string]func(context.Context, *idemddb.Claim) context.Context{
			"the context of Keep, after stop": func(ctx context.Context, c *idemddb.Claim) context.Context {
				work, stop := c.Keep(ctx)
				stop()

				return work
			},
			"a cancelled context": func(ctx context.Context, _ *idemddb.Claim) context.Context {
				ctx, cancel := context.WithCancel(ctx)
				cancel()

				return ctx
			},
			"a context whose deadline is over": func(ctx context.Context, _ *idemddb.Claim) context.Context {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()

				<-ctx.Done()

				return ctx
			},
		} {
			for _, single := range []bool{true, false} {
				t.Run(verb+", "+name, func(t *testing.T) {
					t.Parallel()
					bubble(t, &idemddb.Options{Single: single}, func(f *fixture) {
						claims := f.claims(2)
						f.succeed(claims, func(c *idemddb.Claim) error { return settle(end(f.Context(), c), c) })

						for _, c := range claims {
							if c.Settled() == "" || numberOf(f.T, f.record(c.Key()), "lease") != 0 && textOf(f.record(c.Key()), "st") == "INPROGRESS" {
								f.Errorf("settled as %q, the record is%s", c.Settled(), show(f.record(c.Key())))
							}
						}
					})
				})
			}
		}
	}
}

func TestTheDeadlineOfAClaimNeverFalls(t *testing.T) {
	t.Parallel()
	bubbleAround(t, &idemddb.Options{Single: true}, late(0, 1500*time.Millisecond), func(f *fixture) {
		c := claim(f, f.store, "k")
		<-time.After(10 * time.Second)

		first := make(chan error)

		go func() { first <- c.Extend(f.Context()) }() // the answer comes after that of the second extension

		<-time.After(time.Second)
		must(f, c.Extend(f.Context()))

		latest := c.Deadline()
		must(f, <-first)

		if !c.Deadline().Equal(latest) || !f.lease("k").Equal(latest) {
			f.Errorf("deadline %v after %v, stored %v", c.Deadline(), latest, f.lease("k"))
		}

		near := within(f, time.Second)
		must(f, c.Extend(near))

		if !c.Deadline().Equal(latest) || !f.lease("k").Equal(latest) {
			f.Errorf("deadline %v after %v, stored %v", c.Deadline(), latest, f.lease("k"))
		}
	})
}

func TestWorkThatSucceedsAfterItsKeyWasGivenUpIsDone(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]idemddb.Options{"MaxAttempts": {MaxAttempts: 1}, "NoTakeover": {NoTakeover: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &opts, func(f *fixture) {
				outliveTheLease := func() {
					<-time.After(time.Minute)

					_, _, err := f.store.Claim(f.Context(), "k", nil)
					is(f, err, idemddb.ErrFailed)
				}

				c := claim(f, f.store, "k")
				outliveTheLease()

				err := c.Complete(f.Context(), nil)
				is(f, err, idemddb.ErrFenced)

				if !isDone(err) || !strings.HasSuffix(err.Error(), ", its key was ended as failed") {
					f.Errorf("got %v, done %t; want the end of the key by another, and done", err, isDone(err))
				}

				f.events.want(f, idemddb.KindClaimed, idemddb.KindRefused, idemddb.KindFenced)

				is(f, c.Fail(f.Context(), nil), nil) // the key has failed, as asked
			})
		})
	}
}

func TestAResultThatIsTooLargeIsCompletedWithoutIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db, events := observed(t, nil)
		c := claim(t, s, "k")
		is(t, c.Complete(t.Context(), make([]byte, 6_500_000)), idemddb.ErrTooLarge)

		if rec := replay(t, s, "k"); !rec.ResultOmitted || rec.Result != nil {
			t.Errorf("got %+v, want a record without its result", rec)
		}

		if c.Settled() != idemddb.KindCompleted || len(db.Requests()) != 3 {
			t.Errorf("settled as %q after %d requests", c.Settled(), len(db.Requests()))
		}

		events.want(t, idemddb.KindClaimed, idemddb.KindCompleted, idemddb.KindReplayed)
	})
}
