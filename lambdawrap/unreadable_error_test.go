package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// codeError is an error that cannot be read through a nil pointer, as most of them are.
type codeError struct {
	code  int
	inner error
}

func (e *codeError) Error() string { return fmt.Sprint("code ", e.code) }

func (e *codeError) Unwrap() error { return e.inner }

// quietError can be read through a nil pointer, but not unwrapped.
type quietError struct{ inner error }

func (*quietError) Error() string { return "quiet" }

func (e *quietError) Unwrap() error { return e.inner }

var badErrors = map[string]error{
	"a typed nil":                         (*codeError)(nil),
	"a typed nil in Permanent":            lambdawrap.Permanent((*codeError)(nil)),
	"a typed nil in errors.Join":          errors.Join(errBank, (*codeError)(nil)),
	"a typed nil that cannot unwrap":      (*quietError)(nil),
	"one that cannot unwrap in Permanent": lambdawrap.Permanent((*quietError)(nil)),
	"one that cannot unwrap in another":   fmt.Errorf("%w, and %w", errBank, (*quietError)(nil)),
}

func TestAnErrorThatCannotBeReadCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for name, bad := range badErrors {
		for what, give := range map[string]func() error{"returned": func() error { return bad }, "panicked": func() error { panic(bad) }} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				everyMode(t, func(h *harness) {
					function := h.handle(func(_ context.Context, m events.SQSMessage) error {
						if m.Body == "k1" {
							return give()
						}

						return nil
					})

					failed, _ := h.within(time.Minute, function, numbered(4))
					h.equal("failed", failed, []string{"m1"})
					h.ran(messageIDs(4)...)
					h.equal("record", h.state("k1"), "INPROGRESS released")

					if text := h.log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "messageId=m1") || !strings.Contains(text, "stack=") {
						h.Errorf("log: %s", text)
					}
				})
				everyMode(t, func(h *harness) {
					h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) {
						if m.Body == "k1" {
							return "", give()
						}

						return m.Body, nil
					}
					function := h.whole(succeed)

					failed, _ := h.within(time.Minute, function, numbered(4))
					h.equal("failed", failed, []string{"m1"})
					h.ran("m0", "m2", "m3")
				})
				everyMode(t, func(h *harness) {
					h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error { return give() }

					failed, _ := h.within(time.Minute, h.handle(func(_ context.Context, m events.SQSMessage) error {
						if m.Body == "k1" {
							return lambdawrap.Permanent(errBank)
						}

						return nil
					}), numbered(4))
					h.equal("failed", failed, []string{"m1"})
				})
				everyMode(t, func(h *harness) {
					h.hiding(func(context.Context, string) error { return give() })

					failed, _ := h.within(time.Minute, h.handle(failing(always(), "k1")), deliveredFor(numbered(4), 1))
					h.equal("failed", failed, []string{"m1"})
				})
				everyMode(t, func(h *harness) {
					function := h.event(&h.runs, func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
						return events.SQSEventResponse{}, give()
					})

					failed, _ := h.within(time.Minute, function, numbered(2))
					h.equal("failed", failed, messageIDs(2))
				})
			})
		}
	}
}
