package idemddb_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// A claim that trusted now + Lease instead would go on for 10 s after another worker may have the key.
func TestAClaimThatIsRecognisedHasTheLeaseOfItsRecord(t *testing.T) {
	t.Parallel()
	eachWay(t, &idemddb.Options{ClaimPatience: time.Minute}, func(f *fixture, claimKey claimer) {
		f.existing("k")
		f.db.Intercept(faultUntil(10*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError))

		c := granted(f)(claimKey(f.Context(), "k", nil))
		if stored := f.lease("k"); !c.Deadline().Equal(stored) || time.Until(stored) > 20*time.Second {
			f.Errorf("deadline %v, stored %v, now %v", c.Deadline(), stored, time.Now())
		}
	})
}

// record returns the item of a key, nil if there is none.
func (f *fixture) record(key string) map[string]types.AttributeValue { return recordOf(f.db, key) }

// lease returns the end of the stored lease.
func (f *fixture) lease(key string) time.Time {
	return time.UnixMilli(numberOf(f.T, f.record(key), "lease"))
}

// edit changes attributes of the record of a key; nil removes one.
func (f *fixture) edit(key string, changes map[string]types.AttributeValue) {
	f.Helper()

	it := f.record(key)
	maps.Copy(it, changes)
	maps.DeleteFunc(it, func(_ string, value types.AttributeValue) bool { return value == nil })
	put(f, f.db, it)
}

// The first request is applied, and what changes the record comes before the second one.
func TestARecordWithTheOwnTokenThatWasEndedIsNotAWonClaim(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		change map[string]types.AttributeValue
		is     func(f *fixture, a answer, before int)
	}{
		"completed": {map[string]types.AttributeValue{"st": text("COMPLETED")}, func(f *fixture, a answer, _ int) {
			if a.record == nil {
				f.Errorf("got %+v, want the record", a)
			}
		}},
		"failed": {map[string]types.AttributeValue{"st": text("FAILED"), "err": text("given up")}, func(f *fixture, a answer, _ int) {
			is(f, a.err, idemddb.ErrFailed)
		}},
		"released": {map[string]types.AttributeValue{"lease": number(0)}, func(f *fixture, a answer, before int) {
			if a.claim == nil || a.claim.Attempt() != before+2 || a.claim.Takeover() {
				f.Errorf("got %+v, want a second attempt", a)
			}
		}},
		"released unused": {map[string]types.AttributeValue{"lease": number(-1), "att": number(0)}, func(f *fixture, a answer, _ int) {
			if a.claim == nil || a.claim.Attempt() != 1 || !a.claim.Takeover() {
				f.Errorf("got %+v, want the first attempt, a takeover", a)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, nil, func(f *fixture, claimKey claimer) {
				before, requests := f.existing("k"), 0

				f.db.Intercept(exceptSecond(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
					switch requests++; requests {
					case 1:
						return idemddbtest.ServerErrorApplied
					case 2:
						f.edit("k", c.change)
					}

					return idemddbtest.None
				}))

				var a answer

				ctx := lambdacontext.NewContext(f.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
				a.claim, a.record, a.err = claimKey(ctx, "k", nil)
				c.is(f, a, before)

				if a.claim != nil {
					if own, _ := f.record("k")["own"].(*types.AttributeValueMemberS); own == nil || !strings.HasPrefix(own.Value, "r-1") {
						f.Errorf("the new owner token is %v, want it to name the request of the call", own)
					}

					must(f, a.claim.Complete(f.Context(), nil))
				}
			})
		})
	}
}

func TestATakeoverThatWasReturnedIsATakeoverAlsoIfItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	eachWay(t, nil, func(f *fixture, claimKey claimer) {
		claim(f, f.store, "k") // its worker dies
		<-time.After(time.Minute)
		must(f, claim(f, f.store, "k").ReleaseUnused(f.Context()))
		f.db.Inject(idemddbtest.ServerErrorApplied)

		c := granted(f)(claimKey(f.Context(), "k", nil))

		if !c.Takeover() || c.Attempt() != 2 {
			f.Errorf("takeover %t, attempt %d, want a takeover and attempt 2", c.Takeover(), c.Attempt())
		}
	})
}

// givenBack is how a holder gives its key back just before another claimant ends it for good.
var givenBack = map[string]struct {
	opts    idemddb.Options
	release func(context.Context, *idemddb.Claim) error
	attempt int
}{
	"MaxAttempts, released unused": {
		idemddb.Options{MaxAttempts: 1}, func(ctx context.Context, c *idemddb.Claim) error { return c.ReleaseUnused(ctx) }, 1,
	},
	"NoTakeover, released": {
		idemddb.Options{NoTakeover: true}, func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }, 2,
	},
	"NoTakeover, released unused": {
		idemddb.Options{NoTakeover: true}, func(ctx context.Context, c *idemddb.Claim) error { return c.ReleaseUnused(ctx) }, 1,
	},
}

func TestAKeyThatIsGivenBackBeforeItIsGivenUpIsNotEnded(t *testing.T) {
	t.Parallel()

	for name, way := range givenBack {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &way.opts, func(f *fixture) {
				c := claim(f, f.store, "k")
				<-time.After(time.Minute)

				requests := 0

				f.db.Intercept(exceptSecond(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
					if requests++; requests == 2 { // the second request ends the key
						must(f, way.release(context.WithValue(f.Context(), secondWorker{}, 1), c))
					}

					return idemddbtest.None
				}))

				next := claim(f, f.store, "k")
				if next.Attempt() != way.attempt {
					f.Errorf("attempt %d, want %d", next.Attempt(), way.attempt)
				}

				must(f, next.Complete(f.Context(), nil))
			})
		})
	}
}

