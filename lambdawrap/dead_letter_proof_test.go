package lambdawrap_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Once a message is reported as a dead letter, an operator may delete it. So the record must say first that its key has ended.
func TestAPermanentFailureIsNotDeadLetteredUnlessItsKeyHasEnded(t *testing.T) {
	t.Parallel()

	for name, happens := range map[string]func(*harness){
		"another worker has taken the key over": func(h *harness) {
			other := h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
			if _, _, err := other.Claim(h.Context(), "k", nil); err != nil {
				h.Error(err)
			}
		},
		"the write that ends the key is denied": func(h *harness) {
			h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.AccessDenied })
		},
		"the write that ends the key is not answered": func(h *harness) {
			h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LateReply })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					h.Error("the hook was called")

					return nil
				}

				ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
				defer cancel()

				function := wrap(func(context.Context, events.SQSMessage) error {
					happens(h)

					return lambdawrap.Permanent(errors.New("no such account"))
				})

				response, err := function(ctx, batch("m k"))
				h.equal("error", err, nil)
				h.equal("failed", ids(response), []string{"m"})
			})
		})
	}
}

// No delivery of such a message will have a key. Left in its queue, it would block its message group until its receives are used up.
func TestAMessageWithoutAKeyIsForTheDeadLetterHook(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var taken journal

		h.opts.Key, _ = lambdawrap.Body("id")
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, cause error) error {
			taken.add(m.MessageId)

			if !errors.Is(cause, lambdawrap.ErrNoKey) {
				h.Errorf("%s: got cause %v, want no key", m.MessageId, cause)
			}

			return nil
		}
		function := wrap(succeed)
		h.check(function, batch("m1 "+`{"id":`, "m2 "+`{"id":null}`, "m3 "+`{"id":"k"}`), nil, []string{"m3"})

		got := taken.all()
		slices.Sort(got)
		h.equal("dead letters", got, []string{"m1", "m2"})
	})
}
