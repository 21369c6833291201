package idemddb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The work completes its claim itself, gets no answer in its own time, and returns that error. Its settlement sends the
// completion again, because the work is done. After a transaction, it says what is true: the key is released, so that nothing
// that was staged has happened and the key may be claimed at once; or it was completed after all.
func TestWorkWhoseOwnCompletionHasNoAnswer(t *testing.T) {
	t.Parallel()

	complete := func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("r")) }
	completeWith := func(ctx context.Context, c *idemddb.Claim) error {
		return c.CompleteWith(ctx, nil, items(counted("a")))
	}

	for name, tt := range map[string]struct {
		complete func(context.Context, *idemddb.Claim) error
		fault    idemddbtest.Fault
		want     idemddb.Kind
	}{
		"Complete, nothing written":              {complete, idemddbtest.LostRequest, idemddb.KindCompleted},
		"Complete, written":                      {complete, idemddbtest.LostReply, idemddb.KindCompleted},
		"Complete, written late":                 {complete, idemddbtest.LateRequest, idemddb.KindCompleted},
		"CompleteWith, nothing written":          {completeWith, idemddbtest.LostRequest, idemddb.KindReleased},
		"CompleteWith, written":                  {completeWith, idemddbtest.LostReply, idemddb.KindCompleted},
		"CompleteWith, written after its answer": {completeWith, idemddbtest.LateRequest, idemddb.KindReleased},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				work := beginWork(f, f.store, "k", nil)
				ctx := work.Context(f.Context())

				f.db.Intercept(always(tt.fault))

				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()

				err := tt.complete(short, work.Claim())
				if err == nil {
					f.Fatal("the completion has an answer")
				}

				f.db.Intercept(nil)

				e := work.Settle(f.Context(), nil, err)
				isUncommitted := errors.Is(err, idemddb.ErrUncommitted)
				if e.Kind != tt.want || errors.Is(e.Err, err) != isUncommitted || e.Unknown || e.Done == isUncommitted {
					f.Errorf("got %+v, want %s", e, tt.want)
				}

				f.db.Deliver()

				_, rec, err := f.store.Claim(f.Context(), "k", nil)
				if (rec != nil) != (tt.want == idemddb.KindCompleted) || err != nil {
					f.Errorf("the next claim gets %v, %v", rec, err)
				}

				if tt.want == idemddb.KindReleased {
					happened(f, f.db, "a", 0)
				}
			})
		})
	}
}

// The failure that the work wrote by itself was applied, though its answer was lost. Giving up is refused by it, and the key is
// not completed.
func TestWorkWhoseOwnFailureHasNoAnswerHasNotCompletedItsKey(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		work := beginWork(f, f.store, "k", nil)

		f.db.Intercept(always(idemddbtest.LostReply))

		if work.Claim().Fail(f.Context(), errClosed) == nil {
			f.Error("the failure has an answer")
		}

		f.db.Intercept(nil)

		if e := work.Settle(f.Context(), nil, errClosed); e.Kind != idemddb.KindFenced || e.BySelf || e.Done {
			f.Errorf("got %+v, want a fenced release", e)
		}
	})
}

// The first try of a release is applied, and its answer is lost. Another worker claims the key before the second try.
func TestAReleaseThatWasAppliedIsNotFencedByTheNextClaim(t *testing.T) {
	t.Parallel()

	for name, release := range map[string]func(context.Context, *idemddb.Claim) error{
		"Release":       func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, errors.New("x")) },
		"ReleaseUnused": func(ctx context.Context, c *idemddb.Claim) error { return c.ReleaseUnused(ctx) },
	} {
		for _, takeover := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bubble(t, &idemddb.Options{Lease: time.Second}, func(f *fixture) {
					if takeover {
						claim(f, f.store, "k")
						time.Sleep(3 * time.Second) //nolint:forbidigo // this moves the bubble's clock
					}

					c, tries := claim(f, f.store, "k"), 0

					f.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
						if tries++; tries == 1 {
							return idemddbtest.LostReply
						}

						f.db.Intercept(nil)
						claim(f, storeOn(f, f.db, nil), "k")

						return idemddbtest.None
					})
					must(f, release(f.Context(), c))

					if n := f.events.count(idemddb.KindFenced); n != 0 || tries != 2 {
						f.Errorf("%d events of a fenced write, %d tries", n, tries)
					}
				})
			})
		}
	}
}

