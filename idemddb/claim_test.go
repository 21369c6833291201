package idemddb_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestAMethodOfANilClaimPanicsWithTheReason(t *testing.T) {
	t.Parallel()

	var c *idemddb.Claim

	for name, call := range map[string]func(){
		"Key":           func() { c.Key() },
		"Fence":         func() { c.Fence() },
		"Attempt":       func() { c.Attempt() },
		"Takeover":      func() { c.Takeover() },
		"Deadline":      func() { c.Deadline() },
		"Keep":          func() { c.Keep(t.Context()) },
		"Complete":      func() { _ = c.Complete(t.Context(), nil) },
		"Release":       func() { _ = c.Release(t.Context(), nil) },
		"ReleaseUnused": func() { _ = c.ReleaseUnused(t.Context()) },
		"Fail":          func() { _ = c.Fail(t.Context(), nil) },
		"Extend":        func() { _ = c.Extend(t.Context()) },
	} {
		text, _ := recovered(call).(string)
		if !strings.HasPrefix(text, "idemddb: nil Claim: ") {
			t.Errorf("%s: panicked with %q", name, text)
		}
	}
}

// eachWay runs check in a bubble for each way to claim a key.
func eachWay(t *testing.T, opts *idemddb.Options, check func(*fixture, claimer)) {
	t.Helper()

	for name, way := range map[string]func(*fixture) claimer{
		"Store.Claim":              func(f *fixture) claimer { return f.store.Claim },
		"Batch.Claim, alone":       func(f *fixture) claimer { return f.batch.Claim },
		"Batch.Claim, with others": func(f *fixture) claimer { return f.claimWithOthers(false) },
		redeliveredWay:             func(f *fixture) claimer { return f.claimWithOthers(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, opts, func(f *fixture) { check(f, way(f)) })
		})
	}
}

const redeliveredWay = "Batch.Claim, redelivered"

// existing returns how many attempts a key has. If it is claimed as redelivered, the key is claimed and released first, so that the
// first statement for it is applied.
func (f *fixture) existing(key string) int {
	if !strings.HasSuffix(f.Name(), strings.ReplaceAll(redeliveredWay, " ", "_")) {
		return 0
	}

	must(f, claim(f, f.store, key).Release(f.Context(), nil))

	return 1
}

type claimer func(context.Context, string, *idemddb.ClaimOptions) (*idemddb.Claim, *idemddb.Record, error)

// claimWithOthers returns a claimer whose requests are shared with a claim of another key.
func (f *fixture) claimWithOthers(redelivered bool) claimer {
	return func(ctx context.Context, key string, opts *idemddb.ClaimOptions) (*idemddb.Claim, *idemddb.Record, error) {
		o := idemddb.ClaimOptions{}
		if opts != nil {
			o = *opts
		}

		o.Redelivered = redelivered
		b := f.store.Batch()
		b.Expect(2)

		other := make(chan struct{})

		go func() {
			defer close(other)

			_, _, _ = b.Claim(ctx, "another key", nil)
		}()

		defer func() { <-other }()

		return b.Claim(ctx, key, &o)
	}
}

func TestAWaitingClaimGetsTheRecordOfAnOwnerThatCompletesInTime(t *testing.T) {
	t.Parallel()
	eachWay(t, nil, func(f *fixture, claimKey claimer) {
		c := claim(f, f.store, "k")

		go func() {
			<-time.After(time.Second)
			must(f, c.Complete(f.Context(), []byte("done")))
		}()

		f.requests()

		_, rec, err := claimKey(f.Context(), "k", &idemddb.ClaimOptions{Wait: 2 * time.Second})
		if err != nil || string(rec.Result) != "done" {
			f.Errorf("got %v, %v, want the record", rec, err)
		}

		if n := len(f.requests()); n > 20 {
			f.Errorf("%d requests for a second of waiting", n)
		}
	})
}

func TestAClaimWaitsNoLongerThanItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t, nil)
		claim(t, s, "k")

		begun := time.Now()

		_, _, err := s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Wait: time.Second})
		if !errors.Is(err, idemddb.ErrInProgress) || time.Since(begun) != time.Second {
			t.Errorf("got %v after %v, want in progress after 1s", err, time.Since(begun))
		}
	})
}

func TestAWaitingClaimEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStore(t, nil)
		claim(t, s, "k")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		_, _, err := s.Claim(ctx, "k", &idemddb.ClaimOptions{Wait: time.Minute})
		is(t, err, idemddb.ErrInProgress)
		is(t, err, context.DeadlineExceeded)
	})
}

func TestAWaitingClaimTakesOverWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	eachWay(t, &idemddb.Options{Lease: 2 * time.Second}, func(f *fixture, claimKey claimer) {
		claim(f, f.store, "k")

		c, rec, err := claimKey(f.Context(), "k", &idemddb.ClaimOptions{Wait: time.Minute})
		if c == nil || !c.Takeover() {
			f.Errorf("got record %v, error %v, want a takeover", rec, err)
		}
	})
}

// secondWorker marks the context of a worker whose requests always succeed.
type secondWorker struct{}

// exceptSecond returns an interceptor for all requests but those of the second worker.
func exceptSecond(
	fault func(context.Context, idemddbtest.Request) idemddbtest.Fault,
) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if ctx.Value(secondWorker{}) != nil {
			return idemddbtest.None
		}

		return fault(ctx, r)
	}
}

// bothWork runs work with a claim while a second worker asks for the key, and demands that the work of one of them runs.
func (f *fixture) bothWork(run func(ctx context.Context, work func(context.Context))) {
	f.Helper()

	effects := 0

	run(f.Context(), func(ctx context.Context) {
		effects++

		if c, _ := idemddb.FromContext(ctx); time.Until(c.Deadline()) <= 0 || !c.Held() {
			f.Errorf("the work begins with %v of its lease left", time.Until(c.Deadline()))
		}

		second := context.WithValue(f.Context(), secondWorker{}, 1)

		_, err := idemddb.Do(second, f.store, "k", nil, func(context.Context) (int, error) {
			effects++

			return 0, nil
		})
		is(f, err, idemddb.ErrInProgress)
	})

	if effects != 1 {
		f.Errorf("%d effects, want 1", effects)
	}
}

// throughDo lets Do call the work.
func (f *fixture) throughDo(ctx context.Context, work func(context.Context)) {
	_, err := idemddb.Do(ctx, f.store, "k", nil, func(ctx context.Context) (int, error) {
		work(ctx)

		return 0, nil
	})
	must(f, err)
}

func TestNoWorkBeginsOnALeaseThatAnOutageHasUsedUp(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{ClaimPatience: time.Minute}, func(f *fixture) {
		f.db.Intercept(exceptSecond(faultUntil(35*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError)))
		f.bothWork(f.throughDo)
	})
}

func TestNoWorkBeginsOnALeaseThatEndedBeforeItsAnswerCame(t *testing.T) {
	t.Parallel()

	var client *slowSingle

	bubbleOn(t, &idemddb.Options{Lease: time.Second}, func(db *idemddbtest.DB) idemddb.DynamoDB {
		client = &slowSingle{DB: db, delays: []time.Duration{1900 * time.Millisecond}}

		return client
	}, func(f *fixture) { f.bothWork(f.throughDo) })
}

func TestNoWorkOfABatchBeginsOnALeaseThatAnOutageHasUsedUp(t *testing.T) {
	t.Parallel()

	for name, redelivered := range map[string]bool{"first delivery": false, "redelivery": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{ClaimPatience: time.Minute}, func(f *fixture) {
				if redelivered {
					must(f, claim(f, f.store, "k").Release(f.Context(), nil))
				}

				f.db.Intercept(exceptSecond(faultUntil(35*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError)))
				f.bothWork(func(ctx context.Context, work func(context.Context)) {
					c, rec, err := f.claimWithOthers(redelivered)(ctx, "k", nil)
					if c == nil {
						f.Fatal("no claim:", rec, err)
					}

					ctx, stop := c.Keep(ctx)
					work(ctx)
					stop()
					must(f, c.Complete(ctx, nil))
				})
			})
		})
	}
}

