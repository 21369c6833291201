package idemddb_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// failing returns a function that calls fail ahead of each request as long as it is armed.
func failing(fail func()) (do around.Func, armed *atomic.Bool) {
	armed = &atomic.Bool{}

	return func(ctx context.Context, in any, send around.Send) (any, error) {
		if armed.Load() {
			fail()
		}

		return send(ctx, in)
	}, armed
}

// explode is where a client panics; its name stands in the stack.
func explode() { panic(errBoom) }

var errBoom = errors.New("boom")

// recovered returns the panic of code.
func recovered(code func()) (v any) {
	defer func() { v = recover() }()

	code()

	return nil
}

// onItsOwn calls code that may panic or end its goroutine, and returns the panic.
func onItsOwn(code func()) (v any) {
	var wait sync.WaitGroup

	wait.Go(func() { v = recovered(code) })
	wait.Wait()

	return v
}

// isClientPanic demands the panic of the client, in the goroutine that has recovered it.
func isClientPanic(t testing.TB, what string, v any) {
	t.Helper()

	if v != errBoom {
		t.Errorf("%s: recovered %v, want the panic of the client", what, v)
	}
}

// isExplosion demands an error of the panic of explode, with its stack.
func isExplosion(t testing.TB, what string, err error) {
	t.Helper()
	is(t, err, errBoom)
	hasStack(t, what, err, "idemddb_test.explode")
}

// hasStack demands an error of a panic whose stack names a function. The text does not.
func hasStack(t testing.TB, what string, err error, who string) {
	t.Helper()

	stacked, ok := errors.AsType[interface {
		error
		Stack() []byte
	}](err)
	if !ok || !strings.Contains(string(stacked.Stack()), who) {
		t.Errorf("%s: %v is without the stack of the panic", what, err)
	}

	if err != nil && strings.Contains(err.Error(), who) {
		t.Errorf("%s: the text holds the stack: %v", what, err)
	}
}

func failingBubble(t *testing.T, fail func(), check func(f *fixture, armed *atomic.Bool)) {
	t.Helper()

	do, armed := failing(fail)
	bubbleAround(t, nil, do, func(f *fixture) { check(f, armed) })
}

func TestAPanicOfTheClientReachesAllCallersAndTheBatchGoesOn(t *testing.T) {
	t.Parallel()
	failingBubble(t, explode, func(f *fixture, armed *atomic.Bool) {
		armed.Store(true)
		atOnce(make([]*idemddb.Claim, 5), func(*idemddb.Claim) error {
			isClientPanic(f, "claim", recovered(func() { _, _, _ = f.batch.Claim(f.Context(), "k", nil) }))

			return nil
		})
		armed.Store(false)

		claims := won(f.T, f.claimAll(5, false))

		armed.Store(true)
		atOnce(claims, func(c *idemddb.Claim) error {
			isClientPanic(f, "complete", recovered(func() { _ = c.Complete(f.Context(), nil) }))

			return nil
		})
		isClientPanic(f, "a single completion", recovered(func() { _ = claims[0].Complete(f.Context(), nil) }))
		armed.Store(false)
		f.complete(claims...)
		f.isIdle()
	})
}

// Nobody knows what a shared request has written whose client panicked, so each write goes on alone, and the event has the
// panic's stack.
func TestAClientThatPanicsInASharedRequestOnlyCostsRequests(t *testing.T) {
	t.Parallel()

	for name, fail := range map[string]func(){"a panic": explode, "the end of the goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var armed *atomic.Bool

			failingBubble(t, func() {
				armed.Store(false)
				fail()
			}, func(f *fixture, a *atomic.Bool) {
				armed = a
				armed.Store(true)

				claims := won(f.T, f.claimAll(5, false))
				f.want(slices.Repeat([]string{"UpdateItem"}, 5)...)

				if n := f.events.count(idemddb.KindRetried); n != 5 {
					f.Errorf("%d events %s, want one for each claim", n, idemddb.KindRetried)
				}

				if name == "a panic" {
					isExplosion(f, "the event", f.events.all(idemddb.KindRetried)[0].Err)
				}

				armed.Store(true)
				f.complete(claims...)
				f.replayed(5)
				f.isIdle()
			})
		})
	}
}

