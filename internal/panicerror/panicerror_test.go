package panicerror_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/internal/panicerror"
)

var errBoom = errors.New("boom")

// explode is where code panics; its name stands in the stack.
func explode(value any) { panic(value) }

// caught returns the panic of explode.
func caught(value any) (err error) {
	defer panicerror.Catch("the code", &err)

	explode(value)

	return nil
}

// listError is an error that cannot be compared.
type listError []string

func (l listError) Error() string { return strings.Join(l, ", ") }

// nilError is an error that cannot be read through a nil pointer.
type nilError struct{ error }

func TestAPanicIsAnErrorWithAStack(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		value any
		text  string
	}{
		{"boom", "the code panicked: boom"},
		{errBoom, "the code panicked: boom"},
		{listError{"a", "b"}, "the code panicked: a, b"},
		{(*nilError)(nil), "the code panicked: a *panicerror_test.nilError that cannot be read"},
		{caught(errBoom), "the code panicked: the code panicked: boom"},
	} {
		err := caught(c.value)
		if err == nil || err.Error() != c.text {
			t.Errorf("got %v, want %s", err, c.text)
		}

		for what, stack := range map[string][]byte{
			"the error": panicerror.StackOf(err), "another": panicerror.StackOf(errors.Join(errBoom, fmt.Errorf("no: %w", err))),
		} {
			if !strings.Contains(string(stack), "panicerror_test.explode") {
				t.Errorf("%s of %v: the stack is %s", what, err, stack)
			}
		}

		if cause, ok := c.value.(error); ok && errors.Is(cause, errBoom) != errors.Is(err, errBoom) {
			t.Errorf("%v: the error does not wrap what its value wraps", err)
		}
	}
}

// Several goroutines get the panic of one. Each of them that recovers has both stacks, and the first one stays as it is.
func TestTheStackOfACarriedPanicStandsFirst(t *testing.T) {
	t.Parallel()

	first := caught(errBoom)
	stack := string(panicerror.StackOf(first))

	for range 2 {
		carried := string(panicerror.StackOf(caught(first)))
		if !strings.HasPrefix(carried, stack+"\ncarried to\ngoroutine ") || string(panicerror.StackOf(first)) != stack {
			t.Errorf("got %s", carried)
		}
	}
}

func TestCodeThatDoesNotPanicHasNoError(t *testing.T) {
	t.Parallel()

	var err error

	func() { defer panicerror.Catch("the code", &err) }()

	if err != nil || panicerror.StackOf(nil) != nil || panicerror.StackOf(errBoom) != nil {
		t.Errorf("got %v", err)
	}
}
