package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type order struct {
	ID     string
	Amount int64
}

type paid struct {
	ID      string
	Amount  int64
	Charges []int
}

// funcHarness wraps a handler of orders, with the order's id as the key.
type funcHarness struct {
	*harness

	opts lambdawrap.FuncOptions[order]
	ran  journal // the ids of the orders
}

func newFunc(h *harness) *funcHarness {
	return &funcHarness{harness: h, opts: lambdawrap.FuncOptions[order]{
		Key:    func(_ context.Context, o order) (string, error) { return o.ID, nil },
		Logger: h.opts.Logger,
	}}
}

func (f *funcHarness) wrap(work func(context.Context, order) (paid, error)) func(context.Context, order) (paid, error) {
	return lambdawrap.Func(f.store, func(ctx context.Context, o order) (paid, error) {
		f.ran.add(o.ID)

		return work(ctx, o)
	}, &f.opts)
}

func (f *funcHarness) is(got paid, err error, want paid) {
	f.Helper()
	f.equal("error", err, nil)
	f.equal("result", got, want)
}

// within makes an invocation for the order o-1 with a time limit; 0 for none.
func (f *funcHarness) within(limit time.Duration, work func(context.Context, order) (paid, error)) (got paid, took time.Duration, err error) {
	ctx := f.Context()
	if limit > 0 {
		ctx = f.limited(limit)
	}

	begun := time.Now()
	got, err = f.wrap(work)(ctx, order{ID: "o-1"})

	return got, time.Since(begun), err
}

// answers is within for an order that is settled.
func (f *funcHarness) answers(limit time.Duration) (took time.Duration) {
	f.Helper()

	got, took, err := f.within(limit, staging(settleOrder))
	f.is(got, err, paid{"o-1", 0, []int{}})

	return took
}

// hasNoTime is within for an order that finds no time to start.
func (f *funcHarness) hasNoTime(limit time.Duration) {
	f.Helper()

	_, _, err := f.within(limit, staging(settleOrder))
	f.fails(err, lambdawrap.ErrNoTime)
	f.equal("runs", f.ran.all(), []string(nil))
}

func settleOrder(_ context.Context, o order) (paid, error) {
	return paid{ID: o.ID, Amount: o.Amount, Charges: []int{}}, nil
}

func everyFunc(t *testing.T, test func(*funcHarness)) {
	t.Helper()
	t.Parallel()

	for _, isOptimistic := range []bool{false, true} {
		each(t, fmt.Sprint("optimistic ", isOptimistic), inBubble(nil), func(h *harness) {
			f := newFunc(h)
			f.opts.Optimistic = isOptimistic
			test(f)
		})
	}
}

// staging returns a handler that stages the count of its order, which an optimistic one must do.
func staging(work func(context.Context, order) (paid, error)) func(context.Context, order) (paid, error) {
	return func(ctx context.Context, o order) (paid, error) {
		if err := counting(ctx, events.SQSMessage{Body: o.ID}); err != nil {
			return paid{}, err
		}

		return work(ctx, o)
	}
}

func TestAnInvocationOfFuncWithoutAKeyClaimsNothing(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		key  func(context.Context, order) (string, error)
		want error
	}{
		"an error": {func(context.Context, order) (string, error) { return "", errBank }, errBank},
		"empty":    {func(context.Context, order) (string, error) { return "", nil }, lambdawrap.ErrNoKey},
		"a panic":  {func(context.Context, order) (string, error) { panic(errBank) }, errBank},
		"no text":  {func(context.Context, order) (string, error) { return "a\xff", nil }, idemddb.ErrBadKey},
	} {
		each(t, name, oneHarness, func(h *harness) {
			f := newFunc(h)
			f.opts.Key = c.key

			_, err := f.wrap(settleOrder)(f.Context(), order{})
			f.fails(err, c.want)
			f.equal("runs", f.ran.all(), []string(nil))
			f.equal("requests", len(f.db.Requests()), 0)
		})
	}
}

// Lambda reports an error under the name of its type, without a package, and Step Functions decides by it what to retry.
func TestErrorsOfFuncHaveTypesThatTellWhatToRetry(t *testing.T) {
	h := parallelHarness(t)
	function := lambdawrap.Func(h.store, func(context.Context, string) (string, error) {
		return "", lambdawrap.Permanent(errors.New("no such account"))
	}, &lambdawrap.FuncOptions[string]{Key: func(_ context.Context, in string) (string, error) { return in, nil }})

	claim(t, h.store, "held")

	for _, c := range []struct{ in, want string }{{"held", "InProgressError"}, {"new", "permanentError"}, {"new", "FailedError"}} {
		_, err := function(t.Context(), c.in)
		if err == nil {
			t.Fatalf("%s: no error", c.in)
		}

		h.equal("type of "+err.Error(), reflect.TypeOf(err).Elem().Name(), c.want)
	}
}

