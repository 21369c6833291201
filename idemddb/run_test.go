package idemddb_test

import (
	"context"
	"errors"
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

// Each row is what one call of Run does, and what a second call gets.
func TestRunEndsAKeyAsItsWorkEnds(t *testing.T) {
	t.Parallel()

	failsWith := func(err error) func(*fixture) runFunc {
		return func(*fixture) runFunc {
			return func(context.Context, *idemddb.Claim) ([]byte, error) { return nil, err }
		}
	}
	settles := func(settle func(context.Context, *idemddb.Claim) error, after error) func(*fixture) runFunc {
		return func(f *fixture) runFunc {
			return func(ctx context.Context, c *idemddb.Claim) ([]byte, error) {
				must(f, settle(ctx, c))

				return nil, after
			}
		}
	}
	meets := func(fault idemddbtest.Fault) func(*fixture) runFunc {
		return func(f *fixture) runFunc {
			return func(context.Context, *idemddb.Claim) ([]byte, error) {
				f.db.Intercept(always(fault))

				return []byte("paid"), nil
			}
		}
	}

	for name, c := range map[string]struct {
		work   func(f *fixture) runFunc
		err    error // of the call; nil for none
		state  string
		answer string // the result of the record that the call returns; "" for none
	}{
		"it succeeds":                   {func(*fixture) runFunc { return pays }, nil, "COMPLETED", ""},
		"it fails":                      {failsWith(errClosed), errClosed, "INPROGRESS", ""},
		"it fails for good":             {failsWith(permanentError{errClosed}), permanentError{errClosed}, "FAILED", ""},
		"its completion is denied":      {meets(idemddbtest.AccessDenied), nil, "INPROGRESS", ""},
		"its completion has no answer":  {meets(idemddbtest.LostReply), nil, "COMPLETED", ""},
		"it completes its claim itself": {settles(func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) }, nil), nil, "COMPLETED", ""},
		"it completes its claim itself and fails": {
			settles(func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) }, errClosed), errClosed, "COMPLETED", "",
		},
		"it releases its claim itself": {settles(func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }, nil), nil, "INPROGRESS", ""},
		"it fails its claim itself":    {settles(func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, nil) }, errClosed), errClosed, "FAILED", ""},
		"another worker completes the key": {func(f *fixture) runFunc {
			return func(ctx context.Context, _ *idemddb.Claim) ([]byte, error) {
				return []byte("paid"), claim(f, ahead(f, f.db), "k").Complete(ctx, []byte("theirs"))
			}
		}, nil, "COMPLETED", "theirs"},
		"another worker completes the key, and it fails": {func(f *fixture) runFunc {
			return func(ctx context.Context, _ *idemddb.Claim) ([]byte, error) {
				must(f, claim(f, ahead(f, f.db), "k").Complete(ctx, []byte("theirs")))

				return nil, errClosed
			}
		}, nil, "COMPLETED", "theirs"},
		"another worker holds the key": {func(f *fixture) runFunc {
			return func(context.Context, *idemddb.Claim) ([]byte, error) {
				claim(f, ahead(f, f.db), "k")

				return []byte("paid"), nil
			}
		}, idemddb.ErrFenced, "INPROGRESS", ""},
		"its record is deleted": {func(f *fixture) runFunc {
			return func(context.Context, *idemddb.Claim) ([]byte, error) {
				erase(f, f.db, "k")

				return []byte("paid"), nil
			}
		}, nil, "", ""},
		"it ignores an error of Stage": {func(*fixture) runFunc {
			return func(ctx context.Context, _ *idemddb.Claim) ([]byte, error) {
				_ = idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "no entry", Body: "b"}}})

				return []byte("paid"), nil
			}
		}, idemddb.ErrNotStaged, "INPROGRESS", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				record, err := f.run(nil, c.work(f))
				f.db.Intercept(nil)

				if c.err == nil {
					must(f, err)
				} else {
					is(f, err, c.err)
				}

				if got := result(record); got != c.answer {
					f.Errorf("got the record %q, want %q", got, c.answer)
				}

				if got := textOf(f.record("k"), "st"); got != c.state {
					f.Errorf("the record is %s, want %s", got, c.state)
				}
			})
		})
	}
}

func result(r *idemddb.Record) string {
	if r == nil {
		return ""
	}

	return string(r.Result)
}

func TestRunAnswersACompletedKeyFromItsRecord(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		first, err := f.run(nil, pays)
		must(f, err)

		second, err := f.run(nil, func(context.Context, *idemddb.Claim) ([]byte, error) { f.Error("it ran again"); return nil, nil })
		must(f, err)

		if first != nil || result(second) != "paid" || second.Attempts != 1 {
			f.Errorf("got %v and %v, want no record and then that of the first run", first, second)
		}
	})
}

