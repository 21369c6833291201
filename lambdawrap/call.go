package lambdawrap

import (
	"context"
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// handle runs a handler and returns its error. It returns late if the handler has not answered when the answer of the invocation is due;
// what the handler returns after that is dropped.
func (v *invocation) handle(ctx context.Context, h func(context.Context) error) (err error, late bool) { //nolint:revive // the error belongs to the handler
	ctx, cancel := withTimeout(ctx, v.opts.Timeout)
	defer cancel()

	begun := time.Now()
	answer := background(func() error { return h(ctx) })

	select {
	case err = <-answer:
	case <-v.closing:
		select {
		case err = <-answer: // both happened at once
		default:
			return nil, true
		}
	}

	if err == nil {
		v.durations.add(max(time.Since(begun), 1)) // 0 says that none is known
	}

	return err, false
}

// withTimeout returns the context of a handler, which ends after its Timeout. Zero means that it has no Timeout.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}

	return context.WithTimeout(ctx, timeout)
}

// errExited is the failure of code that ended its goroutine, as t.FailNow does.
var errExited = errors.New("lambdawrap: the code ended its goroutine (runtime.Goexit)")

// catch keeps a panic of the user's code in err. It is for a defer statement.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = newPanicError(v)
	}
}

// background runs user code in a goroutine of its own, so that a panic, the end of its goroutine and code that never returns cost no
// more than its own message. The channel gives the code's error, once. An error that cannot be read, such as a typed nil pointer,
// is replaced here by the panic, so that no later code panics when it reads the error.
func background(code func() error) <-chan error {
	answer := make(chan error, 1) // code that is abandoned can always end

	go func() {
		err := errExited

		defer func() { answer <- err }()
		defer catch(&err)

		err = panicerror.Readable(code())
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
