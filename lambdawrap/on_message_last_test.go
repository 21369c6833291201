package lambdawrap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A completion without an answer is tried for as long as there is time. A program counts such messages in OnMessage, so time is
// left for this call: it ends before the answer, and is not taken for a hook that hangs.
func TestOnMessageIsCalledBeforeTheAnswerForAMessageWhoseCompletionHasNone(t *testing.T) {
	bothModes(t, func(h *harness) {
		ends := h.outcomes()
		h.opts.Workers = 10
		h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.LateReply))

		h.answeredIn(3*time.Second, h.handle(succeed), numbered(5))
		h.sorted("ends", ends, "m0 unrecorded", "m1 unrecorded", "m2 unrecorded", "m3 unrecorded", "m4 unrecorded")

		if strings.Contains(h.log.String(), "the hook for ended messages") {
			h.Errorf("the log is\n%s", h.log)
		}
	})
}

// Batch gives back the claims of what its handler does not get, and that is tried for as long.
func TestOnMessageIsCalledBeforeTheAnswerForAMessageWhoseClaimIsGivenBack(t *testing.T) {
	bothModes(t, func(h *harness) {
		ends := h.outcomes()
		h.heldElsewhere("k0", 0)
		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return !isCallOf(isClaim)(r) }, idemddbtest.LateReply))

		h.answeredIn(3*time.Second, h.whole(succeed), batch("m0 k0 g", "m1 k1 g", "m2 k2 g"), "m0", "m1", "m2")
		h.sorted("ends", ends, "m0 in_progress", "m1 blocked", "m2 blocked")

		if strings.Contains(h.log.String(), "the hook for ended messages") {
			h.Errorf("the log is\n%s", h.log)
		}
	})
}
