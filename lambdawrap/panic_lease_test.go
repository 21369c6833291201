package lambdawrap_test

import (
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A logger that panics ends the invocation. Where nothing has a deadline, a claim that was renewed from then on would keep its
// key for as long as the process lives: each delivery of the message would find it held, until its queue gives it up.
func TestAClaimIsNotRenewedAfterAPanicOfTheLogger(t *testing.T) {
	t.Parallel()

	for name, isOver := range map[string]bool{"of the line about a takeover": true, "of the line about another message": false} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			held := h.heldElsewhere("k1", 0)
			if isOver {
				time.Sleep(time.Minute)
			}

			quiet := h.opts.Logger
			h.opts.Logger = panicking()
			h.failsWhole(wrap(succeed), batch("m1 k1 g", "m2 k2 h"), "logger")

			h.noRenewals()
			h.equal("the other worker holds its key", held.Held(), false)

			h.opts.Logger = quiet
			h.answered(wrap(succeed), batch("m1 k1 g", "m2 k2 h"))
		})
	}
}
