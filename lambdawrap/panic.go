package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// PanicError is the failure of a message whose handler panicked: the message comes back, the others of its batch go on.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the panicking goroutine, as debug.Stack formats it
}

// Error holds the value but not the stack, which may be long and goes to the log.
func (e *PanicError) Error() string { return fmt.Sprintf("lambdawrap: handler panicked: %v", e.Value) }

// Unwrap returns the panic's value if it is an error, so that errors.Is sees through.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)

	return err
}

// errExited is the failure of a message whose handler ended its goroutine, as t.FailNow does.
var errExited = errors.New("lambdawrap: handler ended its goroutine (runtime.Goexit)")

// What await answers when the context ended first.
var (
	errLate = errors.New("lambdawrap: still running when the reserve began: cancelled, its key left to its lease")
	errHung = errors.New("lambdawrap: the hook or client was still running when the answer was due")
)

// await runs user code in a goroutine of its own, so that a panic, the end of its goroutine and deafness to its context cost
// no more than its own message. Code that is still running when ctx ends is late: the answer is that error, after up to grace for
// the code to end, and whatever it returns is dropped.
func await(ctx context.Context, grace time.Duration, late error, code func() error) error {
	result := make(chan error, 1) // the code that is late can always leave

	go func() {
		err := errExited

		defer func() {
			if v := recover(); v != nil {
				err = &PanicError{Value: v, Stack: debug.Stack()}
			}

			if ctx.Err() != nil { // decided here: of two events at once, the other goroutine sees any
				err = late
			}

			result <- err
		}()

		err = code()
	}()

	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}

	// No goroutine should outlive the call, Lambda freezes it.
	timer := time.NewTimer(grace)
	defer timer.Stop()

	select {
	case err := <-result:
		return err
	case <-timer.C:
		return late
	}
}

// recovered runs code in this goroutine, quick code of the user or our own, and turns a panic into an error.
func recovered(code func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()

	return code()
}
