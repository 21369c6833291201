package lambdawrap

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

func TestReceiveCount(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int{
		"1": 1, "2": 2, "1000": 1000, "": 1, "0": 1, "-7": 1, "many": 1, "1.5": 1, "2nd": 1, "99999999999999999999": 1,
	} {
		if got := receiveCount(events.SQSMessage{Attributes: map[string]string{"ApproximateReceiveCount": text}}); got != want {
			t.Errorf("receiveCount of %q = %d, want %d", text, got, want)
		}
	}

	if got := receiveCount(events.SQSMessage{}); got != 1 {
		t.Errorf("receiveCount without attributes = %d, want 1", got)
	}
}
