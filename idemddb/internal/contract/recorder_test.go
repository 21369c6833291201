package contract

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// recorder stands in for the *testing.T of one case. It records what the case reports, so that a failure is not one of the test.
type recorder struct {
	testing.TB // of the test

	home []byte // the goroutine of the case

	mu       sync.Mutex
	failures []string
}

func (r *recorder) Error(args ...any)            { r.record(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.record(fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.Error(args...); r.FailNow() }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...); r.FailNow() }

// FailNow ends the case. The package testing allows that only on the goroutine of the test.
func (r *recorder) FailNow() {
	if !bytes.Equal(goroutine(), r.home) {
		r.TB.Errorf("a case was ended from another goroutine than its own: %s", r.failures)
	}

	runtime.Goexit()
}

func (r *recorder) record(failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.failures = append(r.failures, failure)
}

// run runs a case on a goroutine of its own, and returns what it reported.
func (c testCase) run(t testing.TB, engine Engine, tab table) []string {
	t.Helper()

	r := &recorder{TB: t}
	done := make(chan struct{})

	go func() {
		defer close(done)

		r.home = goroutine()
		c.check(newHarness(r, engine, tab))
	}()

	<-done

	return r.failures
}

// goroutine names this goroutine: "goroutine" and its number, with which its stack begins.
func goroutine() []byte {
	stack := make([]byte, 64)
	stack = stack[:runtime.Stack(stack, false)]

	return bytes.Join(bytes.Fields(stack)[:2], nil)
}
