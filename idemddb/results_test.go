package idemddb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// completions are the ways to complete key k with a result. What each returns is the error of the completion.
var completions = map[string]func(context.Context, *idemddb.Store, []byte) error{
	"Complete": func(ctx context.Context, s *idemddb.Store, result []byte) error {
		return settleKey(ctx, s.Claim, func(c *idemddb.Claim) error { return c.Complete(ctx, result) })
	},
	"Complete in a batch": func(ctx context.Context, s *idemddb.Store, result []byte) error {
		return settleKey(ctx, s.Batch().Claim, func(c *idemddb.Claim) error { return c.Complete(ctx, result) })
	},
	"CompleteWith": func(ctx context.Context, s *idemddb.Store, result []byte) error {
		return settleKey(ctx, s.Claim, func(c *idemddb.Claim) error { return c.CompleteWith(ctx, result, items(counted("e"))) })
	},
	"Commit": func(ctx context.Context, s *idemddb.Store, result []byte) error {
		_, err := s.Commit(ctx, "k", nil, result, items(counted("e")))

		return err
	},
	"Commit in a batch": func(ctx context.Context, s *idemddb.Store, result []byte) error {
		b := s.Batch()
		wait := b.Commit(ctx, "k", nil, result, items(counted("e")))
		b.FlushCommits()

		_, err := wait()

		return err
	},
	"Do": func(ctx context.Context, s *idemddb.Store, result []byte) error { return doWith(ctx, s, nil, result) },
	"Do, optimistic": func(ctx context.Context, s *idemddb.Store, result []byte) error {
		return doWith(ctx, s, optimistic, result)
	},
}

// settleKey claims key k and settles the claim.
func settleKey(ctx context.Context, claimKey claimer, settle func(*idemddb.Claim) error) error {
	c, rec, err := claimKey(ctx, "k", nil)
	if c == nil {
		return fmt.Errorf("no claim: %v, %w", rec, err)
	}

	return settle(c)
}

func doWith(ctx context.Context, s *idemddb.Store, opts *idemddb.ClaimOptions, result []byte) error {
	_, err := idemddb.Do(ctx, s, "k", opts, func(ctx context.Context) (json.RawMessage, error) {
		return result, idemddb.Stage(ctx, items(counted("e")))
	})

	return err
}

// eachCompletion runs check in a bubble for each way to complete a key.
func eachCompletion(t *testing.T, opts func() *idemddb.Options, check func(f *fixture, complete func([]byte) error)) {
	t.Helper()

	for name, complete := range completions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			o := &idemddb.Options{}
			if opts != nil {
				o = opts()
			}

			bubble(t, o, func(f *fixture) {
				check(f, func(result []byte) error { return complete(f.Context(), f.store, result) })
			})
		})
	}
}

// eachOutside is eachCompletion with Options.Results of its own for each way.
func eachOutside(t *testing.T, opts idemddb.Options, check func(f *fixture, kept *shelf, complete func([]byte) error)) {
	t.Helper()

	eachCompletion(t, func() *idemddb.Options {
		o := opts
		o.Results = &shelf{}

		return &o
	}, func(f *fixture, complete func([]byte) error) {
		kept, _ := f.store.Options().Results.(*shelf)
		check(f, kept, complete)
	})
}

// The effect has happened, so the key is completed also without its result, whether Options.Results or the codec fails.
func TestAResultThatCannotBePutIsOmittedAndTheKeyIsCompleted(t *testing.T) {
	t.Parallel()

	failures := map[string]func(context.Context) error{
		"denied": func(context.Context) error { return errors.New("denied") },
		"panics": func(context.Context) error { panic("as the test says") },
		"hangs": func(ctx context.Context) error {
			<-ctx.Done()

			return ctx.Err()
		},
	}

	omits := func(t *testing.T, opts idemddb.Options, failsToPut func(context.Context) error, result []byte) {
		t.Helper()
		t.Parallel()
		eachOutside(t, opts, func(f *fixture, kept *shelf, complete func([]byte) error) {
			kept.OnPut = failsToPut
			begun := time.Now()

			if err := complete(result); err != nil || !strings.Contains(f.Name(), "/Do") {
				is(f, err, idemddb.ErrTooLarge)

				if !isDone(err) || opts.Codec != nil && strings.Contains(err.Error(), "too large") {
					f.Errorf("%v counts as not done, or says that a result which is not sealed is too large", err)
				}
			}

			if took := time.Since(begun); took > 6*time.Second {
				f.Errorf("it took %v", took)
			}

			if got := replay(f, f.store, "k"); !got.ResultOmitted || got.Result != nil {
				f.Errorf("replayed %+v, want an omitted result", got)
			}

			if _, ok := recordOf(f.db, "k")["res"].(*types.AttributeValueMemberNULL); !ok {
				f.Errorf("the record has %T, want the mark of an omitted result", recordOf(f.db, "k")["res"])
			}

			is(f, f.events.only(f, idemddb.KindCompleted).Err, idemddb.ErrTooLarge)

			if n := len(f.db.Items("records")); n == 2 {
				happened(f, f.db, "e", 1)
			}

			f.events.noMarker(f)
		})
	}

	for name, failure := range failures {
		seals := &vault{keys: []string{"a"}, onSeal: func(ctx context.Context, _ idemddb.Sealed) error { return failure(ctx) }}

		t.Run(name, func(t *testing.T) { omits(t, idemddb.Options{}, failure, large("a")) })
		t.Run("sealing: "+name, func(t *testing.T) { omits(t, idemddb.Options{Codec: seals}, nil, secret(1)) })
	}
}