// An operator has released the claim, and another worker has claimed the key since. The record looks as after the claim's own
// release, but no try of that is without an answer.
func TestAReleaseAfterThatOfAnOperatorAndTheNextClaimIsFenced(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		f.edit("k", map[string]types.AttributeValue{"lease": &types.AttributeValueMemberN{Value: "0"}})
		claim(f, storeOn(f, f.db, nil), "k")
		is(f, c.Release(f.Context(), nil), idemddb.ErrFenced)
	})
}

// A release that another worker's takeover refuses is fenced, also if a try of it had no answer.
func TestAReleaseAfterATakeoverIsFenced(t *testing.T) {
	t.Parallel()

	for _, isReleased := range []bool{false, true} { // the claim of the other worker; then the record is that of a third one
		bubble(t, &idemddb.Options{Lease: time.Second}, func(f *fixture) {
			c, tries := claim(f, f.store, "k"), 0

			f.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
				if tries++; tries == 1 {
					return idemddbtest.LostRequest
				}

				f.db.Intercept(nil)

				if other := claim(f, ahead(f, f.db), "k"); isReleased { // by its clock the lease is over
					must(f, other.Release(f.Context(), nil))
					claim(f, ahead(f, f.db), "k")
				}

				return idemddbtest.None
			})
			is(f, c.Release(f.Context(), errors.New("x")), idemddb.ErrFenced)
		})
	}
}

// Work that ignores the error of CompleteWith has not written what it had to. It may decide anew.
func TestWorkThatIgnoresTheErrorOfCompleteWithIsNotDone(t *testing.T) {
	t.Parallel()

	for name, e := range map[string]struct {
		effects idemddb.Effects
		want    error
	}{
		"a refused effect":        {items(onlyOnce("b"), counted("c")), idemddb.ErrEffectRefused},
		"effects that nobody can": {items(counted("c"), counted("c")), idemddb.ErrBadEffects},
		"an effect too large":     {tooBig(), idemddb.ErrBadEffects},
	} {
		for how, c := range map[string]struct {
			anew func(context.Context, *idemddb.Claim) error
			want error
			d    int64 // how often the effect d happens
		}{
			"ignored": {func(context.Context, *idemddb.Claim) error { return nil }, idemddb.ErrNotStaged, 0},
			"staged":  {func(ctx context.Context, _ *idemddb.Claim) error { return idemddb.Stage(ctx, items(counted("d"))) }, nil, 1},
			"staged nothing": {func(ctx context.Context, _ *idemddb.Claim) error {
				return idemddb.Stage(ctx, idemddb.Effects{})
			}, nil, 0},
			"unstaged": {func(ctx context.Context, _ *idemddb.Claim) error {
				idemddb.Unstage(ctx)

				return nil
			}, nil, 0},
			"completed with others": {func(ctx context.Context, c *idemddb.Claim) error {
				return c.CompleteWith(ctx, nil, items(counted("d")))
			}, nil, 1},
			"completed": {func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) }, nil, 0},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(f *fixture) {
					_, err := f.store.Commit(f.Context(), "other", nil, nil, items(counted("b")))
					must(f, err)

					_, err = idemddb.Do(f.Context(), f.store, "k", nil, func(ctx context.Context) (int, error) {
						claim, _ := idemddb.FromContext(ctx)
						is(f, claim.CompleteWith(ctx, nil, e.effects), e.want)

						return 1, c.anew(ctx, claim)
					})
					if !errors.Is(err, c.want) {
						f.Errorf("got %v, want %v", err, c.want)
					}

					happened(f, f.db, "c", 0)
					happened(f, f.db, "d", c.d)
				})
			})
		}
	}
}

// The work goes on after the answer, and returns no result of its own.
func TestTheResultOfAnOwnCompletionWithoutAnAnswerIsKept(t *testing.T) {
	t.Parallel()

	result := []byte("result")

	for name, test := range map[string]struct {
		complete func(context.Context, *idemddb.Claim) error
		want     error
	}{
		"without effects": {func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, result) }, idemddb.ErrUnrecorded},
		"with effects": {func(ctx context.Context, c *idemddb.Claim) error {
			return c.CompleteWith(ctx, result, items(counted("d")))
		}, idemddb.ErrUncommitted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			bubble(t, nil, func(f *fixture) {
				_, err := idemddb.Run(f.Context(), f.store, "key", nil, func(ctx context.Context, c *idemddb.Claim) ([]byte, error) {
					f.db.Intercept(always(idemddbtest.LostRequest))
					defer f.db.Intercept(nil)

					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()

					is(f, test.complete(short, c), test.want)

					return nil, nil
				})
				must(f, err)

				if rec := replay(f, f.store, "key"); string(rec.Result) != "result" {
					f.Errorf("the result is %q, omitted %v", rec.Result, rec.ResultOmitted)
				}
			})
		})
	}
}
