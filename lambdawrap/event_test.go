package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// durableHandler is the context of the handler of a durable function, as the SDK for durable executions makes it.
type durableHandler struct{ context.Context }

func (durableHandler) ExecutionArn() string { return "arn:execution" }
func (durableHandler) IsReplaying() bool    { return false }

// startedFuncs are functions of Func for inputs of several types, with metrics and without, as lambda.Start gets them. ran counts
// their handlers.
func startedFuncs(h *harness, ran *int) map[string]lambda.Handler {
	metrics := lambdawrap.NewMetrics(io.Discard, "payments")

	return map[string]lambda.Handler{
		"a struct":          lambda.NewHandler(funcOf[order](h, ran)),
		"a list":            lambda.NewHandler(funcOf[[]order](h, ran)),
		"any":               lambda.NewHandler(funcOf[any](h, ran)),
		"raw JSON":          lambda.NewHandler(funcOf[json.RawMessage](h, ran)),
		"any, with metrics": lambda.NewHandler(lambdawrap.Measure(metrics, funcOf[any](h, ran))),
	}
}

func funcOf[In any](h *harness, ran *int) lambdawrap.EventFunc[In, string] {
	return lambdawrap.Func(h.store, func(context.Context, In) (string, error) {
		*ran++

		return "<&>", nil
	}, &lambdawrap.FuncOptions[In]{Key: func(context.Context, In) (string, error) { return "k", nil }})
}

func TestTheArrayOfAPipeAndADurableInvocationAreRefusedByFuncBeforeAnythingRuns(t *testing.T) {
	t.Parallel()

	for payload, want := range map[string]string{
		`[{"messageId":"m1","eventSource":"aws:sqs","body":"{}"}]`:                                                   "Pipe",
		"\n [{\"eventSource\":\"aws:kinesis\"},{}]":                                                                  "one key on the whole",
		`[{"eventSource":"aws:kafka","topic":"t"}]`:                                                                  "Pipe",
		`{"DurableExecutionArn":"arn:aws:lambda:x","CheckpointToken":"t","InitialExecutionState":{"Operations":[]}}`: "durable function",
	} {
		ran, h := 0, newHarness(t, nil)

		for name, f := range startedFuncs(h, &ran) {
			h.errs(name+", "+payload, errorOf(f.Invoke(t.Context(), []byte(payload))), want)
		}

		h.errs("with the context of a durable handler", errorOf(funcOf[any](h, &ran)(durableHandler{t.Context()}, nil)), "durable function")

		h.equal("runs", ran, 0)
		h.equal("requests", len(h.db.Requests()), 0)
	}
}

// A list of a caller's own is one input, and the result is written as lambda.Start writes it.
func TestAllOtherInputsAreReadAndAnsweredAsByLambdaStart(t *testing.T) {
	t.Parallel()

	for name, payloads := range map[string][]string{
		"a list": {`[]`, `[{"id":"o-1"}]`, `null`}, "any": {`{}`, `[]`, `[1]`, `[{"eventSource":""}]`, `1`, `"DurableExecutionArn"`, `{"DurableExecutionArn":"a"}`},
		"a struct": {`{}`, `{"eventSource":"aws:sqs"}`}, "raw JSON": {`[[]]`},
	} {
		for _, payload := range payloads {
			ran, h := 0, newHarness(t, nil)

			answer, err := startedFuncs(h, &ran)[name].Invoke(t.Context(), []byte(payload))
			h.equal(name+", "+payload, []any{string(answer), err, ran}, []any{`"<&>"`, nil, 1})
		}
	}

	ran, h := 0, newHarness(t, nil)

	_, err := startedFuncs(h, &ran)["a struct"].Invoke(t.Context(), []byte(`[1]`))
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok || ran != 0 {
		t.Errorf("what is not of the type: got %v, %d runs", err, ran)
	}

	failing := lambdawrap.Func(h.store, func(context.Context, any) (string, error) { return "", errBank },
		&lambdawrap.FuncOptions[any]{Key: func(context.Context, any) (string, error) { return "other", nil }})
	h.fails(errorOf(failing.Invoke(t.Context(), []byte(`{}`))), errBank)
}

