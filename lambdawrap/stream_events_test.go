package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// FuzzStreamEvent sends any JSON through Lambda's own decoding to the wrappers of streams. They return an error before anything
// runs, or the lowest sequence number that failed.
func FuzzStreamEvent(f *testing.F) {
	for _, seed := range []string{
		`{"Records":[{"eventID":"shardId-0:2","eventSourceARN":"s","kinesis":{"sequenceNumber":"2","partitionKey":"a","data":"YmFk"}},{"eventID":"shardId-0:10","eventSourceARN":"s","kinesis":{"sequenceNumber":"10","partitionKey":"a","data":"b2s="}}]}`,
		`{"Records":[{"eventID":"shardId-0:10","eventSourceARN":"s","kinesis":{"sequenceNumber":"10","partitionKey":"a","data":"YmFk"}},{"eventID":"shardId-0:9","eventSourceARN":"s","kinesis":{"sequenceNumber":"9","partitionKey":"b","data":"YmFk"}}]}`,
		`{"Records":[{"eventID":"e1","eventSourceARN":"s","dynamodb":{"SequenceNumber":"7","Keys":{"pk":{"S":"bad"},"sk":{"N":"1"}}}},{"eventID":"e2","eventSourceARN":"s","dynamodb":{"SequenceNumber":"8","Keys":{"pk":{"S":"ok"},"sk":{"B":"AA=="}},"OldImage":{"m":{"M":{"l":{"L":[{"BS":["AA=="]},{"NULL":true}]}}}}}}]}`,
		`{"Records":[{"kinesis":{"sequenceNumber":"1","data":"84mawg=="}}]}`,
		`{"Records":[{"eventID":"shardId-0:1","eventSourceARN":"s","kinesis":{"sequenceNumber":"1","partitionKey":"a","data":"84mawgoDYWRhCgNib2IaBwgAGgNwLTEaBwgBGgNwLTIaBwgAGgNwLTMGhxHHsxVc/g+GjwvPq2oA"}}]}`,
		`{"Records":[{"dynamodb":{"SequenceNumber":"-1"}}]}`,
		`{"Records":[{"kinesis":{"sequenceNumber":"1"}},{"kinesis":{"sequenceNumber":"1"}}]}`, `{"Records":[]}`, `{"Records":null}`, `{}`, `null`,
		`{"Records":[{"dynamodb":{"SequenceNumber":"1","Keys":{"pk":null}}}]}`, `{"Records":[{"messageId":"m1","eventSource":"aws:sqs"}]}`,
	} {
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(5))
	}

	f.Fuzz(func(t *testing.T, payload []byte, workers uint8) {
		fuzzStream(t, payload, func(h *harness, work func(string) error) any {
			return lambdawrap.Kinesis(h.store, func(_ context.Context, r events.KinesisEventRecord) error {
				return work(string(r.Kinesis.Data))
			}, &kinesisOptions{Workers: int(workers), Logger: slog.New(slog.DiscardHandler)})
		}, func(e events.KinesisEvent) (all []events.SQSMessage) {
			for _, r := range e.Records {
				all = append(all, messageOfKinesis(r))
			}

			return all
		})
		fuzzStream(t, payload, func(h *harness, work func(string) error) any {
			return lambdawrap.DynamoDBStream(h.store, func(_ context.Context, r events.DynamoDBEventRecord) error {
				return work(r.Change.Keys["pk"].String())
			}, &lambdawrap.StreamOptions[events.DynamoDBEventRecord]{
				Workers: int(workers), Logger: slog.New(slog.DiscardHandler),
				OnRecord: func(context.Context, events.DynamoDBEventRecord, lambdawrap.Outcome) {}, // the handler then gets a copy
			})
		}, func(e events.DynamoDBEvent) (all []events.SQSMessage) {
			for _, r := range e.Records {
				all = append(all, events.SQSMessage{MessageId: r.Change.SequenceNumber, Body: r.Change.Keys["pk"].String()})
			}

			return all
		})
	})
}

func fuzzStream[E any](
	t *testing.T, payload []byte, wrap func(h *harness, work func(data string) error) any, messages func(E) []events.SQSMessage,
) {
	t.Helper()

	var event E

	h, ran := newHarness(t, nil), journal{}
	decoded := json.NewDecoder(bytes.NewReader(payload)).Decode(&event) // Lambda decodes it so

	answer, err := lambda.NewHandler(wrap(h, func(data string) error {
		ran.add(data)

		if strings.Contains(data, "bad") {
			return errBank
		}

		return nil
	})).Invoke(t.Context(), payload)
	if err != nil {
		h.equal("runs before an error", ran.all(), []string(nil))

		return
	}

	var response events.KinesisEventResponse
	if err := json.Unmarshal(answer, &response); err != nil || decoded != nil || len(response.BatchItemFailures) > 1 {
		t.Fatalf("answered %s: %v, %v", answer, err, decoded)
	}

	lowest, isKnown := new(big.Int), len(response.BatchItemFailures) == 0

	for _, f := range response.BatchItemFailures {
		lowest.SetString(f.ItemIdentifier, 10)
	}

	for _, m := range messages(event) {
		number, ok := new(big.Int).SetString(m.MessageId, 10)
		isKnown = isKnown || m.MessageId == response.BatchItemFailures[0].ItemIdentifier

		if strings.Contains(m.Body, "bad") && (!ok || len(response.BatchItemFailures) == 0 || number.Cmp(lowest) < 0) {
			t.Errorf("%s failed, and the answer is %s", m.MessageId, answer)
		}
	}

	h.equal("the answer is of the batch", isKnown, true)
}

// window is the part of an event that says which tumbling window it belongs to. The mapping adds it to the members of an ordinary
// event.
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
	h := parallelHarness(t)
	ran := new(atomic.Int64)

	for name, started := range startedStreams(h, ran) {
		_, err := started.handler.Invoke(t.Context(), []byte("{"+started.event+","+window+"}"))
		h.errs(name+", in a window", err, "TumblingWindowInSeconds")

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
			h.equal(stream+", "+name, []any{string(answer), err}, []any{`{"batchItemFailures":[]}`, nil})
		}

		h.equal("runs", ran.Load(), int64(2)) // the functions with metrics get the same records as those without

		_, err := startedStreams(h, ran)["Kinesis"].handler.Invoke(t.Context(), []byte(`{"Records": 1}`))
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			t.Errorf("an event that cannot be read: got the error %v", err)
		}
	}
}
