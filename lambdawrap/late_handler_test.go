package lambdawrap_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAHandlerInTheReserveIsCancelledAndItsLateResultDropped(t *testing.T) {
	t.Parallel()

	for name, deaf := range map[string]bool{"it obeys": false, "it is deaf": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, &idemddb.Options{Lease: 20 * time.Second})
				function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
					if m.Body != "slow" {
						return nil
					}

					if deaf {
						time.Sleep(time.Minute)
					}

					<-ctx.Done()

					return nil // too late
				})

				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()

				response, err := function(ctx, batch("m1 k", "m2 slow", "m3 k3"))
				h.equal("in time", ctx.Err(), nil)
				h.equal("error", err, nil)
				h.equal("failed", ids(response), []string{"m2", "m3"})
				h.equal("slow", h.state("slow"), "INPROGRESS")
				h.equal("k3", h.state("k3"), "INPROGRESS released")
				h.equal("attempts", h.attempts("k3"), "0")
				time.Sleep(2 * time.Minute)
				h.equal("slow, later", h.state("slow"), "INPROGRESS")
			})
		})
	}
}

func TestALateResultIsDroppedWhateverItIs(t *testing.T) {
	t.Parallel()

	for name, result := range map[string]func() error{
		"success":   func() error { return nil },
		"error":     func() error { return errBank },
		"permanent": func() error { return lambdawrap.Permanent(errBank) },
		"panic":     func() error { panic("late") },
		"exit":      func() error { goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				hooks := 0
				h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					hooks++

					return nil
				}

				ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
				defer cancel()

				response, err := wrap(func(ctx context.Context, _ events.SQSMessage) error {
					<-ctx.Done()
					time.Sleep(100 * time.Millisecond) // it ends in the reserve

					return result()
				})(ctx, numbered(1))
				h.equal("error", err, nil)
				h.equal("in time", ctx.Err(), nil)
				h.equal("failed", ids(response), []string{"m0"})
				h.equal("record", h.state("k0"), "INPROGRESS")
				h.equal("hooks", hooks, 0)
				h.noRenewals()
				h.equal("record", h.state("k0"), "INPROGRESS")
			})
		})
	}
}
