package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/retry"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// coded returns the error of an answer with one of DynamoDB's codes.
func coded(code string) error { return &smithy.GenericAPIError{Code: code} }

var (
	errThrottled = coded("ThrottlingException")
	errDenied    = coded("AccessDeniedException")
	errRefused   = &types.ConditionalCheckFailedException{}
)

// always returns a request whose every try has this error.
func always(err error) func(time.Duration) error { return func(time.Duration) error { return err } }

// before returns a request whose tries have the first error until some time after its begin, and the other one from then on.
func before(end time.Duration, first, then error) func(time.Duration) error {
	return func(after time.Duration) error {
		if after < end {
			return first
		}

		return then
	}
}

func TestDoTriesUntilAnAnswerOrTheEnd(t *testing.T) {
	t.Parallel()

	const pause, denied, end = time.Second, 3 * time.Second, 20 * time.Second

	whole := planner.Policy{Pause: pause, Denied: denied}

	for name, c := range map[string]struct {
		policy  planner.Policy
		end     time.Duration
		request func(after time.Duration) error
		want    error
		tries   int // exactly; 0: more than one
		from    time.Duration
		to      time.Duration
	}{
		"an answer":                     {whole, end, always(nil), nil, 1, 0, 0},
		"a condition that is false":     {whole, end, always(errRefused), errRefused, 1, 0, 0},
		"a request that cannot be sent": {whole, end, always(wire.ErrFinal), wire.ErrFinal, 1, 0, 0},
		"an outage that ends":           {whole, end, before(5*time.Second, errThrottled, nil), nil, 0, 5 * time.Second, 5*time.Second + pause},
		"an outage that does not end":   {whole, end, always(errThrottled), errThrottled, 0, end - 2*pause, end},
		"a denial":                      {whole, end, always(errDenied), errDenied, 0, denied, denied + pause},
		"a denial that ends":            {whole, end, before(denied-pause, errDenied, nil), nil, 0, denied - pause, denied},
		"a denial that is final":        {planner.Policy{Pause: pause}, end, always(errDenied), errDenied, 1, 0, 0},
		"a denial after an outage has its own time": {
			whole, end, before(5*time.Second, errThrottled, errDenied), errDenied, 0, 5*time.Second + denied, 5*time.Second + denied + 2*pause,
		},
		"a refusal after an outage":           {whole, end, before(time.Second, errThrottled, errRefused), errRefused, 0, time.Second, time.Second + pause},
		"an end that is over, with an answer": {whole, -time.Second, always(nil), nil, 1, 0, 0},
		"an end that is over":                 {whole, -time.Second, always(errThrottled), errThrottled, 1, 0, 0},
		"no policy at all":                    {planner.Policy{}, -time.Second, always(errDenied), errDenied, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun, tries, failures := time.Now(), 0, 0
				c.policy.End = begun.Add(c.end)

				err := retry.Do(t.Context(), c.policy, func(error) { failures++ }, func(context.Context) error {
					tries++

					return c.request(time.Since(begun))
				})
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}

				if took := time.Since(begun); took < c.from || took > c.to {
					t.Errorf("took %v, want %v to %v", took, c.from, c.to)
				}

				if c.tries == 0 && tries < 2 || c.tries > 0 && tries != c.tries {
					t.Errorf("%d tries, want %d (0: several)", tries, c.tries)
				}

				if failures < tries-1 || failures > tries {
					t.Errorf("%d tries, and failed was called %d times: want a call before each pause", tries, failures)
				}
			})
		})
	}
}

func TestATryHasItsPartOfTheTime(t *testing.T) {
	t.Parallel()

	for left, want := range map[time.Duration]time.Duration{
		time.Hour: retry.MaxTry, 3 * time.Second: time.Second, 200 * time.Millisecond: 100 * time.Millisecond, -time.Hour: 100 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()

			err := retry.Do(t.Context(), planner.Policy{End: begun.Add(left)}, func(error) {}, func(ctx context.Context) error {
				<-ctx.Done()

				return wire.ErrFinal
			})
			if took := time.Since(begun); took != want || !errors.Is(err, wire.ErrFinal) {
				t.Errorf("with %v left a try ended after %v with %v, want %v", left, took, err, want)
			}
		})
	}
}

func TestTheEndOfTheContextEndsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errStopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(t.Context())

		begun := time.Now()
		policy := planner.Policy{End: begun.Add(time.Hour), Pause: time.Minute}

		time.AfterFunc(10*time.Second, func() { stop(errStopped) })

		err := retry.Do(ctx, policy, func(error) {}, func(context.Context) error { return errThrottled })
		if !errors.Is(err, errThrottled) || !errors.Is(err, errStopped) || time.Since(begun) != 10*time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
	})
}