// The lease must not run out because of a Put that hangs, and the completion must still get through. Sealing and putting together
// leave a quarter of the lease.
func TestAPutHasHalfOfTheLeaseAndAThirdOfTheTimeAtMost(t *testing.T) {
	t.Parallel()

	hangs := &vault{keys: []string{"a"}, onSeal: func(ctx context.Context, _ idemddb.Sealed) error {
		<-ctx.Done()

		return nil
	}}

	for name, c := range map[string]struct {
		lease, left, want time.Duration
		codec             idemddb.Codec
	}{
		"half of the lease":                             {4 * time.Second, time.Minute, 2 * time.Second, nil},
		"a third of the time until the deadline":        {time.Minute, 9 * time.Second, 3 * time.Second, nil},
		"5 s, where the lease and the deadline are far": {time.Minute, time.Minute, 5 * time.Second, nil},
		"half and half of the rest, with a codec":       {4 * time.Second, time.Minute, 3 * time.Second, hangs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			kept := &shelf{OnPut: func(ctx context.Context) error {
				<-ctx.Done()

				return ctx.Err()
			}}

			bubble(t, &idemddb.Options{Results: kept, Lease: c.lease, Codec: c.codec}, func(f *fixture) {
				claimed := claim(f, f.store, "k")

				ctx := within(f, c.left)
				f.takes(c.want, func() { is(f, claimed.Complete(ctx, large("a")), idemddb.ErrTooLarge) })
			})
		})
	}
}

// The request of a server may have no end of its own.
func TestAReadThatHangsEndsWithoutADeadline(t *testing.T) {
	t.Parallel()

	hangs := &vault{keys: []string{"a"}, onOpen: func(ctx context.Context, _ idemddb.Sealed) error {
		<-ctx.Done()

		return ctx.Err()
	}}

	for name, opts := range map[string]*idemddb.Options{
		"Options.Results": {Results: hangingGet{&shelf{}}}, "Options.Codec": {Codec: hangs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, opts, func(f *fixture) {
				must(f, claim(f, f.store, "k").Complete(f.Context(), large("a")))

				f.takes(30*time.Second, func() {
					_, err := idemddb.Do(f.Context(), f.store, "k", nil, anyLarge("b"))
					is(f, err, idemddb.ErrUnread)
				})
			})
		})
	}
}

// hangingGet never has an answer.
type hangingGet struct{ *shelf }

func (hangingGet) Get(ctx context.Context, _ string) ([]byte, error) {
	<-ctx.Done()

	return nil, ctx.Err()
}

func TestAResultThatIsGoneCountsAsOmitted(t *testing.T) {
	t.Parallel()
	eachOutside(t, idemddb.Options{}, func(f *fixture, kept *shelf, complete func([]byte) error) {
		must(f, complete(large("a")))

		clear(kept.Kept)

		if got := replay(f, f.store, "k"); !got.ResultOmitted || got.Result != nil {
			f.Errorf("replayed %+v, want an omitted result", got)
		}

		got, err := idemddb.Do(f.Context(), f.store, "k", nil, anyLarge("b"))
		if err != nil || got != "" {
			f.Errorf("Do: got %d bytes, %v", len(got), err)
		}

		_, err = idemddb.Do(f.Context(), f.store, "k", &idemddb.ClaimOptions{NeedResult: true}, anyLarge("b"))
		is(f, err, idemddb.ErrResultOmitted)
	})
}

var errDenied = errors.New("denied")

