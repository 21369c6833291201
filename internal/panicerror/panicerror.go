// Package panicerror makes errors of panics, with the stack of the code that panicked, and reads the errors of the user's code.
package panicerror

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
)

// Error is a panic. Its text does not hold the stack, which may be long.
type Error struct {
	Who   string // panicked, in the words of the text
	Value any    // what was passed to panic; a text in place of an error that cannot be read
	stack []byte
}

// New is called while the goroutine panics. If the value is an error that has a stack, because the panic was carried here from
// another goroutine, that stack stands first.
func New(who string, value any) *Error {
	e := &Error{who, value, debug.Stack()}

	err, ok := value.(error)
	if !ok {
		return e
	}

	if carried := StackOf(err); carried != nil {
		e.stack = slices.Concat(carried, []byte("\ncarried to\n"), e.stack) // several goroutines get the same stack
	}

	if !isReadable(err) {
		e.Value = fmt.Sprintf("a %T that cannot be read", value)
	}

	return e
}

// Catch keeps a panic in failure. It is for a defer statement.
func Catch(who string, failure *error) {
	if v := recover(); v != nil {
		*failure = New(who, v)
	}
}

func (e *Error) Error() string { return fmt.Sprintf("%s panicked: %v", e.Who, e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)

	return err
}

// IsPermanent reports whether an error is marked as one that no retry mends, as by lambdawrap.Permanent or by a type of the
// user's own.
func IsPermanent(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err)

	return ok && p.Permanent()
}

// IsAnswer reports whether what the user's code returned wraps an error that has a meaning to its caller. A panic is no answer,
// whatever its value wraps.
func IsAnswer(err, meaning error) bool {
	_, isPanic := err.(*Error) //nolint:errorlint // errors.As would also find a panic of other code that this code has wrapped

	return !isPanic && errors.Is(err, meaning)
}

// Stack returns the stack of the goroutine that panicked, for those who recover.
func (e *Error) Stack() []byte { return e.stack }

// StackOf returns the stack of the first error that has one, of err and all that it wraps; nil if there is none. The error may be
// one of the user, whose methods may panic.
func StackOf(err error) (stack []byte) {
	defer func() { _ = recover() }()

	found, ok := errors.AsType[interface {
		error
		Stack() []byte
	}](err)
	if !ok {
		return nil
	}

	return found.Stack()
}

// Readable returns err if it can be read: it panics if the Error method does, or a method by which errors.Is and errors.AsType
// look into the error. All that is done to an error later is done here first. A typed nil pointer is the usual error that cannot
// be read.
func Readable(err error) error {
	if err != nil {
		_ = err.Error()
		_ = errors.Is(err, errNone)
		_, _ = errors.AsType[*noError](err)
	}

	return err
}

// isReadable reports whether an error can be read without a panic.
func isReadable(err error) (ok bool) {
	defer func() { _ = recover() }()

	_ = Readable(err)

	return true
}

// noError is an error that no error wraps, so that the search for it sees all that an error wraps.
type noError struct{ error }

var errNone error = &noError{}

// IsNil reports whether what the user gave is nil. A nil pointer or function inside an interface counts, too: it is a variable
// that was never set, and would panic at its first use.
func IsNil(given any) bool {
	v := reflect.ValueOf(given)

	return given == nil || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}
