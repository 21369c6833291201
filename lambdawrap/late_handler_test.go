package lambdawrap_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestWhenTheReserveBeginsAHandlerIsCancelled(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name       string
		obeys      bool
		failed     []string
		claimed    string
		optimistic string
	}{
		{"what it answers then is taken as it is", true, []string{"m3"}, "COMPLETED", "COMPLETED"},
		{"if it does not answer, its message is reported failed and a claimed key is kept", false, []string{"m2", "m3"}, "INPROGRESS", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			claimedAndOptimistic(t, everyMode, func(h *harness) {
				state := map[bool]string{false: c.claimed, true: c.optimistic}[h.opts.Optimistic]
				function := h.handle(h.staging(func(ctx context.Context, m events.SQSMessage) error {
					switch {
					case m.Body != "slow":
					case c.obeys:
						<-ctx.Done()
					default:
						time.Sleep(time.Minute)
					}

					return nil
				}))

				ctx, cancel := context.WithTimeout(h.Context(), 5*time.Second)
				defer cancel()

				response, err := function(ctx, batch("m1 k", "m2 slow", "m3 k3"))
				h.equal("in time", ctx.Err(), nil)
				h.equal("error", err, nil)
				h.equal("failed", ids(response), c.failed)
				h.equal("slow", h.state("slow"), state)

				if state := h.state("k3"); state != "none" && (state != "INPROGRESS released" || h.attempts("k3") != "0") {
					h.Errorf("k3: %s, attempts %s", state, h.attempts("k3"))
				}

				time.Sleep(2 * time.Minute)
				h.equal("slow, later", h.state("slow"), state)
				h.equal("slow is committed", h.counted("slow") == "1", c.obeys && h.opts.Optimistic)
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
			everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				hooks := 0
				h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					hooks++

					return nil
				}

				ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
				defer cancel()

				response, err := wrap(func(ctx context.Context, _ events.SQSMessage) error {
					<-ctx.Done()
					time.Sleep(600 * time.Millisecond) // after it, less than half of the reserve is left
					h.equal("it can stage more", idemddb.Stage(ctx, idemddb.Effects{}) == nil, false)

					return result()
				})(ctx, numbered(1))
				h.equal("error", err, nil)
				h.equal("in time", ctx.Err(), nil)
				h.equal("failed", ids(response), []string{"m0"})
				h.logs("level=WARN", "outcome=late")

				// The handler may still run, so its claim lasts for one more lease, which nothing renews. What it staged without one is dropped.
				time.Sleep(20 * time.Second)

				if h.opts.Optimistic {
					h.equal("record", h.state("k0"), "none")
				} else {
					_, _, err = h.store.Claim(h.Context(), "k0", nil)
					h.equal("the key is held", errors.Is(err, idemddb.ErrInProgress), true)
					h.equal("record", h.state("k0"), "INPROGRESS")
				}

				h.noRenewals()
				h.equal("committed", h.counted("k0"), "")
				h.equal("hooks", hooks, 0)

				claim(h, h.store, "k0") // the lease is over
			})
		})
	}
}

// A hook that hangs delays the answer, and the late handler runs on.
func TestTheClaimOfALateHandlerIsHeldUntilTheAnswer(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(h *harness) {
				h.opts.Timeout = 2 * time.Second
				h.opts.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { time.Sleep(2 * time.Minute) }
				other := h.open(h.db, nil)
				end := time.Now().Add(2*time.Minute + 15*time.Second) // this is half a lease after the answer

				go func() {
					time.Sleep(time.Second) // the wrapper claims the key first

					for ; time.Now().Before(end); time.Sleep(time.Second) {
						if claim, _, _ := other.Claim(h.Context(), "k0", nil); claim != nil {
							h.Error("the key is taken over while its late handler runs")

							return
						}
					}
				}()

				failed, took := h.within(5*time.Minute, wrap(h, slowly(4*time.Minute)), numbered(1))
				h.equal("failed", failed, []string{"m0"})

				if took < 2*time.Minute {
					h.Errorf("the answer comes after %v", took)
				}

				h.idle()
			})
		})
	}
}

// A late handler may still run for as long as the process does: until the answer is sent, which may wait for another message's hook.
func TestTheLeaseOfALateHandlerIsRenewedUntilTheAnswerIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 4 * time.Second}, func(h *harness) {
		const limit, reserve = time.Minute, 40 * time.Second

		begun := time.Now()
		h.opts.Workers, h.opts.Reserve = 2, reserve
		h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error { // the hook begins before the first handler is late
			time.Sleep(reserve)

			return nil
		}
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "k1" {
				time.Sleep(limit - reserve)

				return lambdawrap.Permanent(errBank)
			}

			time.Sleep(2 * limit)

			return nil
		})

		time.AfterFunc(limit-reserve/4-time.Second, func() { // this is a second before the answer, and many leases after the handler was late
			c, _, err := h.open(h.db, nil).Claim(context.Background(), "k0", nil)
			if c != nil || !errors.Is(err, idemddb.ErrInProgress) {
				h.Errorf("after %v: got claim %v, error %v, want in progress", time.Since(begun), c, err)
			}
		})

		failed, _ := h.within(limit, function, numbered(2))
		h.equal("failed", failed, []string{"m0", "m1"})
	})
}
