package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

type runFunc = func(context.Context, *idemddb.Claim) ([]byte, error)

// pays is work that succeeds.
func pays(context.Context, *idemddb.Claim) ([]byte, error) { return []byte("paid"), nil }

func (f *fixture) run(opts *idemddb.ClaimOptions, fn runFunc) (*idemddb.Record, error) {
	return idemddb.Run(f.Context(), f.store, "k", opts, fn)
}

// Each row is what becomes of a key whose work does this: what Run returns, and the Ending. A wrapper that looks at Done alone
// never sends done work back, and never acknowledges work that is not done.
func TestRunEndsAKeyAsItsWorkEnds(t *testing.T) {
	t.Parallel()

	type work = func(ctx context.Context, f *fixture, c *idemddb.Claim) error

	failsWith := func(err error) work {
		return func(context.Context, *fixture, *idemddb.Claim) error { return err }
	}
	meets := func(fault idemddbtest.Fault, effects *idemddb.Effects, err error) work {
		return func(ctx context.Context, f *fixture, _ *idemddb.Claim) error {
			f.db.Intercept(always(fault))

			if effects != nil {
				return idemddb.Stage(ctx, *effects)
			}

			return err
		}
	}
	completes := func(after error) work {
		return func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
			must(f, c.Complete(ctx, nil))

			return after
		}
	}
	completesFirst := func(after error) work {
		return func(ctx context.Context, f *fixture, _ *idemddb.Claim) error {
			must(f, claim(f, ahead(f, f.db), "k").Complete(ctx, []byte("theirs")))

			return after
		}
	}
	stages := func(ctx context.Context, _ *fixture, _ *idemddb.Claim) error {
		return idemddb.Stage(ctx, items(counted("x")))
	}
	givenUp := func(then work) work {
		return func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
			_, _, err := storeOn(f, f.db, &idemddb.Options{NoTakeover: true, Lease: time.Second, Now: anHourAhead}).Claim(f.Context(), "k", nil)
			is(f, err, idemddb.ErrFailed)

			return then(ctx, f, c)
		}
	}
	ignoresStage := func(ctx context.Context, _ *fixture, _ *idemddb.Claim) error { _, err := ignores(ctx); return err }
	completed := func(f *fixture) { must(f, claim(f, f.store, "k").Complete(f.Context(), nil)) }
	effects := items(counted("x"))

	for name, c := range map[string]struct {
		before func(*fixture)        // nil for nothing
		opts   *idemddb.ClaimOptions // nil for Run
		work   work
		err    error // nil for none; the ending has it if it is not done
		kind   idemddb.Kind
		done   bool
		state  string
		answer string // the result of the record that Run returns and the ending has; "" for none
	}{
		"it succeeds":                  {work: failsWith(nil), kind: idemddb.KindCompleted, done: true, state: "COMPLETED"},
		"it succeeds, with an effect":  {work: stages, kind: idemddb.KindCompleted, done: true, state: "COMPLETED"},
		"it succeeds without a claim":  {opts: optimistic, work: stages, kind: idemddb.KindCompleted, done: true, state: "COMPLETED"},
		"the key was completed before": {before: completed, kind: idemddb.KindReplayed, done: true, state: "COMPLETED"},
		"it ran after another's and without a claim": {
			before: completed, opts: optimistic, work: stages, kind: idemddb.KindReplayed, done: true, state: "COMPLETED",
		},
		"it fails":                   {work: failsWith(errClosed), err: errClosed, kind: idemddb.KindReleased, state: "INPROGRESS"},
		"it fails, and not for good": {work: failsWith(passingError{errClosed}), err: passingError{errClosed}, kind: idemddb.KindReleased, state: "INPROGRESS"},
		"it fails for good":          {work: failsWith(permanentError{errClosed}), err: permanentError{errClosed}, kind: idemddb.KindFailed, state: "FAILED"},
		"it fails without a claim, and its rejection is not answered": {
			opts: optimistic, work: meets(idemddbtest.ServerError, nil, errClosed), err: errClosed, kind: idemddb.KindReleased,
		},
		"its completion is denied":       {work: meets(idemddbtest.AccessDenied, nil, nil), kind: idemddb.KindUnrecorded, done: true, state: "INPROGRESS"},
		"its completion does not arrive": {work: meets(idemddbtest.ServerError, nil, nil), kind: idemddb.KindUnrecorded, done: true, state: "INPROGRESS"},
		"its completion has no answer":   {work: meets(idemddbtest.LostReply, nil, nil), kind: idemddb.KindUnrecorded, done: true, state: "COMPLETED"},
		"its transaction does not arrive": {
			work: meets(idemddbtest.ServerError, &effects, nil), err: idemddb.ErrUncommitted, kind: idemddb.KindUncommitted, state: "INPROGRESS",
		},
		"it completes its claim itself":           {work: completes(nil), kind: idemddb.KindCompleted, done: true, state: "COMPLETED"},
		"it completes its claim itself and fails": {work: completes(errClosed), err: errClosed, kind: idemddb.KindCompleted, state: "COMPLETED"},
		"it completes its claim itself, with an effect": {
			work: func(ctx context.Context, _ *fixture, c *idemddb.Claim) error {
				return c.CompleteWith(ctx, nil, effects)
			},
			kind: idemddb.KindCompleted, done: true, state: "COMPLETED",
		},
		"it returns the error of its own completion, which does not arrive": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				f.db.Intercept(always(idemddbtest.ServerError))

				return c.Complete(ctx, nil)
			},
			kind: idemddb.KindUnrecorded, done: true, state: "INPROGRESS",
		},
		"it returns that error with a text": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				f.db.Intercept(always(idemddbtest.ServerError))

				return fmt.Errorf("complete: %w", c.Complete(ctx, nil))
			},
			kind: idemddb.KindUnrecorded, done: true, state: "INPROGRESS",
		},
		"it returns that error joined with its own": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				f.db.Intercept(always(idemddbtest.ServerError))
				err := c.Complete(ctx, nil)
				f.db.Intercept(nil)

				return errors.Join(err, errClosed)
			},
			err: errClosed, kind: idemddb.KindReleased, state: "INPROGRESS",
		},
		"its own completion finds no record": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				erase(f, f.db, "k")

				return c.Complete(ctx, nil)
			},
			kind: idemddb.KindFenced, done: true,
		},
		"its own completion is refused, because another worker is at work": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				claim(f, ahead(f, f.db), "k")

				return c.Complete(ctx, nil)
			},
			err: idemddb.ErrFenced, kind: idemddb.KindFenced, state: "INPROGRESS",
		},
		"its own completion is refused, because another worker has completed the key": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				must(f, claim(f, ahead(f, f.db), "k").Complete(ctx, []byte("theirs")))

				return c.Complete(ctx, nil)
			},
			kind: idemddb.KindFenced, done: true, state: "COMPLETED", answer: "theirs",
		},
		"its own transaction does not arrive": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				f.db.Intercept(always(idemddbtest.ServerError))
				err := c.CompleteWith(ctx, nil, effects)
				f.db.Intercept(nil)

				return err
			},
			err: idemddb.ErrUncommitted, kind: idemddb.KindReleased, state: "INPROGRESS",
		},
		"it releases its claim itself": {
			work: func(ctx context.Context, _ *fixture, c *idemddb.Claim) error { return c.Release(ctx, nil) },
			kind: idemddb.KindReleased, state: "INPROGRESS",
		},
		"it fails its claim itself": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				must(f, c.Fail(ctx, nil))

				return errClosed
			},
			err: errClosed, kind: idemddb.KindFailed, state: "FAILED",
		},
		"another worker completes the key":               {work: completesFirst(nil), kind: idemddb.KindFenced, done: true, state: "COMPLETED", answer: "theirs"},
		"another worker completes the key, and it fails": {work: completesFirst(errClosed), kind: idemddb.KindFenced, done: true, state: "COMPLETED", answer: "theirs"},
		"another worker holds the key": {
			work: func(ctx context.Context, f *fixture, c *idemddb.Claim) error {
				claim(f, ahead(f, f.db), "k")
				<-ctx.Done() // the work is told

				e, isFenced := errors.AsType[*idemddb.FencedError](context.Cause(ctx))
				if !isFenced || e.Current != c.Fence()+1 || c.Held() {
					f.Errorf("cause: %v, want fenced; held %t", context.Cause(ctx), c.Held())
				}

				return nil
			},
			err: idemddb.ErrFenced, kind: idemddb.KindFenced, state: "INPROGRESS",
		},
		"another worker fails the key": {
			work: func(ctx context.Context, f *fixture, _ *idemddb.Claim) error {
				return claim(f, ahead(f, f.db), "k").Fail(ctx, errClosed)
			},
			err: idemddb.ErrFenced, kind: idemddb.KindFenced, state: "FAILED",
		},
		"another worker, which takes nothing over, ends the key": {
			work: givenUp(failsWith(nil)), kind: idemddb.KindFenced, done: true, state: "FAILED",
		},
		"another worker ends the key, and an effect is staged, which has not happened": {
			work: givenUp(stages), err: idemddb.ErrFenced, kind: idemddb.KindRefused, state: "FAILED",
		},
		"its record is deleted": {
			work: func(_ context.Context, f *fixture, _ *idemddb.Claim) error { erase(f, f.db, "k"); return nil },
			kind: idemddb.KindFenced, done: true,
		},
		"it ignores an error of Stage": {work: ignoresStage, err: idemddb.ErrNotStaged, kind: idemddb.KindReleased, state: "INPROGRESS"},
		"it ignores an error of Stage, without a claim": {
			opts: optimistic, work: ignoresStage, err: idemddb.ErrNotStaged, kind: idemddb.KindReleased, state: "INPROGRESS",
		},
		"it forgets what it has staged, without a claim": {
			work: func(ctx context.Context, f *fixture, _ *idemddb.Claim) error {
				must(f, idemddb.Stage(ctx, items(counted("x"))))
				idemddb.Unstage(ctx)

				return nil
			},
			opts: optimistic, err: idemddb.ErrNotStaged, kind: idemddb.KindReleased, state: "INPROGRESS",
		},
		"it ignores that a target is not known": {
			work: func(ctx context.Context, _ *fixture, _ *idemddb.Claim) error {
				_ = idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "no entry", Body: "b"}}})

				return nil
			},
			err: idemddb.ErrNotStaged, kind: idemddb.KindReleased, state: "INPROGRESS",
		},
		"another worker held the key": {
			before: func(f *fixture) { claim(f, f.store, "k") },
			err:    idemddb.ErrInProgress, kind: idemddb.KindInProgress, state: "INPROGRESS",
		},
		"the key had failed for good": {
			before: func(f *fixture) { must(f, claim(f, f.store, "k").Fail(f.Context(), nil)) },
			err:    idemddb.ErrFailed, kind: idemddb.KindRefused, state: "FAILED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				if c.before != nil {
					c.before(f)
				}

				record, e, err := f.runOrDo(c.opts, c.work)

				f.db.Intercept(nil)

				if e.Done != c.done || e.Kind != c.kind || e.Unknown && errors.Is(e.Err, idemddb.ErrNotStaged) {
					f.Errorf("got %s, done %t, error %v; want %s, done %t", e.Kind, e.Done, e.Err, c.kind, c.done)
				}

				if !errors.Is(err, c.err) || !e.Done && !errors.Is(e.Err, c.err) {
					f.Errorf("got the errors %v and %v, want %v", err, e.Err, c.err)
				}

				if result(record) != c.answer || result(e.Record) != c.answer {
					f.Errorf("got the records %q and %q, want %q", result(record), result(e.Record), c.answer)
				}

				if got := textOf(f.record("k"), "st"); got != c.state {
					f.Errorf("the record is %q, want %q", got, c.state)
				}
			})
		})
	}
}

