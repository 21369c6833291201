package lambdawrap

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// PanicError is the failure of a message whose handler panicked: the message comes back, and the others of its batch go on.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked, as debug.Stack formats it
}

// Error returns the value without the stack, which may be long and goes to the log.
func (e *PanicError) Error() string { return fmt.Sprintf("lambdawrap: panic: %v", e.Value) }

// Unwrap returns the panic's value if it is an error, so that errors.Is sees it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)

	return err
}

// errExited is the failure of code that ended its goroutine, as t.FailNow does.
var errExited = errors.New("lambdawrap: the code ended its goroutine (runtime.Goexit)")

// recovered runs code and turns a panic into an error.
func recovered(code func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()

	return code()
}

// newPanicError is called while the goroutine panics.
func newPanicError(value any) *PanicError {
	p := panicerror.New("", value)

	return &PanicError{Value: p.Value, Stack: p.Stack()}
}

// background runs user code in a goroutine of its own, so that a panic, the end of its goroutine and code that never returns cost no
// more than its own message. The channel gives the code's error, once. An error that cannot be read, such as a typed nil pointer,
// is replaced here by the panic, so that no later code panics when it reads the error.
func background(code func() error) <-chan error {
	answer := make(chan error, 1) // code that is abandoned can always end

	go func() {
		err := errExited

		defer func() { answer <- err }()

		err = recovered(func() error { return panicerror.Readable(code()) })
	}()

	return answer
}

// errHung is the failure of a hook or a client that did not return in time.
var errHung = errors.New("lambdawrap: the hook or client was still running when the answer was due")

// await runs user code until ctx ends. After that the code is abandoned.
func await(ctx context.Context, code func() error) error {
	select {
	case err := <-background(code):
		return err
	case <-ctx.Done():
		return errHung
	}
}