// The argument for condClaim says what such a late request does.
func TestALateTwinOfAClaimAfterAnotherWorkersReleaseDoesWhatADeadWorkersClaimDoes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		opts   idemddb.Options
		failed bool
	}{
		"the defaults": {idemddb.Options{}, false},
		"MaxAttempts":  {idemddb.Options{MaxAttempts: 3}, true},
		"NoTakeover":   {idemddb.Options{NoTakeover: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var first *dynamodb.UpdateItemInput

			bubbleAround(t, &c.opts, around.Before(func(in *dynamodb.UpdateItemInput) error {
				first = cmp.Or(first, in)

				return nil
			}), func(f *fixture) {
				for range 2 { // worker A has the key first, then worker B
					must(f, claim(f, f.store, "k").Release(f.Context(), nil))
				}

				if _, err := f.db.UpdateItem(f.Context(), first); err != nil { // the request of A's claim arrives once more
					f.Fatal(err)
				}

				_, _, err := f.store.Claim(f.Context(), "k", nil)
				is(f, err, idemddb.ErrInProgress)
				<-time.After(time.Minute)

				next, _, err := f.store.Claim(f.Context(), "k", nil)
				if c.failed != errors.Is(err, idemddb.ErrFailed) || !c.failed && (next == nil || !next.Takeover() || next.Attempt() != 4) {
					f.Errorf("got claim %v, error %v", next, err)
				}
			})
		})
	}
}

// A message would be dead-lettered without proof.
func TestAGiveUpWithAnUnknownOutcomeIsNoFailure(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]idemddb.Options{"MaxAttempts": {MaxAttempts: 1}, "NoTakeover": {NoTakeover: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &opts, func(f *fixture) {
				claim(f, f.store, "k")
				<-time.After(time.Minute)
				f.db.Inject(idemddbtest.None) // the claim is refused
				f.db.Intercept(always(idemddbtest.LostRequest))

				if _, _, err := f.store.Claim(f.Context(), "k", nil); err == nil || errors.Is(err, idemddb.ErrFailed) {
					f.Errorf("got %v, want an error that is not %v", err, idemddb.ErrFailed)
				}

				f.events.want(f, idemddb.KindClaimed, idemddb.KindUnanswered)

				if st := textOf(f.record("k"), "st"); st != "INPROGRESS" {
					f.Errorf("the record is %s", st)
				}
			})
		})
	}
}

func TestAClaimThatIsGivenUpDuringItsCallIsFailedAndNotFenced(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: time.Second, NoTakeover: true}, func(f *fixture) {
		f.db.Intercept(exceptSecond(faultUntil(3*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError)))

		second := make(chan error)

		go func() {
			<-time.After(2100 * time.Millisecond)

			_, _, err := f.store.Claim(context.WithValue(f.Context(), secondWorker{}, 1), "k", nil)
			second <- err
		}()

		begun := make(chan error, 1)

		go func() {
			_, _, err := f.store.Claim(f.Context(), "k", nil)
			begun <- err
		}()

		is(f, <-second, idemddb.ErrFailed)

		err := <-begun
		is(f, err, idemddb.ErrFailed)

		if failed, ok := errors.AsType[*idemddb.FailedError](err); !ok || failed.Attempts != 1 || errors.Is(err, idemddb.ErrFenced) {
			f.Errorf("got %v, want the failure that the record says", err)
		}

		f.events.want(f, idemddb.KindRefused, idemddb.KindRefused)
	})
}

// A foreign writer has left out the attribute that refuses the claim, or something between drops the record of the refusal.
func TestAClaimWhoseRefusalHasNoReasonIsMadeFiveTimes(t *testing.T) {
	t.Parallel()

	const end = planner.FirstPause / 2

	for name, c := range map[string]struct {
		hidden   bool // the refusal does not show the record
		context  func(context.Context) (context.Context, context.CancelFunc)
		requests int
		takes    time.Duration
		want     error
	}{
		"the attempts are missing": {false, context.WithCancel, 5, (protocol.MaxTurns - 1) * planner.FirstPause, idemddb.ErrChanged},
		"the record is not shown":  {true, context.WithCancel, 5, (protocol.MaxTurns - 1) * planner.FirstPause, idemddb.ErrChanged},
		"the call is cancelled": {false, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(end, cancel)

			return ctx, cancel
		}, 1, end, context.Canceled},
		"no time is left": {false, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, end)
		}, 1, 0, idemddb.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{MaxAttempts: 3}, func(f *fixture) {
				must(f, claim(f, f.store, "k").Release(f.Context(), nil))

				f.edit("k", map[string]types.AttributeValue{"att": nil})
				f.requests()

				if c.hidden {
					f.db.Intercept(always(idemddbtest.ConditionWithoutItem))
				}

				ctx, cancel := c.context(f.Context())
				defer cancel()

				f.takes(c.takes, func() {
					got, rec, err := f.store.Claim(ctx, "k", nil)
					is(f, err, idemddb.ErrChanged)
					is(f, err, c.want)

					if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); got != nil || rec != nil || ok != c.hidden {
						f.Errorf("got claim %v, record %v, error %v", got, rec, err)
					}
				})

				if n := len(f.requests()); n != c.requests {
					f.Errorf("%d requests, want %d", n, c.requests)
				}
			})
		})
	}
}