// runOrDo does work by Run or, without a claim, by Do, which returns no record. It also returns the ending.
func (f *fixture) runOrDo(
	opts *idemddb.ClaimOptions, work func(context.Context, *fixture, *idemddb.Claim) error,
) (record *idemddb.Record, ending idemddb.Ending, err error) {
	calls := 0
	with := idemddb.ClaimOptions{OnEnding: func(_ context.Context, e idemddb.Ending) { ending = e; calls++ }}

	if opts == nil {
		record, err = f.run(&with, func(ctx context.Context, own *idemddb.Claim) ([]byte, error) {
			if c, ok := idemddb.FromContext(ctx); !ok || c != own {
				f.Errorf("the context has another claim: %v", c)
			}

			return []byte("paid"), work(ctx, f, own)
		})
	} else {
		with.Optimistic = opts.Optimistic
		_, err = idemddb.Do(f.Context(), f.store, "k", &with, func(ctx context.Context) (any, error) { return nil, work(ctx, f, nil) })
	}

	if calls != 1 {
		f.Errorf("OnEnding was called %d times", calls)
	}

	return record, ending, err
}

func result(r *idemddb.Record) string {
	if r == nil {
		return ""
	}

	return string(r.Result)
}

func TestRunReportsAnOmittedResultOnlyToACallerThatNeedsIt(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		must(f, errors.Join(claim(f, f.store, "k").Complete(f.Context(), nil)))

		_, err := f.run(&idemddb.ClaimOptions{NeedResult: true}, pays) // it had none, so none is omitted
		must(f, err)

		_, err = idemddb.Run(f.Context(), f.store, "large", nil, func(context.Context, *idemddb.Claim) ([]byte, error) { return make([]byte, 6_500_000), nil })
		must(f, err)

		record, err := idemddb.Run(f.Context(), f.store, "large", nil, pays)
		must(f, err)

		if record == nil || !record.ResultOmitted {
			f.Errorf("got %v, want a record whose result is omitted", record)
		}

		record, err = idemddb.Run(f.Context(), f.store, "large", &idemddb.ClaimOptions{NeedResult: true}, pays)
		is(f, err, idemddb.ErrResultOmitted)

		if record != nil {
			f.Errorf("got the record %v beside an error", record)
		}
	})
}

func TestRunRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		_, ofRun := f.run(&idemddb.ClaimOptions{Optimistic: true}, pays)
		_, _, ofClaim := f.store.Claim(f.Context(), "k", &idemddb.ClaimOptions{Optimistic: true})

		for name, err := range map[string]error{"Run": ofRun, "Claim": ofClaim} {
			if !errors.Is(err, idemddb.ErrMisuse) || !strings.Contains(err.Error(), "ClaimOptions.Optimistic") {
				f.Errorf("%s, Optimistic: got %v", name, err)
			}
		}

		_, err := idemddb.Run(f.Context(), f.store, "", nil, pays)
		is(f, err, idemddb.ErrBadKey)

		f.want()
	})
}
