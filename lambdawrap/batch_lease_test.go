package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestBatchIsNotGivenAClaimThatWasLostBefore(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.equal("error", claim(h, h.store, "dead").Fail(h.Context(), nil), nil)

		ahead := h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error {
			_, _, err := ahead.Claim(ctx, "k2", nil)
			time.Sleep(20 * time.Second) // the handler takes longer than half a lease

			return err
		}

		var (
			calls journal
			end   theEnd
		)

		h.opts.OnMessage = end.hook
		function := h.event(&calls, reporting())
		h.answered(function, batch("m0 dead a", "m1 k2 b", "m2 k3 c"), "m1")
		h.equal("calls", calls.all(), []string{"m2"})
		end.are(h, lambdawrap.OutcomeRefused, lambdawrap.OutcomeFenced, lambdawrap.OutcomeCompleted)
		h.equal("k2", h.state("k2"), "INPROGRESS")
	})
}

func TestBatchKeepsItsLeasesAndEndsWithTheLastClaim(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name string
		head string // the key of the message before k4 in its FIFO group
		lost []string
		ends bool
	}{
		{"none is lost", "", nil, false},
		{"some are lost", "", []string{"k0", "k2"}, false},
		{"all are lost", "", []string{"k0", "k1", "k2"}, true},
		{"all that it was given are lost", "held", []string{"k0", "k1", "k2"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(h *harness) {
				event := batch("m0 k0 a", "m1 k1 b", "m2 k2 c")

				if c.head != "" {
					claim(h, h.store, c.head)

					event.Records = append(event.Records, batch("head held d", "behind k4 d").Records...)
				}

				ahead := h.open(h.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})

				var calls journal

				function := h.event(&calls, func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
					for _, key := range c.lost {
						_, _, err := ahead.Claim(ctx, key, nil)
						h.equal("error", err, nil)
					}

					for range 10 {
						time.Sleep(10 * time.Second)

						for _, key := range []string{"k0", "k1", "k2"} {
							if _, _, err := h.store.Claim(context.WithoutCancel(ctx), key, nil); !errors.Is(err, idemddb.ErrInProgress) {
								t.Errorf("%s: got %v, want in progress", key, err)
							}
						}
					}

					h.equal("cancelled", ctx.Err() != nil, c.ends)
					h.equal("because it is fenced", errors.Is(context.Cause(ctx), idemddb.ErrFenced), c.ends)

					_, claimed := idemddb.FromContext(ctx)
					h.equal("a claim", claimed, false)

					return events.SQSEventResponse{}, nil
				})

				response, err := function(h.Context(), event)
				h.equal("error", err, nil)
				h.equal("calls", calls.all(), []string{"m0 m1 m2"})

				for i, key := range []string{"k0", "k1", "k2"} {
					if lost := slices.Contains(c.lost, key); lost != slices.Contains(ids(response), fmt.Sprint("m", i)) {
						t.Errorf("lost: %v, failed: %v", c.lost, ids(response))
					}
				}
			})
		})
	}
}