func TestAClaimIsReturnedWithAtLeastHalfOfItsLease(t *testing.T) {
	t.Parallel()
	eachWay(t, &idemddb.Options{ClaimPatience: time.Minute}, func(f *fixture, claimKey claimer) {
		f.existing("k")
		f.db.Intercept(faultUntil(20*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError))

		c, rec, err := claimKey(f.Context(), "k", nil)
		if c == nil {
			f.Fatal("no claim:", rec, err)
		}

		if left := time.Until(c.Deadline()); left < 29*time.Second || !c.Deadline().Equal(f.lease("k")) || c.Attempt() > 2 {
			f.Errorf("%v of the lease left, stored until %v, attempt %d", left, f.lease("k"), c.Attempt())
		}
	})
}

// A lease that ends with its context cannot be longer.
func TestAClaimWhoseLeaseEndsWithItsContextIsNotExtended(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Single: true}, func(f *fixture) {
		f.db.Intercept(faultUntil(4*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError))

		ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
		defer cancel()

		c, rec, err := f.store.Claim(ctx, "k", nil)
		if c == nil {
			f.Fatal("no claim:", rec, err)
		}

		for _, r := range f.db.Requests() {
			if strings.HasPrefix(r.Update, "SET lease") {
				f.Errorf("it was extended, to %v", c.Deadline())
			}
		}
	})
}

// slowSingle is a client whose replies to UpdateItem arrive late, one delay each. DynamoDB has applied them at once.
type slowSingle struct {
	*idemddbtest.DB

	mu     sync.Mutex
	delays []time.Duration
}

func (c *slowSingle) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.DB.UpdateItem(ctx, in, opts...)

	<-time.After(c.nextDelay())

	return out, err
}

func (c *slowSingle) nextDelay() (delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if len(c.delays) > 0 {
		delay, c.delays = c.delays[0], c.delays[1:]
	}

	return delay
}

// A claim that trusted now + Lease instead would go on for 10 s after another worker may have the key.
func TestAClaimThatIsRecognisedHasTheLeaseOfItsRecord(t *testing.T) {
	t.Parallel()
	eachWay(t, &idemddb.Options{ClaimPatience: time.Minute}, func(f *fixture, claimKey claimer) {
		f.existing("k")
		f.db.Intercept(faultUntil(10*time.Second, idemddbtest.ServerErrorApplied, idemddbtest.ServerError))

		c, rec, err := claimKey(f.Context(), "k", nil)
		if c == nil {
			f.Fatal("no claim:", rec, err)
		}

		if stored := f.lease("k"); !c.Deadline().Equal(stored) || time.Until(stored) > 20*time.Second {
			f.Errorf("deadline %v, stored %v, now %v", c.Deadline(), stored, time.Now())
		}
	})
}

// record returns the item of a key, nil if there is none.
func (f *fixture) record(key string) map[string]types.AttributeValue {
	return f.db.Item("records", map[string]types.AttributeValue{"pk": text("test#" + key)})
}

// lease returns the end of the stored lease.
func (f *fixture) lease(key string) time.Time {
	return time.UnixMilli(numberOf(f.T, f.record(key), "lease"))
}

// edit changes attributes of the record of a key.
func (f *fixture) edit(key string, changes map[string]types.AttributeValue) {
	f.Helper()

	it := f.record(key)
	maps.Copy(it, changes)

	if _, err := f.db.PutItem(context.WithValue(context.Background(), secondWorker{}, 1), &dynamodb.PutItemInput{
		TableName: new("records"), Item: it,
	}); err != nil {
		f.Error(err)
	}
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

				a.claim, a.record, a.err = claimKey(f.Context(), "k", nil)
				c.is(f, a, before)

				if a.claim != nil {
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

		c, rec, err := claimKey(f.Context(), "k", nil)
		if c == nil {
			f.Fatal("no claim:", rec, err)
		}

		if !c.Takeover() || c.Attempt() != 2 {
			f.Errorf("takeover %t, attempt %d, want a takeover and attempt 2", c.Takeover(), c.Attempt())
		}
	})
}

func TestEachTryOfAClaimHasThePresentTime(t *testing.T) {
	t.Parallel()
	eachWay(t, nil, func(f *fixture, claimKey claimer) {
		f.db.Intercept(faultUntil(3*time.Second, idemddbtest.LostRequest, idemddbtest.LostRequest))

		c, rec, err := claimKey(f.Context(), "k", nil)
		if c == nil {
			f.Fatal("no claim:", rec, err)
		}

		if left := time.Until(f.lease("k")); left > 30*time.Second || left <= 30*time.Second-time.Millisecond || !c.Deadline().Equal(f.lease("k")) {
			f.Errorf("%v of the lease left, deadline %v, want 30s", left, c.Deadline())
		}
	})
}

