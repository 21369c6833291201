package lambdawrap_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The events of localstack/events/envelopes hold one publication that the service has delivered twice, as two messages of the queue. Its effect
// happens once, by the default key and by one of the content, and both messages are done.
func TestAPublicationThatIsDeliveredTwiceHasItsEffectOnce(t *testing.T) {
	t.Parallel()

	byContent, err := lambdawrap.Body("paymentId")
	if err != nil {
		t.Fatal(err)
	}

	for name, envelope := range map[string]lambdawrap.EnvelopeFunc{"sns": lambdawrap.SNS, "eventbridge": lambdawrap.EventBridge} {
		for keyName, key := range map[string]lambdawrap.KeyFunc{"the default key": nil, "a key of the content": byContent} {
			t.Run(name+", "+keyName, func(t *testing.T) {
				t.Parallel()

				content, err := os.ReadFile("../localstack/events/envelopes/" + name + ".json")
				if err != nil {
					t.Fatal(err)
				}

				var event events.SQSEvent
				if err := json.Unmarshal(content, &event); err != nil || len(event.Records) != 2 {
					t.Fatalf("%d records, %v", len(event.Records), err)
				}

				paid := 0
				function := lambdawrap.SQS(newHarness(t, nil).store, lambdawrap.JSON(func(_ context.Context, p struct {
					PaymentID string `json:"paymentId"`
					Amount    int    `json:"amount"`
				},
				) error {
					if paid += p.Amount; p.PaymentID != "p-1" {
						t.Errorf("got %+v", p)
					}

					return nil
				}), &lambdawrap.Options{Envelope: envelope, Key: key})

				for range 2 { // and once more, as a redelivery of both
					response, err := function(t.Context(), event)
					if err != nil || len(response.BatchItemFailures) != 0 {
						t.Errorf("got %+v, %v", response, err)
					}
				}

				if paid != 1250 {
					t.Errorf("paid %d", paid)
				}
			})
		}
	}
}
