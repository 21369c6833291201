package lambdawrap_test

import (
	"context"
	"encoding/json"
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

// foreignEvents are the events of other sources, as they come to the function, and what an error must say of each.
var foreignEvents = map[string]struct{ event, names string }{
	"SNS": {`{"Records":[{"EventVersion":"1.0","EventSubscriptionArn":"arn:aws:sns:us-east-1:1:t:s","EventSource":"aws:sns",
		"Sns":{"MessageId":"s-1","TopicArn":"arn:aws:sns:us-east-1:1:t","Message":"{}"}}]}`, `"aws:sns"`},
	"S3": {`{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"us-east-1","eventName":"ObjectCreated:Put",
		"s3":{"bucket":{"name":"b"},"object":{"key":"k","sequencer":"1"}}}]}`, `"aws:s3"`},
	"SES":        {`{"Records":[{"eventVersion":"1.0","eventSource":"aws:ses","ses":{}}]}`, `"aws:ses"`},
	"CloudFront": {`{"Records":[{"cf":{"config":{"eventType":"viewer-request"}}}]}`, "Records[0] has no messageId or body"},
	"Firehose":   {`{"deliveryStreamArn":"arn:aws:firehose:us-east-1:1:s","records":[{"recordId":"1","data":"e30="}]}`, "Records[0] has no messageId or body"},
	"EventBridge": {`{"version":"0","id":"e-1","detail-type":"Order placed","source":"shop","account":"1","time":"2026-11-01T00:00:00Z",
		"region":"us-east-1","resources":[],"detail":{"id":"o-1"}}`, "no Records"},
	"a console test": {`{"key1":"value1"}`, "no Records"},
	"one of SNS among messages of SQS": {`{"Records":[{"messageId":"1","eventSource":"aws:sqs","body":"k1"},
		{"EventSource":"aws:sns","Sns":{"MessageId":"s-1"}}]}`, `Records[1] is of "aws:sns"`},
}

// function is a wrapped handler as Lambda calls it: with the bytes of an event.
type function func(context.Context, string) (any, error)

// ofEvents makes a function of a wrapped handler, in the way of aws-lambda-go.
func ofEvents[In, Out any](f func(context.Context, In) (Out, error)) function {
	return func(ctx context.Context, event string) (any, error) {
		var in In
		if err := json.Unmarshal([]byte(event), &in); err != nil {
			return nil, err
		}

		return f(ctx, in)
	}
}

// foreignWays are the wrappers of events with records. work is called whenever a handler or a hook is.
var foreignWays = map[string]struct {
	source string // its own
	wrap   func(h *harness, work func()) function
}{
	"SQS": {"SQS", func(h *harness, work func()) function {
		h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error { work(); return nil }

		return ofEvents(lambdawrap.SQS(h.store, func(context.Context, events.SQSMessage) error { work(); return nil }, h.opts))
	}},
	"Batch": {"SQS", func(h *harness, work func()) function {
		h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error { work(); return nil }

		return ofEvents(lambdawrap.Batch(h.store, func(context.Context, events.SQSEvent) (r events.SQSEventResponse, _ error) {
			work()

			return r, nil
		}, h.opts))
	}},
	"Kinesis": {"Kinesis", func(h *harness, work func()) function {
		opts := streamOptions(h.opts, messageOfKinesis)
		opts.DeadLetter = func(context.Context, events.KinesisEventRecord, error) error { work(); return nil }

		return ofEvents(lambdawrap.Kinesis(h.store, func(context.Context, events.KinesisEventRecord) error { work(); return nil }, opts))
	}},
	"DynamoDBStream": {"DynamoDB", func(h *harness, work func()) function {
		opts := streamOptions(h.opts, messageOfChange)
		opts.DeadLetter = func(context.Context, events.DynamoDBEventRecord, error) error { work(); return nil }

		return ofEvents(lambdawrap.DynamoDBStream(h.store, func(context.Context, events.DynamoDBEventRecord) error { work(); return nil }, opts))
	}},
}

// ownEvents are events of the sources that have a wrapper.
var ownEvents = map[string]string{
	"SQS":      `{"Records":[{"messageId":"m1","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:us-east-1:1:q","body":"k1"}]}`,
	"Kinesis":  `{"Records":[{"eventID":"s:1","eventSource":"aws:kinesis","eventSourceARN":"arn","kinesis":{"sequenceNumber":"1","data":"azE="}}]}`,
	"DynamoDB": `{"Records":[{"eventID":"1","eventSource":"aws:dynamodb","eventSourceARN":"arn","dynamodb":{"SequenceNumber":"1","NewImage":{"payment":{"S":"k1"}}}}]}`,
}

// refuses demands that a function calls nothing for an event and fails, with an error that has these texts.
func (h *harness) refuses(f function, ran *int, event string, texts ...string) {
	h.Helper()

	_, err := f(h.Context(), event)
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			h.Errorf("got error %v, want one with %q", err, text)
		}
	}

	h.equal("calls of handlers and hooks", *ran, 0)
	h.equal("requests", len(h.db.Requests()), 0)
}

func TestAnEventOfAnotherSourceIsAnInvocationErrorInEveryMode(t *testing.T) {
	for mode, prepare := range map[string]func(*testing.T, *lambdawrap.Options){
		"an own key": func(*testing.T, *lambdawrap.Options) {},
		"the key is one": func(_ *testing.T, o *lambdawrap.Options) {
			o.Key = func(context.Context, events.SQSMessage) (string, error) { return "k", nil }
		},
		"the default": func(_ *testing.T, o *lambdawrap.Options) { o.Key = lambdawrap.MessageID },
		"disabled":    func(t *testing.T, _ *lambdawrap.Options) { t.Helper(); t.Setenv("IDEMDDB_DISABLED", "1") },
		"optimistic":  func(_ *testing.T, o *lambdawrap.Options) { o.Optimistic = true },
	} {
		for way, c := range foreignWays {
			t.Run(mode+", "+way, func(t *testing.T) {
				prepare(t, &lambdawrap.Options{}) // its environment must be set before the store is opened

				ran, h := 0, newHarness(t, nil)
				prepare(t, h.opts)

				if way == "Batch" {
					h.opts.Optimistic = false
				}

				f := c.wrap(h, func() { ran++ })
				for name, foreign := range foreignEvents {
					h.refuses(f, &ran, foreign.event, "expected an event of Amazon "+c.source)

					if c.source == "SQS" {
						h.refuses(f, &ran, foreign.event, foreign.names)
					}

					if t.Failed() {
						t.Fatalf("the event of %s", name)
					}
				}

				for source, event := range ownEvents {
					if source != c.source {
						h.refuses(f, &ran, event, "expected an event of Amazon "+c.source, `"aws:`+strings.ToLower(source)+`"`)
					}
				}

				_, err := f(t.Context(), ownEvents[c.source])
				h.equal("error of an own event", err, nil)
				h.equal("calls for it", ran, 1)
			})
		}
	}
}

// Tests and tools build messages by hand, without a source. The id or the body tells such a message from a record of another source.
func TestAMessageWithoutASourceIsOneOfSQSIfItHasAnIDOrABody(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.check(wrap(succeed), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m1", Body: "k1"}, {Body: "k2"}}}, nil, []string{"m1", ""})

		_, err := wrap(succeed)(h.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m2", Body: "k2"}, {}}})
		if err == nil || !strings.Contains(err.Error(), "Records[1] has no messageId or body") {
			h.Errorf("got error %v, want one that says what is missing", err)
		}

		h.ran("m1", "")
	})
}