func TestALeaseThatEndsWhileAClaimIsTriedIsTakenOver(t *testing.T) {
	t.Parallel()
	eachWay(t, nil, func(f *fixture, claimKey claimer) {
		claim(f, f.store, "k")
		<-time.After(30 * time.Second) // a takeover is possible in a second
		f.db.Intercept(faultUntil(2*time.Second, idemddbtest.LostRequest, idemddbtest.LostRequest))

		c, rec, err := claimKey(f.Context(), "k", nil)
		if c == nil || !c.Takeover() {
			f.Errorf("got record %v, error %v, want a takeover", rec, err)
		}
	})
}

// An answer that carries nothing comes from something between the client and DynamoDB.
func TestAnEmptyAnswerToAClaimProvesNothing(t *testing.T) {
	t.Parallel()

	for name, before := range map[string]func(*fixture){
		"a new key":      func(*fixture) {},
		"a released key": func(f *fixture) { must(f, claim(f, f.store, "k").Release(f.Context(), nil)) },
		"a dead worker's key": func(f *fixture) {
			claim(f, f.store, "k")
			<-time.After(time.Minute)
		},
		"a key past its retention": func(f *fixture) {
			must(f, claim(f, f.store, "k").Complete(f.Context(), nil))
			<-time.After(time.Hour)
		},
	} {
		for _, fault := range []idemddbtest.Fault{idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied} {
			for _, nth := range []int{1, 2} {
				t.Run(name+", "+string(fault), func(t *testing.T) {
					t.Parallel()
					eachWay(t, &idemddb.Options{Retention: time.Minute}, func(f *fixture, claimKey claimer) {
						before(f)

						if nth == 2 {
							f.db.Inject(idemddbtest.None)
						}

						f.db.Inject(fault)

						c, rec, err := claimKey(f.Context(), "k", nil)
						if c == nil {
							f.Fatal("no claim:", rec, err)
						}

						if fence := numberOf(f.T, f.record("k"), "fence"); c.Fence() != fence {
							f.Errorf("fencing token %d, stored %d", c.Fence(), fence)
						}

						must(f, c.Complete(f.Context(), nil))
						replay(f, f.store, "k")
					})
				})
			}
		}
	}
}

func TestWorkNeverRunsWithoutARecord(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.Intercept(always(idemddbtest.EmptyAnswer))

		_, err := idemddb.Do(f.Context(), f.store, "k", nil, func(context.Context) (int, error) {
			f.Errorf("the work runs, and there are %d records", len(f.db.Items("records")))

			return 0, nil
		})
		if err == nil {
			f.Error("got no error")
		}
	})
}

// A decorator of the client may drop the old item.
func TestATakeoverWithoutItsOldItemIsClaimedByASingleRequest(t *testing.T) {
	t.Parallel()
	bubbleOn(t, nil, func(db *idemddbtest.DB) idemddb.DynamoDB { return withoutItems{db} }, func(f *fixture) {
		f.succeed(f.claims(3), func(c *idemddb.Claim) error { return c.Release(f.Context(), nil) })

		for _, c := range won(f, f.claimAll(3, true)) {
			if fence := numberOf(f.T, f.record(c.Key()), "fence"); c.Fence() != fence || c.Attempt() != 2 {
				f.Errorf("fencing token %d, stored %d, attempt %d", c.Fence(), fence, c.Attempt())
			}

			must(f, c.Complete(f.Context(), nil))
		}
	})
}

// withoutItems is a client whose successful statements return no item.
type withoutItems struct{ *idemddbtest.DB }

func (c withoutItems) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	out, err := c.DB.BatchExecuteStatement(ctx, in, opts...)
	if err == nil {
		for i := range out.Responses {
			out.Responses[i].Item = nil
		}
	}

	return out, err
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

// firstUpdate is a client that keeps its first UpdateItem.
type firstUpdate struct {
	*idemddbtest.DB

	in *dynamodb.UpdateItemInput
}