func TestAPanicOfAFuncReleasesItsKeyAndGoesOn(t *testing.T) {
	everyFunc(t, func(f *funcHarness) {
		function := f.wrap(func(context.Context, order) (paid, error) { panic(errBank) })
		f.equal("panic", panicOf(func() { _, _ = function(f.Context(), order{ID: "o-1"}) }) == any(errBank), true)
		f.equal("record", f.state("o-1"), "INPROGRESS released")
	})
}

// An empty fingerprint would make a record without one, which every other input matches.
func TestAnotherInputUnderTheSameKeyOfFuncIsRefused(t *testing.T) {
	everyFunc(t, func(f *funcHarness) {
		f.opts.Fingerprint = func(_ context.Context, o order) (string, error) { return strings.Repeat("x", int(o.Amount)), nil }
		function := f.wrap(staging(settleOrder))

		_, err := function(f.Context(), order{"o-1", 0})
		f.fails(err, lambdawrap.ErrNoKey)
		f.equal("effects", f.counted("o-1"), "")

		got, err := function(f.Context(), order{"o-1", 7})
		f.is(got, err, paid{"o-1", 7, []int{}})

		_, err = function(f.Context(), order{"o-1", 8})
		f.fails(err, idemddb.ErrMismatch)
		f.equal("effects", f.counted("o-1"), "1")
	})
}

// Else nobody would see it until a duplicate asks for the result, such as where the role lacks dynamodb:PutItem.
func TestAResultThatIsNotKeptHasALineInTheLog(t *testing.T) {
	t.Parallel()

	for _, stages := range []bool{false, true} {
		each(t, fmt.Sprint("stages: ", stages), everyFunc, func(f *funcHarness) {
			if f.opts.Optimistic && !stages {
				return
			}

			fails(f, "PutItem", idemddbtest.AccessDenied)

			_, err := f.wrap(func(ctx context.Context, _ order) (p paid, err error) {
				if stages {
					err = staged(ctx, events.SQSMessage{})
				}

				return paid{ID: strings.Repeat("x", 50_000)}, err
			})(f.Context(), order{ID: "o-1"})
			f.equal("error", err, nil)
			f.logs("level=WARN", "its result is not kept", "dynamodb:PutItem", "outcome=completed")
		})
	}
}

func TestFuncWaitsForAKeyThatIsHeldButNotLongerThanThereIsTime(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		f := newFunc(h)
		other := claim(f, f.store, "o-1")

		_, _, err := f.within(0, settleOrder)
		f.fails(err, idemddb.ErrInProgress)

		f.opts.Wait, f.opts.Timeout = time.Hour, 5*time.Second
		_, took, err := f.within(20*time.Second, settleOrder)
		f.fails(err, idemddb.ErrInProgress)
		f.equal("waited until it could not start", took.Round(time.Second), 14*time.Second)

		time.AfterFunc(3*time.Second, func() { _ = other.Release(h.Context(), nil) })
		f.answers(20 * time.Second)
	})
}

func TestFuncTakesAKeyOverAndSaysSo(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		f := newFunc(h)
		claim(f, f.store, "o-1") // its worker dies
		time.Sleep(time.Minute)

		got, err := f.wrap(settleOrder)(inLambda(f.Context(), "request-2"), order{ID: "o-1"})
		f.is(got, err, paid{"o-1", 0, []int{}})
		f.logs("taken over", "requestId=request-2")
	})
}

func TestTheContextOfAHandlerOfFuncEndsWithItsTimeAndWhatItReturnsCounts(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ timeout, limit, ends time.Duration }{
		"by its time-out":   {3 * time.Second, 20 * time.Second, 3 * time.Second},
		"by the reserve":    {0, 20 * time.Second, 19 * time.Second},
		"without a limit":   {3 * time.Second, 0, 3 * time.Second},
		"with its time-out": {19 * time.Second, 20 * time.Second, 19 * time.Second},
	} {
		each(t, name, everyFunc, func(f *funcHarness) {
			f.opts.Timeout = test.timeout
			got, took, err := f.within(test.limit, staging(func(ctx context.Context, o order) (paid, error) {
				<-ctx.Done()
				time.Sleep(100 * time.Millisecond) // the handler ends in the reserve

				return settleOrder(ctx, o)
			}))
			f.equal("took", took.Round(time.Second), test.ends)
			f.is(got, err, paid{"o-1", 0, []int{}})
			f.equal("record", f.state("o-1"), "COMPLETED")
		})
	}
}

func TestAClaimOfFuncWhoseInvocationHasEndedIsGivenBackUnused(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	f := newFunc(newHarness(t, &idemddb.Options{Observe: func(context.Context, idemddb.Event) { cancel() }}))

	_, err := f.wrap(settleOrder)(ctx, order{ID: "o-1"})
	f.fails(err, lambdawrap.ErrNoTime)
	f.equal("runs", f.ran.all(), []string(nil))
	f.equal("attempts", f.attempts("o-1"), "0")
}

