package lambdawrap

import (
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

// newPanicError is called while the goroutine panics.
func newPanicError(value any) *PanicError {
	p := panicerror.New("", value)

	return &PanicError{Value: p.Value, Stack: p.Stack()}
}
