package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAVisibilityThatCanNotBeChangedIsOnlyLogged(t *testing.T) {
	t.Parallel()

	for name, meet := range map[string]func(context.Context, string) error{
		"error": func(context.Context, string) error { return errors.New("access denied") },
		"panic": func(context.Context, string) error { panic("access denied") },
		"exit":  func(context.Context, string) error { goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				h.hiding(meet)
				claim(h, h.store, "k1")
				h.check(wrap(failing(always(), "k0")), deliveredFor(numbered(3), 1), []string{"m0", "m1"}, []string{"m0", "m2"})
				h.equal("lines", strings.Count(h.log.String(), "visibility time-out"), 2)
				h.equal("k2", h.state("k2"), "COMPLETED")
			})
		})
	}
}

// A request to SQS that hangs concerns a message that has failed already. The others are worked on meanwhile.
func TestAVisibilityThatHangsCostsTheOthersNothing(t *testing.T) {
	t.Parallel()

	for name, first := range map[string]string{
		"after a failure": "fails", "of a key in progress": "held", "of a key in progress, FIFO": "held a",
	} {
		for _, ignores := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", it ignores its context: ", ignores), func(t *testing.T) {
				t.Parallel()
				everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
					h.hiding(func(ctx context.Context, _ string) error {
						if ignores {
							time.Sleep(2 * time.Minute)
						}

						<-ctx.Done()

						return ctx.Err()
					})

					claim(h, h.store, "held")

					ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
					defer cancel()

					function := wrap(failing(always(), "fails"))
					texts := []string{"m0 " + first, "m1 k1", "m2 k2"}

					if strings.HasSuffix(first, " a") {
						texts[1] += " b"
						texts[2] += " c"
					}

					event := deliveredFor(batch(texts...), 1)
					response, err := function(ctx, event)
					h.equal("error", err, nil)
					h.equal("in time", ctx.Err(), nil)
					h.equal("failed", ids(response), []string{"m0"})
				})
			})
		}
	}
}

func TestCallsToSQSAreBoundedWhenAllComesBackAtOnce(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var running, most atomic.Int64

		queue := h.hiding(func(context.Context, string) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			time.Sleep(10 * time.Millisecond)

			return nil
		})

		ctx, cancel := context.WithTimeout(h.Context(), time.Second) // the reserve takes the whole time, so all messages fail
		defer cancel()

		response, err := wrap(succeed)(ctx, deliveredFor(numbered(300), 1))
		h.equal("error", err, nil)
		h.equal("failed", len(response.BatchItemFailures), 300)
		h.equal("hidden", len(queue.seconds), 300)

		if most.Load() > 110 {
			h.Errorf("%d calls at once", most.Load())
		}
	})
}
