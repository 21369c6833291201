package lambdawrap_test

import "testing"

// SQS takes an empty id for a failure of the whole batch, also if a message has one.
func TestAnEmptyIDInTheAnswerOfBatchFailsAllOfItsMessages(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var calls journal

		event := batch("m1 k1", "m2 k2")
		event.Records[0].MessageId = ""

		if _, err := h.event(&calls, reporting(""))(h.Context(), event); err == nil {
			h.Error("got no error: a message without an id cannot be reported failed")
		}

		h.equal("record of the other message", h.state("k2"), "INPROGRESS released")
		h.equal("calls", calls.all(), []string{" m2"})
	})
}
