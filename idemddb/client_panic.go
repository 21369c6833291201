package idemddb

import (
	"errors"
	"fmt"
)

// errExited is the panic of a writer whose client has ended the goroutine of the request.
var errExited = errors.New("idemddb: the client ended its goroutine (runtime.Goexit)")

// clientPanicError carries a panic of the client from the goroutine of the request to the writers, with its stack.
type clientPanicError struct {
	value any
	stack []byte
}

func (p *clientPanicError) Error() string {
	return fmt.Sprintf("idemddb: the client panicked: %v", p.value)
}

// Unwrap returns the panic's value if it is an error.
func (p *clientPanicError) Unwrap() error {
	err, _ := p.value.(error)

	return err
}

// Stack returns the stack of the goroutine that panicked, for those who recover.
func (p *clientPanicError) Stack() []byte { return p.stack }
