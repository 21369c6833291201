package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// window is the part of an event that says which tumbling window it belongs to. The mapping adds it to the members of an ordinary event.
const window = `"window": {"start": "2026-01-02T12:00:00Z", "end": "2026-01-02T12:02:00Z"}, "state": {}, "shardId": "shardId-000000000001",
	"isFinalInvokeForWindow": false, "isWindowTerminatedEarly": false`

// startedStream is what lambda.Start makes of a function of a stream, and an event for it, without its braces.
type startedStream struct {
	handler lambda.Handler
	event   string
}

// startedStreams returns the functions of both streams, with metrics and without. ran counts what their handlers do.
func startedStreams(h *harness, ran *atomic.Int64) map[string]startedStream {
	kinesis := lambdawrap.Kinesis(h.store, func(context.Context, events.KinesisEventRecord) error {
		ran.Add(1)

		return nil
	}, nil)
	change := lambdawrap.DynamoDBStream(h.store, func(context.Context, events.DynamoDBEventRecord) error {
		ran.Add(1)

		return nil
	}, nil)
	metrics := lambdawrap.NewMetrics(io.Discard, "payments")

	ofKinesis := `"Records": [{"eventID": "shardId-1:1", "eventSource": "aws:kinesis", "eventSourceARN": "` + kinesisARN + `",
		"kinesis": {"sequenceNumber": "1", "partitionKey": "p", "data": "e30="}}]`
	ofTable := `"Records": [{"eventID": "1", "eventSource": "aws:dynamodb", "eventSourceARN": "` + dynamodbARN + `",
		"dynamodb": {"SequenceNumber": "1", "Keys": {"window": {"S": "i-1"}}}}]`

	return map[string]startedStream{
		"Kinesis":                      {lambda.NewHandler(kinesis), ofKinesis},
		"Kinesis with metrics":         {lambda.NewHandler(lambdawrap.Measure(metrics, kinesis)), ofKinesis},
		"DynamoDB Streams":             {lambda.NewHandler(change), ofTable},
		"DynamoDB Streams and metrics": {lambda.NewHandler(lambdawrap.Measure(metrics, change)), ofTable},
	}
}

func TestAnEventOfATumblingWindowIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	ran := new(atomic.Int64)

	for name, started := range startedStreams(h, ran) {
		if _, err := started.handler.Invoke(t.Context(), []byte("{"+started.event+","+window+"}")); err == nil || !strings.Contains(err.Error(), "TumblingWindowInSeconds") {
			t.Errorf("%s, in a window: got the error %v", name, err)
		}

		if _, err := started.handler.Invoke(t.Context(), []byte(`{"Records": [],`+window+"}")); err == nil {
			t.Errorf("%s: the end of a window is taken for done", name)
		}

		h.equal(name+", runs", ran.Load(), int64(0))
	}
}

func TestAnEventOutsideOfAWindowIsServedAsBefore(t *testing.T) {
	t.Parallel()

	for name, members := range map[string]string{"no window": "", "null": `, "window": null`} {
		h := newHarness(t, nil)
		ran := new(atomic.Int64)

		for stream, started := range startedStreams(h, ran) {
			answer, err := started.handler.Invoke(t.Context(), []byte("{"+started.event+members+"}"))
			if err != nil || string(answer) != `{"batchItemFailures":[]}` {
				t.Errorf("%s, %s: got %s, %v", stream, name, answer, err)
			}
		}

		h.equal("runs", ran.Load(), int64(2)) // the functions with metrics get the same records as those without

		_, err := startedStreams(h, ran)["Kinesis"].handler.Invoke(t.Context(), []byte(`{"Records": 1}`))
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			t.Errorf("an event that cannot be read: got the error %v", err)
		}
	}
}