// Every way to the result says so, none runs the work again, and the key stays completed: as soon as the result is read, or
// opened by the codec, it is the answer.
func TestAResultThatCannotBeReadIsAnErrorUntilItCan(t *testing.T) {
	t.Parallel()

	denied, panics := func() error { return errDenied }, func() error { panic("as the test says") }

	for name, c := range map[string]struct {
		failure func() error
		ofCodec bool
	}{
		"denied": {denied, false}, "panics": {panics, false}, "the codec refuses": {denied, true}, "the codec panics": {panics, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachSealed(t, idemddb.Options{}, func(f *fixture, codec *vault, kept *shelf, complete func([]byte) error) {
				result, want, says, kind := large("a"), idemddb.ErrUnread, "Options.Results", idemddb.KindReplayed
				if c.ofCodec {
					result, want, says, kind = secret(1), idemddb.ErrCorrupt, "Options.Codec", idemddb.KindCorrupt
				}

				must(f, complete(result))

				kept.OnGet = c.failure
				codec.onOpen = func(context.Context, idemddb.Sealed) error { return c.failure() }
				before, events := recordOf(f.db, "k"), f.events.count(kind)

				for verb, ask := range map[string]func() (*idemddb.Record, error){
					"Claim": func() (*idemddb.Record, error) { _, rec, err := f.store.Claim(f.Context(), "k", nil); return rec, err },
					"Commit": func() (*idemddb.Record, error) {
						return f.store.Commit(f.Context(), "k", nil, nil, items(counted("no")))
					},
					"Reject": func() (*idemddb.Record, error) { return f.store.Reject(f.Context(), "k", nil, errors.New("down")) },
					"Do":     func() (*idemddb.Record, error) { _, err := f.do(nil, anyLarge("b")); return nil, err },
				} {
					rec, err := ask()
					if is(f, err, want); rec != nil || !strings.Contains(err.Error(), says) {
						f.Errorf("%s: got %v, %v", verb, rec, err)
					}

					if !c.ofCodec && errors.Is(err, errDenied) != (name == "denied") {
						f.Errorf("%s: got %v", verb, err)
					}

					f.events.noMarker(f, err)
				}

				if n := f.events.count(kind) - events; n != 3 {
					f.Errorf("%d events, want that of Claim, Commit and Do", n)
				}

				if diff := cmp.Diff(before, recordOf(f.db, "k"), ignoreTypes); diff != "" {
					f.Errorf("the record changed:\n%s", diff)
				}

				happened(f, f.db, "no", 0)

				kept.OnGet, codec.onOpen = nil, nil

				if got := replay(f, f.store, "k").Result; !bytes.Equal(got, result) {
					f.Errorf("replayed %d bytes afterwards", len(got))
				}
			})
		})
	}
}

func TestAResultThatWasChangedIsCorrupt(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func([]byte) []byte{
		"other bytes":  func(b []byte) []byte { b[5] = 'X'; return b },
		"fewer bytes":  func(b []byte) []byte { return b[1:] },
		"no bytes":     func([]byte) []byte { return nil },
		"another size": func(b []byte) []byte { return append(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			kept := &shelf{}

			bubble(t, &idemddb.Options{Results: kept}, func(f *fixture) {
				must(f, claim(f, f.store, "k").Complete(f.Context(), large("a")))

				for _, name := range kept.Names() {
					kept.Kept[name] = change(kept.Kept[name])
				}

				_, rec, err := f.store.Claim(f.Context(), "k", nil)
				is(f, err, idemddb.ErrCorrupt)

				if rec != nil {
					f.Errorf("got %+v beside the error", rec)
				}
			})
		})
	}
}

func TestAProcessWithoutResultsSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Results: &shelf{}}, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), large("a")))

		_, _, err := storeOn(f, f.db, nil).Claim(f.Context(), "k", nil)
		if err == nil || !strings.Contains(err.Error(), "Options.Results: must be set") {
			f.Errorf("got %v", err)
		}
	})
}

// A fenced worker completes after its successor, and before it. The winner's result is replayed either way.
func TestAFencedWorkerDoesNotOverwriteTheResultOfItsSuccessor(t *testing.T) {
	t.Parallel()

	for name, loserFirst := range map[string]bool{"after": false, "before": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			kept := &shelf{}

			bubble(t, &idemddb.Options{Results: kept}, func(f *fixture) {
				loser := claim(f, f.store, "k")
				<-time.After(time.Minute)

				winner := claim(f, f.store, "k")
				if loserFirst {
					is(f, loser.Complete(f.Context(), large("z")), idemddb.ErrFenced)
				}

				must(f, winner.Complete(f.Context(), large("w")))

				if !loserFirst {
					err := loser.Complete(f.Context(), large("z"))

					fenced, ok := errors.AsType[*idemddb.FencedError](err)
					if !ok || fenced.Record == nil || !bytes.Equal(fenced.Record.Result, large("w")) {
						f.Errorf("got %v, want the winner's record", err)
					}
				}

				if got := replay(f, f.store, "k").Result; !bytes.Equal(got, large("w")) {
					f.Errorf("replayed %q…, want the winner's", got[:5])
				}

				if n := len(kept.Names()); n != 2 {
					f.Errorf("%d results, want one of each", n)
				}
			})
		})
	}
}

