package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// newPanicError is called while the goroutine panics.
func newPanicError(value any) *PanicError {
	p := panicerror.New("", value)

	return &PanicError{Value: p.Value, Stack: p.Stack()}
}

// durations holds how long the last successful handlers took. The longest of these times says when it is too late for another
// handler to start.
type durations struct {
	longest atomic.Int64 // a time.Duration; 0 if no handler has succeeded yet

	mu   sync.Mutex
	last [16]time.Duration
	n    int
}

// handle runs a handler and returns its error. It returns late if the handler has not answered when closing is closed; what the
// handler returns after that is dropped.
func (d *durations) handle( //nolint:revive // the error belongs to the handler
	ctx context.Context, timeout time.Duration, closing <-chan struct{}, h func(context.Context) error,
) (err error, late bool) {
	ctx, cancel := withTimeout(ctx, timeout)
	defer cancel()

	begun := time.Now()
	answer := background(func() error { return h(ctx) })

	select {
	case err = <-answer:
	case <-closing:
		select {
		case err = <-answer: // both happened at once
		default:
			return nil, true
		}
	}

	if err == nil {
		d.add(time.Since(begun))
	}

	return err, false
}

// add keeps the duration of a handler that succeeded, in place of the oldest one.
func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()

	took = max(took, 1) // 0 says that none is known
	d.last[d.n%len(d.last)] = took
	d.n++
	d.longest.Store(int64(slices.Max(d.last[:])))
}

// withTimeout returns the context of a handler, which ends after its Timeout. Zero means that it has no Timeout.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}

	return context.WithTimeout(ctx, timeout)
}

// within returns a context with the values of ctx that ends at this time, or not at all if it is zero.
func within(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if end.IsZero() {
		return context.WithCancel(ctx)
	}

	return context.WithDeadline(ctx, end)
}

// errExited is the failure of code that ended its goroutine, as t.FailNow does.
var errExited = errors.New("lambdawrap: the code ended its goroutine (runtime.Goexit)")

// catch keeps a panic of the user's code in err. It is for a defer statement.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = newPanicError(v)
	}
}

// background runs user code in a goroutine of its own, so that a panic, the end of its goroutine and code that never returns cost
// no more than its own message. The channel gives the code's error, once. An error that cannot be read, such as a typed nil
// pointer, is replaced here by the panic, so that no later code panics when it reads the error.
func background(code func() error) <-chan error {
	answer := make(chan error, 1) // code that is abandoned can always end

	go func() {
		err := errExited

		defer func() { answer <- err }()
		defer catch(&err)

		if err = code(); err != nil {
			err = panicerror.Readable(err)
		}
	}()

	return answer
}

// errHung is the failure of a hook or a client that did not return in time.
var errHung = errors.New("lambdawrap: the hook or client was still running when its time was over")

// await runs user code until ctx ends. After that the code is abandoned.
func await(ctx context.Context, code func() error) error {
	select {
	case err := <-background(code):
		return err
	case <-ctx.Done():
		return errHung
	}
}