// The claim is that of the context, and what is staged with it is committed with the completion.
func TestRunCommitsWhatItsWorkStages(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		_, err := f.run(nil, func(ctx context.Context, c *idemddb.Claim) ([]byte, error) {
			if own, ok := idemddb.FromContext(ctx); !ok || own != c || c.Key() != "k" {
				f.Errorf("the context has another claim: %v", own)
			}

			return nil, idemddb.Stage(ctx, items(counted("a")))
		})
		must(f, err)
		happened(f, f.db, "a", 1)

		f.db.Intercept(nil)

		_, err = idemddb.Run(f.Context(), f.store, "another", nil, func(ctx context.Context, _ *idemddb.Claim) ([]byte, error) {
			return nil, errors.Join(errClosed, idemddb.Stage(ctx, items(counted("b"))))
		})
		is(f, err, errClosed)
		happened(f, f.db, "b", 0)
	})
}

// A caller that lost its claim is told by its context.
func TestRunCancelsTheWorkOfALostClaim(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(f *fixture) {
		_, err := f.run(nil, func(ctx context.Context, _ *idemddb.Claim) ([]byte, error) {
			claim(f, ahead(f, f.db), "k")
			<-ctx.Done()

			return nil, context.Cause(ctx)
		})
		is(f, err, idemddb.ErrFenced)
	})
}

// runWork and doWork call work in the two ways, and return the error alone.
func runWork(ctx context.Context, s *idemddb.Store, work func() ([]byte, error)) error {
	_, err := idemddb.Run(ctx, s, "k", nil, func(context.Context, *idemddb.Claim) ([]byte, error) { return work() })

	return err
}

func doWork(ctx context.Context, s *idemddb.Store, work func() ([]byte, error)) error {
	_, err := idemddb.Do(ctx, s, "k", nil, func(context.Context) ([]byte, error) { return work() })

	return err
}

// The caller ignores what it gets and returns the error, and nothing else.
func TestACallerThatOnlyReturnsTheErrorNeverRepeatsFinishedWork(t *testing.T) {
	t.Parallel()
	t.Run("Run", func(t *testing.T) { t.Parallel(); onlyReturnsTheError(t, runWork) })
	t.Run("Do", func(t *testing.T) { t.Parallel(); onlyReturnsTheError(t, doWork) })
}

func onlyReturnsTheError(t *testing.T, call func(context.Context, *idemddb.Store, func() ([]byte, error)) error) {
	t.Helper()

	for name, c := range map[string]struct {
		result     string
		fault      idemddbtest.Fault // of the completion
		fails      int               // so often does the work fail before
		deliveries int
	}{
		"a success":                      {"paid", idemddbtest.None, 0, 1},
		"a success after two failures":   {"paid", idemddbtest.None, 2, 3},
		"a result that is too large":     {strings.Repeat("x", 6_500_000), idemddbtest.None, 0, 1},
		"a completion that is denied":    {"paid", idemddbtest.AccessDenied, 0, 1},
		"a completion without an answer": {"paid", idemddbtest.LostReply, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				runs, effects := 0, 0
				handle := func(ctx context.Context) error {
					return call(ctx, f.store, func() ([]byte, error) {
						if runs++; runs <= c.fails {
							return nil, errClosed
						}

						effects++

						f.db.Intercept(always(c.fault))

						return []byte(c.result), nil
					})
				}

				if n := f.deliver(handle); n != c.deliveries || effects != 1 {
					f.Errorf("%d effects in %d deliveries, want 1 in %d", effects, n, c.deliveries)
				}

				f.db.Intercept(nil)

				if c.fault != idemddbtest.AccessDenied { // its record is there, so a duplicate is answered
					must(f, handle(f.Context()))
				}

				if effects != 1 {
					f.Errorf("%d effects after a duplicate", effects)
				}
			})
		})
	}
}

// Another delivery comes while the work runs: its caller gets an error, so that the message comes back.
func TestRunForAKeyInProgressOrFailedForGoodIsAnError(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		runs := func(context.Context, *idemddb.Claim) ([]byte, error) { f.Error("it ran"); return nil, nil }
		c := claim(f, f.store, "k")

		_, err := f.run(nil, runs)
		is(f, err, idemddb.ErrInProgress)
		must(f, c.Fail(f.Context(), errClosed))

		_, err = f.run(nil, runs)
		is(f, err, idemddb.ErrFailed)
	})
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
		_, err := f.run(&idemddb.ClaimOptions{Optimistic: true}, pays)
		if err == nil || !strings.Contains(err.Error(), "ClaimOptions.Optimistic") {
			f.Errorf("Optimistic: got %v", err)
		}

		_, err = idemddb.Run(f.Context(), f.store, "", nil, pays)
		is(f, err, idemddb.ErrBadKey)

		f.want()

		if text, _ := recovered(func() { _, _ = f.run(nil, nil) }).(string); text != "idemddb: fn: must not be nil" {
			f.Errorf("a nil fn: got %q", text)
		}

		if text, _ := recovered(func() { _, _ = idemddb.Run(f.Context(), nil, "k", nil, pays) }).(string); !strings.Contains(text, "nil Store") {
			f.Errorf("a nil Store: got %q", text)
		}
	})
}
