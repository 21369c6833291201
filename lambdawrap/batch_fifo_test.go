package lambdawrap_test

import (
	"strings"
	"testing"
)

func TestBatchOfAFIFOQueueIsNotGivenWhatComesBehindAFailure(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		held, _, err := h.store.Claim(h.Context(), "a2", nil)
		h.equal("error", err, nil)

		var calls journal

		function := h.event(&calls, reporting("m4"))
		h.answered(function, batch("m1 a1 a", "m2 b1 b", "m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 a4 a", "m7 b3 b", "m8 a1 a"),
			"m3", "m4", "m5", "m6", "m8")
		h.equal("calls", calls.all(), []string{"m1 m2 m4 m7"}) // what becomes of m7, behind a failure of its own, the handler says

		for _, key := range []string{"a3", "a4"} {
			h.equal(key, h.state(key), "INPROGRESS released")
			h.equal("attempts of "+key, h.attempts(key), "0")
		}

		h.equal("log", strings.Count(h.log.String(), "an earlier message of its group failed"), 3)

		for _, id := range []string{"m3", "m4", "m5", "m6", "m8"} {
			h.equal("lines for "+id, strings.Count(h.log.String(), "messageId="+id+" "), 1)
		}

		h.equal("error", held.Release(h.Context(), nil), nil)

		calls.clear()
		h.answered(h.event(&calls, reporting()), batch("m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 a4 a", "m8 a1 a"))
		h.equal("calls", calls.all(), []string{"m3 m4 m5 m6"})
	})
}

// Two groups share a key: each message has one answer and one line.
func TestBatchAnswersATwinInAnotherGroupOnce(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		_, _, err := h.store.Claim(h.Context(), "y", nil)
		h.equal("error", err, nil)

		var calls journal

		hidden := h.hiding(nil)
		function := h.event(&calls, reporting("m1"))
		h.answered(function, deliveredFor(batch("m1 x a", "m2 y b", "m3 x b"), 1), "m1", "m2", "m3")
		h.equal("calls", calls.all(), []string{"m1"})

		for _, id := range []string{"m1", "m2", "m3"} {
			h.equal("lines for "+id, strings.Count(h.log.String(), "messageId="+id+" "), 1)
			h.equal("hidden "+id, len(hidden.of(id)), 1)
		}
	})
}

// What one group waits for in another is not known before the handler has ended.
func TestBatchIsNotGivenWhatComesBehindATwinInAnotherGroup(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var calls journal

		function := h.event(&calls, reporting("m1"))
		h.answered(function, batch("m1 x a", "m2 x b", "m3 y b", "m4 z c"), "m1", "m2", "m3")
		h.equal("calls", calls.all(), []string{"m1 m4"})
		calls.clear()
		h.answered(h.event(&calls, reporting()), batch("m1 x a"))
		h.answered(h.event(&calls, reporting()), batch("m2 x b", "m3 y b"))
		h.equal("calls", calls.all(), []string{"m1", "m3"})
	})
}

func TestBatchAnswersForTheTwinsOfWhatItGaveBack(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		_, _, err := h.store.Claim(h.Context(), "held", nil)
		h.equal("error", err, nil)

		var calls journal

		function := h.event(&calls, reporting())
		h.answered(function, batch("m1 held b", "m2 x b", "m3 x a", "m4 z c"), "m1", "m2", "m3")
		h.equal("calls", calls.all(), []string{"m4"})

		for _, id := range []string{"m1", "m2", "m3"} {
			h.equal("lines for "+id, strings.Count(h.log.String(), "messageId="+id+" "), 1)
		}
	})
}