func (c *firstUpdate) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if c.in == nil {
		c.in = in
	}

	return c.DB.UpdateItem(ctx, in, opts...)
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

			client := &firstUpdate{}

			bubbleOn(t, &c.opts, func(db *idemddbtest.DB) idemddb.DynamoDB {
				client.DB = db

				return client
			}, func(f *fixture) {
				for range 2 { // worker A, then worker B
					must(f, claim(f, f.store, "k").Release(f.Context(), nil))
				}

				if _, err := f.db.UpdateItem(f.Context(), client.in); err != nil { // A's claim once more
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

				f.events.want(f, idemddb.Claimed, idemddb.Unanswered)

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

		f.events.want(f, idemddb.Refused, idemddb.Refused)
	})
}

func TestTheFencingTokenOfARecordPastItsRetentionRisesWithAnyClock(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		first time.Duration // by how much the clock of the first worker is ahead
		want  func(old, now int64) int64
	}{
		"the old token is ahead of the clock": {time.Hour, func(old, _ int64) int64 { return old + 1 }},
		"the clock is ahead of the old token": {0, func(_, now int64) int64 { return now + 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Retention: time.Minute}, func(f *fixture) {
				first := storeOn(f, f.db, &idemddb.Options{
					Retention: time.Minute, Now: func() time.Time { return time.Now().Add(c.first) },
				})
				must(f, claim(f, first, "k").Release(f.Context(), nil))
				f.edit("k", map[string]types.AttributeValue{"exp": number(time.Now().Add(time.Minute).Unix())})

				old := claim(f, f.store, "k")
				must(f, old.Complete(f.Context(), nil))
				<-time.After(2 * time.Minute)

				if got, want := claim(f, f.store, "k").Fence(), c.want(old.Fence(), time.Now().UnixMilli()); got != want {
					f.Errorf("fencing token %d after %d, want %d", got, old.Fence(), want)
				}
			})
		})
	}
}

// Time to Live deletes by the clock of DynamoDB, and the clock of a holder may be ClockSkew behind it.
func TestTimeToLiveDoesNotDeleteARecordThatIsHeld(t *testing.T) {
	t.Parallel()

	const (
		lease = 10 * time.Second
		skew  = 5 * time.Second
	)

	fastest := idemddbtest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	behind := func() time.Time { return fastest.Now().Add(time.Millisecond - skew) }
	db := idemddbtest.New(&idemddbtest.Options{Now: fastest.Now})

	if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
		t.Fatal(err)
	}

	if _, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	}); err != nil {
		t.Fatal(err)
	}

	opts := idemddb.Options{Lease: lease, Retention: lease, ClockSkew: skew, Now: behind}
	fastest.Advance(skew - time.Millisecond) // so that the holder's clock shows a whole second

	c := claim(t, storeOn(t, db, &opts), "k")
	fastest.Advance(lease - time.Millisecond)
	db.Expire()

	if !c.Held() {
		t.Fatal("the lease is over")
	}

	opts.Now = fastest.Now
	if other, _, err := storeOn(t, db, &opts).Claim(t.Context(), "k", nil); other != nil {
		t.Errorf("two workers hold the key (%v)", err)
	}
}

func TestHashKeysStoresEveryKeyAsItsDigest(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{HashKeys: true}, func(f *fixture) {
		for _, key := range []string{"iban-DE89370400440532013000", "sha256:x", strings.Repeat("k", 2000)} {
			must(f, claim(f, f.store, key).Complete(f.Context(), []byte(key[:5])))

			if rec := replay(f, f.store, key); rec.Key != key || string(rec.Result) != key[:5] {
				f.Errorf("got %+v, want the record of %.10s", rec, key)
			}
		}

		must(f, claim(f, f.store, "failed").Fail(f.Context(), nil), f.store.Reopen(f.Context(), "failed"))
		f.complete(f.claims(3)...)
		f.replayed(3)

		for _, it := range f.db.Items("records") {
			if pk := textOf(it, "pk"); !strings.HasPrefix(pk, "test#sha256:") || len(pk) != len("test#sha256:")+43 {
				f.Errorf("partition key %q, want a digest", pk)
			}
		}

		// Keys that are stored as digests anyway stay where they are.
		plain := storeOn(f, f.db, nil)
		replay(f, plain, "sha256:x")
		claim(f, plain, "iban-DE89370400440532013000")
	})
}