// An answer without failures would call the work of such an event done.
func TestAnEventWithoutRecordsIsAnInvocationError(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.errs("no records", errorOf(wrap(succeed)(h.Context(), events.SQSEvent{})), "Amazon SQS")
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

// foreignWays are the wrappers of events with records, each for its own source. work is called whenever a handler or a hook is.
var foreignWays = map[string]struct {
	source string
	wrap   func(h *harness, work lambdawrap.Handler) function
}{
	"SQS": {"SQS", func(h *harness, work lambdawrap.Handler) function {
		return ofEvents(lambdawrap.SQS(h.store, work, h.opts))
	}},
	"Batch": {"SQS", func(h *harness, work lambdawrap.Handler) function { return ofEvents(h.whole(work)) }},
	"Kinesis": {"Kinesis", func(h *harness, work lambdawrap.Handler) function {
		return ofEvents(lambdawrap.Kinesis(h.store, streamHandler(work, messageOfKinesis), streamOptions(h.opts, messageOfKinesis)))
	}},
	"DynamoDBStream": {"DynamoDB", func(h *harness, work lambdawrap.Handler) function {
		return ofEvents(lambdawrap.DynamoDBStream(h.store, streamHandler(work, messageOfChange), streamOptions(h.opts, messageOfChange)))
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

	h.errs(event, errorOf(f(h.Context(), event)), texts...)
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

				work := does(func() error { ran++; return nil })
				h.opts.DeadLetter = hookOf(work)
				f := c.wrap(h, work)

				for _, foreign := range foreignEvents {
					h.refuses(f, &ran, foreign.event, "expected an event of Amazon "+c.source)

					if c.source == "SQS" {
						h.refuses(f, &ran, foreign.event, foreign.names)
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

// Tests and tools build messages by hand, without a source. The id or the body tells such a message from a record of another
// source.
func TestAMessageWithoutASourceIsOneOfSQSIfItHasAnIDOrABody(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.check(wrap(succeed), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m1", Body: "k1"}, {Body: "k2"}}}, nil, []string{"m1", ""})

		_, err := wrap(succeed)(h.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m2", Body: "k2"}, {}}})
		h.errs("a message without both", err, "Records[1] has no messageId or body")
		h.ran("m1", "")
	})
}

// keyOfEvent is the key or ErrNoKey, as text.
func keyOfEvent[In any](t *testing.T, find func(context.Context, In) (string, error), in In) string {
	t.Helper()

	key, err := find(t.Context(), in)

	switch {
	case err == nil:
		return key
	case errors.Is(err, lambdawrap.ErrNoKey) && key == "":
		return "no key"
	default:
		t.Fatalf("got %q, %v", key, err)

		return ""
	}
}

func sns(m events.SNSEntity) events.SNSEvent {
	return events.SNSEvent{Records: []events.SNSEventRecord{{SNS: m}}}
}

func s3(name, bucket, key, version, sequencer string) events.S3Event {
	return events.S3Event{Records: []events.S3EventRecord{{EventName: name, S3: events.S3Entity{
		Bucket: events.S3Bucket{Name: bucket}, Object: events.S3Object{Key: key, VersionID: version, Sequencer: sequencer},
	}}}}
}

func TestKeysOfEvents(t *testing.T) {
	t.Parallel()

	two := sns(events.SNSEntity{TopicArn: "arn", MessageID: "m"})
	two.Records = append(two.Records, two.Records[0])

	staged := func(id any) events.SNSEntity {
		return events.SNSEntity{TopicArn: "arn", MessageID: "m", MessageAttributes: map[string]any{
			"idemddb-id": map[string]any{"Type": "String", "Value": id},
		}}
	}
	bridge := func(source, id string, resources ...string) string {
		return keyOfEvent(t, lambdawrap.EventBridgeID, events.EventBridgeEvent{Source: source, ID: id, Resources: resources})
	}
	object := func(e events.S3Event) string { return keyOfEvent(t, lambdawrap.S3ObjectVersion, e) }
	step := func(ctx context.Context, step string) string {
		return keyOfEvent(t, func(context.Context, string) (string, error) { return lambdawrap.DurableKey(ctx, step) }, step)
	}

	for name, c := range map[string]struct{ got, want string }{
		"EventBridge":                     {bridge("shop", "e-1", "arn:of:something"), `#["shop","e-1"]`},
		"EventBridge, staged":             {bridge("shop", "e-1", "arn:of:something", "idemddb:tx-0"), "tx-0"},
		"EventBridge, without an id":      {bridge("shop", ""), "no key"},
		"EventBridge, without a source":   {bridge("", "e-1"), "no key"},
		"EventBridge, of no text":         {bridge("shop\xff", "e-1"), "no key"},
		"SNS":                             {keyOfEvent(t, lambdawrap.SNSMessageID, sns(events.SNSEntity{TopicArn: "arn", MessageID: "m"})), `#["arn","m"]`},
		"SNS, staged":                     {keyOfEvent(t, lambdawrap.SNSMessageID, sns(staged("tx-0"))), "tx-0"},
		"SNS, with an empty id":           {keyOfEvent(t, lambdawrap.SNSMessageID, sns(staged(""))), `#["arn","m"]`},
		"SNS, with an id of no text":      {keyOfEvent(t, lambdawrap.SNSMessageID, sns(staged(7))), `#["arn","m"]`},
		"SNS, two":                        {keyOfEvent(t, lambdawrap.SNSMessageID, two), "no key"},
		"SNS, none":                       {keyOfEvent(t, lambdawrap.SNSMessageID, events.SNSEvent{}), "no key"},
		"SNS, without a topic":            {keyOfEvent(t, lambdawrap.SNSMessageID, sns(events.SNSEntity{MessageID: "m"})), "no key"},
		"S3, a version":                   {object(s3("ObjectCreated:Put", "b", "k", "v", "1")), `#["ObjectCreated:Put","b","k","v"]`},
		"S3, the same version is removed": {object(s3("ObjectRemoved:Delete", "b", "k", "v", "2")), `#["ObjectRemoved:Delete","b","k","v"]`},
		"S3, no versions":                 {object(s3("ObjectCreated:Put", "b", "k", "", "1")), `#["ObjectCreated:Put","b","k","1"]`},
		"S3, versions suspended":          {object(s3("ObjectCreated:Put", "b", "k", "null", "1")), `#["ObjectCreated:Put","b","k","1"]`},
		"S3, neither":                     {object(s3("ObjectCreated:Put", "b", "k", "", "")), "no key"},
		"S3, tags":                        {object(s3("ObjectTagging:Put", "b", "k", "v", "")), "no key"},
		"S3, none":                        {object(events.S3Event{}), "no key"},
		"a request": {keyOfEvent(t, func(ctx context.Context, in int) (string, error) {
			return lambdawrap.RequestID(inLambda(ctx, "r-1"), in)
		}, 0), `#["r-1"]`},
		"outside of Lambda":                     {keyOfEvent(t, lambdawrap.RequestID, 0), "no key"},
		"a step of a durable execution":         {step(durableHandler{t.Context()}, "charge"), `#["arn:execution","charge"]`},
		"a step without a name":                 {step(durableHandler{t.Context()}, ""), "no key"},
		"a step outside of a durable execution": {step(t.Context(), "charge"), "no key"},
		"a step in a derived context":           {step(context.WithoutCancel(durableHandler{t.Context()}), "charge"), "no key"},
	} {
		same(t, name, c.got, c.want)
	}
}

func TestSentMessageHasTheKeyOfMessageIDWhereThereIsNoIDOfOurs(t *testing.T) {
	t.Parallel()

	for name, m := range map[string]events.SQSMessage{
		"a plain body":           {Body: "hello"},
		"another attribute":      {MessageAttributes: map[string]events.SQSMessageAttribute{"other": {DataType: "String", StringValue: aws.String("tx-0")}}},
		"an empty attribute":     {MessageAttributes: map[string]events.SQSMessageAttribute{"idemddb-id": {DataType: "String", StringValue: aws.String("")}}},
		"an envelope without it": {Body: `{"Type":"Notification","MessageAttributes":{"other":{"Type":"String","Value":"tx-0"}}}`},
	} {
		m.MessageId, m.EventSourceARN = "m-1", "arn"

		same(t, name, keyOfEvent(t, lambdawrap.SentMessageID, m), `#["arn","m-1"]`)
	}
}
