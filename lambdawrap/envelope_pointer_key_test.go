package lambdawrap_test

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A producer of an extended client that chooses the key of the object may store the next body under the same one. The message
// about it is work of its own; a delivery that SNS or the queue repeats is not.
func TestTwoMessagesWhoseProducerChoseOneKeyForTheirObjectsAreBothWorkedOn(t *testing.T) {
	t.Parallel()

	objects := shelf{}
	fetch := lambdawrap.S3Pointer(objects)
	chosen := map[string]events.SQSMessageAttribute{"S3Key": {DataType: "String", StringValue: new("k")}}
	bySNS := func(id string) string {
		return asJSON(t, map[string]any{
			"Type": "Notification", "MessageId": id, "Message": pointerTo,
			"MessageAttributes": map[string]any{"S3Key": map[string]string{"Type": "String", "Value": "k"}},
		})
	}

	for name, c := range map[string]struct {
		open          lambdawrap.EnvelopeFunc
		first, second string
	}{
		"a queue": {fetch, pointerTo, pointerTo}, "a topic": {lambdawrap.Chain(lambdawrap.SNS, fetch), bySNS("n-1"), bySNS("n-2")},
	} {
		h := newHarness(t, nil)
		h.opts.Envelope, h.opts.Key = c.open, nil
		function := h.handle(succeed)

		for id, body := range map[string]string{"m1": c.first, "m2": c.second} {
			event := batch(id + " x")
			event.Records[0].Body, event.Records[0].MessageAttributes = body, chosen
			objects["b/k"] = "the body of " + id

			for _, want := range [][]string{{id}, nil} {
				h.runs.clear()
				h.answered(function, event)
				h.equal(name, h.runs.all(), want)
			}
		}
	}
}