// The client panics when it is asked for the keys that turned out to have records.
func TestAPanicInTheSecondRequestOfATryReachesOnlyThoseWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	failingBubble(t, explode, func(f *fixture, armed *atomic.Bool) {
		f.complete(f.claims(3)...)
		f.db.InterceptStatements(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			armed.Store(true) // the client panics from the next request on

			return idemddbtest.None
		})

		var (
			all  sync.WaitGroup
			won  = make([]*idemddb.Claim, 5)
			keys = numbered(5)
		)

		f.batch.Expect(len(keys))

		for i, key := range keys {
			all.Go(func() {
				v := recovered(func() { won[i], _, _ = f.batch.Claim(f.Context(), key, nil) })
				if i < 3 {
					isClientPanic(f, "key "+key, v)
				} else if v != nil || won[i] == nil {
					f.Errorf("key %s: recovered %v, want a claim", key, v)
				}
			})
		}

		all.Wait()
		f.db.InterceptStatements(nil)
		armed.Store(false)
		f.complete(won[3:]...)
		f.isIdle()
	})
}

// The client has a Store of its own, whose Sender panicked. That is no panic of the client.
func TestAnErrorOfTheClientThatWrapsAPanicIsAnError(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, sendingBy(func([]idemddb.Message) []error { explode(); return nil }))
	wrapping := claim(t, s, "k").CompleteWith(t.Context(), nil, oneMessage)

	bubbleAround(t, nil, around.Before(func(*dynamodb.BatchExecuteStatementInput) error { return wrapping }), func(f *fixture) {
		for _, a := range f.claimAll(3, false) {
			isExplosion(f, "claim", a.err)
		}
	})
}

// A fake client of a test does this when it calls Fatal.
func TestAClientThatEndsTheGoroutineOfARequestMakesItsCallersPanic(t *testing.T) {
	t.Parallel()
	failingBubble(t, runtime.Goexit, func(f *fixture, armed *atomic.Bool) {
		armed.Store(true)
		atOnce(make([]*idemddb.Claim, 3), func(*idemddb.Claim) error {
			err, _ := recovered(func() { _, _, _ = f.batch.Claim(f.Context(), "k", nil) }).(error)
			if err == nil || !strings.Contains(err.Error(), "runtime.Goexit") {
				f.Errorf("recovered %v, want an error that names runtime.Goexit", err)
			}

			return nil
		})
		armed.Store(false)
		f.complete(won(f.T, f.claimAll(3, false))...)
		f.isIdle()
	})
}

func TestAClientThatEndsTheGoroutineOfTheCallerEndsThatOneOnly(t *testing.T) {
	t.Parallel()

	do, armed := failing(runtime.Goexit)
	armed.Store(true)
	bubbleAround(t, &idemddb.Options{Single: true}, do, func(f *fixture) {
		onItsOwn(func() {
			_, _, _ = f.batch.Claim(f.Context(), "k", nil)

			f.Error("the call returned")
		})
	})
}

func TestAPanicOfTheClientInARenewalCancelsTheWork(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		single bool
		fail   func()
	}{
		"shared requests":          {false, explode},
		"Options.Single":           {true, explode},
		"the end of the goroutine": {true, runtime.Goexit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			do, armed := failing(c.fail)
			bubbleAround(t, &idemddb.Options{Single: c.single, Lease: 10 * time.Second}, do, func(f *fixture) {
				held := won(f.T, f.claimAll(1, false))[0]
				work, stop := held.Keep(f.Context())

				defer stop()
				armed.Store(true)
				<-work.Done()
				synctest.Wait()
				is(f, context.Cause(work), idemddb.ErrFenced)

				if name == "the end of the goroutine" {
					return
				}

				isExplosion(f, "cause", context.Cause(work))
				isExplosion(f, "event", f.events.only(f, idemddb.KindPanicked).Err)
			})
		})
	}
}