func TestDoOfAZombieReturnsTheResultOfItsSuccessor(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ failure, own, want error }{
		"readable":                        {nil, nil, nil},
		"not readable":                    {errDenied, nil, errDenied},
		"not readable, and its own fails": {errDenied, errClosed, errClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			kept := &shelf{}

			bubble(t, &idemddb.Options{Results: kept}, func(f *fixture) {
				got, err := idemddb.Do(f.Context(), f.store, "k", nil, func(context.Context) (string, error) {
					successor := claim(f, storeOn(f, f.db, &idemddb.Options{Results: kept, Now: anHourAhead}), "k")
					must(f, successor.Complete(f.Context(), large("w")))

					if c.failure != nil {
						kept.OnGet = func() error { return c.failure }
					}

					return "mine", c.own
				})
				if !errors.Is(err, c.want) || strings.HasPrefix(got, "www") != (c.want == nil) {
					f.Errorf("got %.5q…, %v, want %v", got, err, c.want)
				}
			})
		})
	}
}

// The second completion must not touch what the first has put: a large result has a name of its own, by its digest. The record
// that refuses it says whether both results are the same, as after a lost answer.
func TestCompletingAgainWithAnotherResultIsFenced(t *testing.T) {
	t.Parallel()

	results := map[string][]byte{
		"none": nil, "in the record": []byte("r"), "outside": large("a"), "outside, too": large("b"), "too large": make([]byte, 6_500_000),
	}

	for _, kept := range []idemddb.Results{nil, &shelf{}} {
		for first, result := range results {
			for second, other := range results {
				bubble(t, &idemddb.Options{Results: kept}, func(f *fixture) {
					c := claim(f, f.store, "k")
					f.db.Inject(idemddbtest.LostReply)

					if err := c.Complete(f.Context(), result); !isDone(err) {
						f.Error(err)
					}

					err := c.Complete(f.Context(), other)
					isSettled := errors.Is(err, idemddb.ErrFenced) && strings.HasSuffix(err.Error(), ", it was settled before")
					if isSettled != (first != second) || errors.Is(err, idemddb.ErrFenced) != isSettled {
						f.Errorf("first %s, then %s: got %v", first, second, err)
					}

					if got := replay(f, f.store, "k"); !got.ResultOmitted && !bytes.Equal(got.Result, result) {
						f.Errorf("first %s, then %s: replayed %.5q…", first, second, got.Result)
					}
				})
			}
		}
	}
}

func TestACachedRecordReadsItsLargeResultEachTime(t *testing.T) {
	t.Parallel()
	eachOutside(t, idemddb.Options{Cache: 3}, func(f *fixture, kept *shelf, complete func([]byte) error) {
		must(f, complete(large("a")))
		replay(f, f.store, "k") // a commit is cached by its first replay
		f.requests()

		gets := kept.Gets

		for range 3 {
			rec := replay(f, f.store, "k")
			if !bytes.Equal(rec.Result, large("a")) {
				f.Errorf("replayed %.5q…", rec.Result)
			}

			clear(rec.Result) // the caller has a copy
		}

		f.want()

		if kept.Gets-gets != 3 {
			f.Errorf("%d reads, want 3", kept.Gets-gets)
		}

		if got, err := idemddb.Do(f.Context(), f.store, "k", optimistic, anyLarge("b")); !strings.HasPrefix(got, "aaa") || err != nil {
			f.Errorf("got %.5q…, %v", got, err)
		}
	})
}

func TestSkipResultReadsNone(t *testing.T) {
	t.Parallel()
	eachOutside(t, idemddb.Options{}, func(f *fixture, kept *shelf, complete func([]byte) error) {
		must(f, complete(large("a")))

		kept.OnGet = func() error { return errDenied }
		skip := &idemddb.ClaimOptions{SkipResult: true}

		_, rec, err := f.store.Claim(f.Context(), "k", skip)
		if rec == nil || rec.Result != nil || kept.Gets != 0 {
			f.Errorf("got %v, %v after %d reads", rec, err, kept.Gets)
		}

		_, err = idemddb.Do(f.Context(), f.store, "k", skip, anyLarge("b"))
		is(f, err, errDenied) // Do needs it
	})
}
