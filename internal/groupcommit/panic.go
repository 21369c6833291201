package groupcommit

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrExited is the panic of a writer whose client has ended the goroutine of the request.
var ErrExited error = &PanicError{value: errors.New("idemddb: the client ended its goroutine (runtime.Goexit)")}

// PanicError carries a panic of the client from the goroutine of the request to the writers, with its stack.
type PanicError struct {
	value any
	stack []byte
}

// Catch keeps a panic in failure. It is for a defer statement.
func Catch(failure *error) {
	if v := recover(); v != nil {
		*failure = &PanicError{v, debug.Stack()}
	}
}

func (p *PanicError) Error() string {
	return fmt.Sprintf("idemddb: the client panicked: %v", p.value)
}

// Unwrap returns the panic's value if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.value.(error)

	return err
}

// Stack returns the stack of the goroutine that panicked, for those who recover.
func (p *PanicError) Stack() []byte { return p.stack }