func TestAClaimOfFuncThatComesTooLateIsGivenBackUnused(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		f := newFunc(h)
		f.opts.Timeout = 9 * time.Second
		h.slowRequests(10 * time.Millisecond)
		f.hasNoTime(10*time.Second + time.Millisecond)
		f.equal("record", f.state("o-1"), "INPROGRESS released")
		f.equal("attempts", f.attempts("o-1"), "0")
	})
}

func TestAHandlerOfFuncDoesNotStartAfterAKeyFunctionThatTookItsTime(t *testing.T) {
	everyFunc(t, func(f *funcHarness) {
		slowly := func(takes time.Duration, err error) func(context.Context, order) (string, error) {
			return func(_ context.Context, o order) (string, error) { time.Sleep(takes); return o.ID, err }
		}
		f.opts.Timeout, f.opts.Key = 5*time.Second, slowly(4*time.Second, nil)

		f.hasNoTime(8 * time.Second)
		f.equal("requests", len(f.db.Requests()), 0)
		f.answers(0) // without a deadline there is time for it

		f.opts.Key = slowly(time.Millisecond, errBank)
		_, _, err := f.within(6*time.Second, settleOrder)
		f.fails(err, errBank) // which says more than that the time is over
	})
}

func TestFuncReturnsTheResultOfWorkWhoseRecordIsNotWritten(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		f := newFunc(h)
		h.db.Intercept(faultFor(isCompletion, idemddbtest.LostRequest))

		got, took, err := f.within(20*time.Second, settleOrder)
		f.is(got, err, paid{"o-1", 0, []int{}})
		f.equal("unrecorded", h.count(idemddb.KindUnrecorded), 1)
		f.lasts(took, 0, 20*time.Second-250*time.Millisecond+moment)
	})
}

func TestFuncFailsWhenWhatItStagedIsNotKnownToBeCommitted(t *testing.T) {
	everyFunc(t, func(f *funcHarness) {
		fails(f, "TransactWriteItems", idemddbtest.LostReply)

		_, _, err := f.within(20*time.Second, staging(settleOrder))
		f.fails(err, idemddb.ErrUncommitted)

		f.db.Intercept(nil)
		f.answers(0)
		f.equal("effects", f.counted("o-1"), "1")
	})
}

func TestAResultOfFuncThatIsNotKeptIsNeverReplayedAsAnother(t *testing.T) {
	t.Parallel()

	for _, isNeeded := range []bool{false, true} {
		f := newFunc(newHarness(t, nil))
		f.opts.NeedResult = isNeeded
		function := f.wrap(func(context.Context, order) (paid, error) { return paid{ID: "caf\xe9"}, nil })

		got, err := function(t.Context(), order{ID: "o-1"})
		f.is(got, err, paid{ID: "caf\xe9"})

		got, err = function(t.Context(), order{ID: "o-1"})
		if isNeeded {
			f.fails(err, idemddb.ErrResultOmitted)
		} else {
			f.is(got, err, paid{})
		}

		f.equal("runs", f.ran.all(), []string{"o-1"})
	}
}

func TestFuncWithIdempotencyOffRunsEachInvocation(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "true")

	for _, isOptimistic := range []bool{false, true} {
		f := newFunc(newHarness(t, nil))
		f.opts.Optimistic = isOptimistic
		f.opts.Key = func(context.Context, order) (string, error) { return "", lambdawrap.ErrNoKey }
		function := f.wrap(staging(settleOrder))

		for range 2 {
			got, err := function(t.Context(), order{ID: "o-1"})
			f.is(got, err, paid{"o-1", 0, []int{}})
		}

		f.equal("runs", f.ran.all(), []string{"o-1", "o-1"})
		f.equal("effects", f.counted("o-1"), "2")
	}
}

// inLambda returns the context of an invocation with this request id.
func inLambda(ctx context.Context, requestID string) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: requestID})
}

// Without a Timeout, a process learns from its handlers how long one takes, as it does for the messages of a queue: a claim that
// took more than half of the time leaves enough for a quick handler.
func TestFuncLearnsHowLongItsHandlerTakes(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		f := newFunc(h)
		f.opts.Wait = time.Minute
		work := f.wrap(func(ctx context.Context, o order) (paid, error) {
			time.Sleep(10 * time.Millisecond)

			return settleOrder(ctx, o)
		})

		for _, id := range []string{"o-1", "o-2"} {
			ctx := f.limited(3 * time.Second) // of which nothing may start after 2 s

			if id == "o-2" {
				held := claim(f, f.store, "o-2")

				time.AfterFunc(1200*time.Millisecond, func() { _ = held.Release(context.Background(), nil) })
			}

			got, err := work(ctx, order{ID: id})
			f.is(got, err, paid{id, 0, []int{}})
		}
	})
}
