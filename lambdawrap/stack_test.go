package lambdawrap_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// brokenSender panics.
type brokenSender struct{}

func (brokenSender) Send(context.Context, string, []idemddb.Message) []error { panic("no topic") }

var broken = idemddb.Options{RedeliverUnsent: true, Senders: map[string]idemddb.Sender{"topic": brokenSender{}}}

func announce(ctx context.Context, _ events.SQSMessage) error {
	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "topic", Body: "b"}}})
}

func TestAPanicOfASenderIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &broken)
	h.check(h.handle(announce), batch("m1 k1"), []string{"m1"}, []string{"m1"})
	h.logs("level=ERROR", "outcome=unsent", "the sender panicked: no topic", "stack=", "brokenSender.Send")
}

func TestHTTPAPanicOfASenderIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	webBubble(t, &broken, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("Stage", announce(r.Context(), events.SQSMessage{}), nil)
			created(rw, r)
		}

		w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
		w.logs("level=ERROR", "outcome=unsent", "the sender panicked: no topic", "stack=", "brokenSender.Send")
	})
}

// tracedError is an error of the user that has a stack, as many packages of errors make them. It is no panic.
type tracedError struct{ stack func() []byte }

func (tracedError) Error() string   { return "declined" }
func (e tracedError) Stack() []byte { return e.stack() }

func TestAnErrorWithAStackIsLoggedWithIt(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		err   error
		level string
		want  string // of the stack; "" for none
	}{
		"returned": {errors.Join(errBank, tracedError{func() []byte { return []byte("bank.go:7") }}), "WARN", "stack=bank.go:7"},
		"no stack": {tracedError{func() []byte { return nil }}, "WARN", ""},
		"a panic":  {tracedError{func() []byte { panic("no stack") }}, "WARN", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := newHarness(t, nil)
			h.check(h.handle(func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(c.err) }),
				batch("m1 k1"), []string{"m1"}, []string{"m1"})
			h.logs("level="+c.level, "declined", c.want)

			if strings.Contains(h.log.String(), "stack=") != (c.want != "") {
				h.Errorf("the log has a stack, or has none: %s", h.log)
			}
		})
	}
}

// A panic whose value has a stack of its own, or wraps an error with one, is logged with both.
func TestAPanicIsLoggedWithTheStackThatItsValueHas(t *testing.T) {
	t.Parallel()

	for name, value := range map[string]any{
		"its own":   tracedError{func() []byte { return []byte("bank.go:7") }},
		"a wrapped": errors.Join(errBank, tracedError{func() []byte { return []byte("bank.go:7") }}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := newHarness(t, nil)
			h.check(h.handle(func(context.Context, events.SQSMessage) error { panic(value) }), batch("m1 k1"), []string{"m1"}, []string{"m1"})
			h.logs("level=ERROR", "bank.go:7\\ncarried to\\ngoroutine", "stack_test.go")
		})
	}
}

// The value of a panic is read before all else, and a method of it that panics costs its own message.
func TestAPanicWhoseStackPanicsCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for name, value := range map[string]any{
		"its stack panics": tracedError{func() []byte { panic("no stack") }},
		"a typed nil":      (*tracedError)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := newHarness(t, nil)
			h.check(h.handle(func(_ context.Context, m events.SQSMessage) error {
				if m.Body == "k1" {
					panic(value)
				}

				return nil
			}), batch("m1 k1", "m2 k2"), []string{"m1"}, []string{"m1", "m2"})
			h.logs("level=ERROR", "stack_test.go")
		})
	}
}
