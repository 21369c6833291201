package lambdawrap_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Whoever is told that a message is a dead letter may delete it. So the record must say first that its key has ended.
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
