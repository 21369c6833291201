package lambdawrap_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// An answer without failures would call the work of such an event done.
func TestAnEventWithoutRecordsIsAnInvocationError(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		_, err := wrap(succeed)(h.Context(), events.SQSEvent{})
		if err == nil || !strings.Contains(err.Error(), "Amazon SQS") {
			h.Errorf("got error %v, want one that says what was expected", err)
		}

		h.answered(wrap(succeed), events.SQSEvent{Records: []events.SQSMessage{}})
		h.ran()
	})
}
