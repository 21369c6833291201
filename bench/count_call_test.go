//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// callCounts lists the rows of calls that are made one by one: Do, HTTP, waiters and a large replay.
func callCounts() []count {
	var all []count

	for _, n := range []int{1, 64} {
		all = append(all,
			calls(fmt.Sprintf("Do: %d at a time", n), n, doByHand, doByLibrary),
			calls(fmt.Sprintf("HTTP: %d at a time", n), n, httpByHand, httpByLibrary))
	}

	return append(all, waiters(), replay())
}

// call does the work of a key once and returns its result.
type call func(ctx context.Context, key string, work func(context.Context) (string, error)) (string, error)

// calls is a row of many callers, each of which makes ten calls with new keys, one after the other. The work takes up to 20 ms.
func calls(name string, callers int, byHand, library func(*world) (call, error)) count {
	const each = 10

	side := func(opened func(*world) (call, error)) open {
		return func(at *world) (deliveries, error) {
			do, err := opened(at)

			return deliveries{deliver: func(ctx context.Context, round int) error {
				return atOnce(callers, func(caller int) error {
					for i := range each {
						key := fmt.Sprintf("%d-%d-%d", round, caller, i)
						if _, err := do(ctx, key, workFor(time.Duration((caller*7+i*3)%20)*time.Millisecond)); err != nil {
							return err
						}
					}

					return nil
				})
			}}, err
		}
	}

	return count{name: name, messages: callers * each, rounds: max(1, 20/callers), byHand: side(byHand), library: side(library)}
}

func atOnce(n int, do func(i int) error) error {
	var all sync.WaitGroup

	errs := make([]error, n)

	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}

	all.Wait()

	return errors.Join(errs...)
}

func workFor(d time.Duration) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		time.Sleep(d) //nolint:forbidigo // in a bubble this moves the clock

		return "done", nil
	}
}

func doByHand(at *world) (call, error) {
	do := handwritten.Do(at.client, recordTable)

	return func(ctx context.Context, key string, work func(context.Context) (string, error)) (string, error) {
		result, err := do(ctx, key, func() ([]byte, error) {
			value, err := work(ctx)

			return []byte(value), err
		})

		return string(result), err
	}, nil
}

func doByLibrary(at *world) (call, error) {
	s, err := newStore(at, nil)

	return func(ctx context.Context, key string, work func(context.Context) (string, error)) (string, error) {
		return idemddb.Do(ctx, s, key, &idemddb.ClaimOptions{Wait: time.Minute}, work)
	}, err
}

func httpByHand(at *world) (call, error) {
	return request(func(next http.Handler) http.Handler { return handwritten.HTTP(at.client, recordTable, next) }), nil
}

func httpByLibrary(at *world) (call, error) {
	s, err := newStore(at, nil)
	caller := func(*http.Request) (string, error) { return "caller", nil }

	return request(func(next http.Handler) http.Handler {
		return lambdawrap.HTTP(s, next, &lambdawrap.HTTPOptions{Caller: caller})
	}), err
}

// request makes a call of a request to a handler.
func request(wrap func(http.Handler) http.Handler) call {
	type work struct{}

	handler := wrap(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		run, _ := r.Context().Value(work{}).(func(context.Context) (string, error))
		result, _ := run(r.Context())
		_, _ = answer.Write([]byte(result))
	}))

	return func(ctx context.Context, key string, run func(context.Context) (string, error)) (string, error) {
		r := httptest.NewRequestWithContext(context.WithValue(ctx, work{}, run), http.MethodPost, "/payments", strings.NewReader(`{"amount":1250}`))
		r.Header.Set("Idempotency-Key", key)

		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != http.StatusOK {
			return "", fmt.Errorf("status %d: %s", answer.Code, answer.Body)
		}

		return answer.Body.String(), nil
	}
}

// waiters is a row of a key whose work takes five seconds, and of those who wait for it meanwhile. By hand each of them asks by
// itself, after pauses of 50 ms to 1 s.
func waiters() count {
	const waiting = 1000

	side := func(opened func(*world) (call, error)) open {
		return func(at *world) (deliveries, error) {
			do, err := opened(at)

			return deliveries{deliver: func(ctx context.Context, round int) error {
				return atOnce(waiting, func(int) error {
					for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
						_, err := do(ctx, fmt.Sprint("key-", round), workFor(5*time.Second))
						if !errors.Is(err, handwritten.ErrInProgress) {
							return err
						}

						time.Sleep(pause) //nolint:forbidigo // in a bubble this moves the clock
					}
				})
			}}, err
		}
	}

	return count{name: "1,000 callers wait for one key", messages: waiting, rounds: 1, byHand: side(doByHand), library: side(doByLibrary)}
}

// replay is a row of a result of 300 KB that is asked for again.
func replay() count {
	result := strings.Repeat("r", 300<<10)

	side := func(opened func(*world) (call, error)) open {
		return func(at *world) (deliveries, error) {
			do, err := opened(at)
			ask := func(ctx context.Context, round int) error {
				got, err := do(ctx, fmt.Sprint("large-", round), func(context.Context) (string, error) { return result, nil })
				if err == nil && got != result {
					err = fmt.Errorf("a result of %d bytes", len(got))
				}

				return err
			}

			return deliveries{prepare: ask, deliver: ask}, err
		}
	}

	return count{name: "replay of a result of 300 KB (library: and 37.5 read units)", messages: 1, rounds: 10, byHand: side(doByHand), library: side(doByLibrary)}
}
