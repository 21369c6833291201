package lambdawrap_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// pipeOfKinesis is a record as a pipe sends it: the members of Kinesis stand beside those of the event.
func pipeOfKinesis(r events.KinesisEventRecord) map[string]any {
	return map[string]any{
		"kinesisSchemaVersion": "1.0", "partitionKey": r.Kinesis.PartitionKey, "sequenceNumber": r.Kinesis.SequenceNumber,
		"data": base64.StdEncoding.EncodeToString(r.Kinesis.Data), "approximateArrivalTimestamp": 1545084650.987,
		"eventSource": "aws:kinesis", "eventVersion": "1.0", "eventID": r.EventID, "eventName": "aws:kinesis:record",
		"invokeIdentityArn": "arn:aws:iam::123456789012:role/pipe", "awsRegion": "us-east-1", "eventSourceARN": r.EventSourceArn,
	}
}

func pipedKinesis(h *harness, work lambdawrap.Handler) lambda.Handler {
	return lambda.NewHandler(lambdawrap.Pipe(
		lambdawrap.Kinesis(h.store, streamHandler(h.noted(work), messageOfKinesis), streamOptions(h.opts, messageOfKinesis))))
}

func pipedChanges(h *harness, work lambdawrap.Handler) lambda.Handler {
	return lambda.NewHandler(lambdawrap.Pipe(
		lambdawrap.DynamoDBStream(h.store, streamHandler(h.noted(work), messageOfChange), streamOptions(h.opts, messageOfChange))))
}

func pipedQueue(h *harness, work lambdawrap.Handler) lambda.Handler {
	return lambda.NewHandler(lambdawrap.Pipe(h.handle(work)))
}

func pipedBatch(h *harness, work lambdawrap.Handler) lambda.Handler {
	return lambda.NewHandler(lambdawrap.Pipe(h.whole(work)))
}

func pipedMetrics(h *harness, work lambdawrap.Handler) lambda.Handler {
	return lambda.NewHandler(lambdawrap.Pipe(lambdawrap.Measure(lambdawrap.NewMetrics(io.Discard, "payments"), h.handle(work))))
}

func asMessage(m events.SQSMessage) any { return m }

func messageID(m events.SQSMessage) string { return m.MessageId }

func kinesisID(m events.SQSMessage) string { return kinesisRecord(m).EventID }

// pipeWays are functions of a pipe's target, and what a pipe sends for messages and names for each of them.
var pipeWays = map[string]struct {
	function func(*harness, lambdawrap.Handler) lambda.Handler
	record   func(events.SQSMessage) any
	id       func(events.SQSMessage) string
}{
	"SQS":              {pipedQueue, asMessage, messageID},
	"SQS with metrics": {pipedMetrics, asMessage, messageID},
	"Batch":            {pipedBatch, asMessage, messageID},
	"Kinesis":          {pipedKinesis, func(m events.SQSMessage) any { return pipeOfKinesis(kinesisRecord(m)) }, kinesisID},
	"Kinesis, as an event source mapping has it": {pipedKinesis, func(m events.SQSMessage) any { return kinesisRecord(m) }, kinesisID},
	"DynamoDBStream": {
		pipedChanges, func(m events.SQSMessage) any { return change(m) }, func(m events.SQSMessage) string { return change(m).EventID },
	},
}

// piped is what a pipe sends for an event.
func piped(t *testing.T, event events.SQSEvent, record func(events.SQSMessage) any) []byte {
	t.Helper()

	array := []any{}
	for _, m := range event.Records {
		array = append(array, record(m))
	}

	return []byte(asJSON(t, array))
}

func TestTheArrayOfAPipeIsWorkedOnByEachWrapperAndTheAnswerNamesWhatThePipeKnows(t *testing.T) {
	t.Parallel()

	for name, way := range pipeWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h, closed := newHarness(t, nil), always()
			f := way.function(h, failing(closed, "b"))
			event := batch("9 a x", "10 b y", "11 c z", "12 d y")

			// The answer for a stream names all from the first that failed on. That for a FIFO queue names the failure, and what is behind
			// it.
			want := []string{way.id(event.Records[1]), way.id(event.Records[2]), way.id(event.Records[3])}
			if strings.HasPrefix(name, "SQS") || name == "Batch" {
				want = slices.Delete(want, 1, 2)
			}

			answer, err := f.Invoke(t.Context(), piped(t, event, way.record))
			h.equal("error", err, nil)
			h.equal("failed", failedOf(t, answer), want)

			if name != "Batch" { // its handler goes on by itself
				h.ran("9", "10", "11")
			}

			h.runs.clear()
			closed.Store(false)

			answer, err = f.Invoke(t.Context(), piped(t, event, way.record))
			h.equal("error", err, nil)
			h.equal("failed", failedOf(t, answer), []string(nil))
			h.ran("10", "12")

			answer, err = f.Invoke(t.Context(), piped(t, batch("9 a x"), way.record)) // one record is an array, too
			h.equal("one record", string(answer), `{"batchItemFailures":[]}`)
			h.equal("error", err, nil)
		})
	}
}

func failedOf(t *testing.T, answer []byte) (failed []string) {
	t.Helper()

	var response events.KinesisEventResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}

	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	return failed
}

func TestWhatIsNoArrayOfTheRightRecordsIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()

	for name, way := range pipeWays {
		h := newHarness(t, nil)
		f := way.function(h, succeed)

		for payload, want := range map[string]string{
			`{"Records":[]}`: "without Pipe", `{}`: "without Pipe", `null`: "without Pipe", ``: "without Pipe", `"[]"`: "without Pipe",
			`[{"eventSource":"aws:kafka"}]`: "aws:kafka", `[{}]`: "Records[0] has no ", `[1]`: "cannot be read", `[`: "cannot be read",
		} {
			h.errs(name+", "+payload, errorOf(f.Invoke(t.Context(), []byte(payload))), want)
		}

		answer, err := f.Invoke(t.Context(), []byte(" \n[]"))
		h.equal("none", string(answer), `{"batchItemFailures":[]}`)
		h.equal("error", err, nil)
		h.ran()
	}
}

// Without an id a pipe could not be told of the record, and would take it for done.
func TestARecordWithoutAnEventIDThatFailsBringsThePipesWholeBatchBack(t *testing.T) {
	h := parallelHarness(t)
	f := lambdawrap.Pipe(h.userRecords(failWith(errBank), &kinesisOptions{}))

	_, err := f.Invoke(t.Context(), []byte(`[{"eventSource":"aws:kinesis","sequenceNumber":"1","data":"e30="}]`))
	h.errs("a record without an id", err, "eventID")
}

// The event is that of AWS' documentation of pipes.
func TestADocumentedEventOfAPipeOfKinesisIsReadAsItCame(t *testing.T) {
	t.Parallel()

	var got events.KinesisEventRecord

	h := newHarness(t, nil)

	_, err := lambdawrap.Pipe(lambdawrap.Kinesis(h.store, func(_ context.Context, r events.KinesisEventRecord) error {
		got = r

		return nil
	}, nil)).Invoke(t.Context(), []byte(`[{"kinesisSchemaVersion":"1.0","partitionKey":"1","sequenceNumber":"49590338271490256608559692538361571095921575989136588898",
		"data":"SGVsbG8sIHRoaXMgaXMgYSB0ZXN0Lg==","approximateArrivalTimestamp":1545084650.987,"eventSource":"aws:kinesis","eventVersion":"1.0",
		"eventID":"shardId-000000000006:49590338271490256608559692538361571095921575989136588898","eventName":"aws:kinesis:record",
		"invokeIdentityArn":"arn:aws:iam::123456789012:role/lambda-role","awsRegion":"us-east-2",
		"eventSourceARN":"arn:aws:kinesis:us-east-2:123456789012:stream/lambda-stream"}]`))
	h.equal("error", err, nil)
	h.equal("data", string(got.Kinesis.Data), "Hello, this is a test.")
	h.equal("partition key", got.Kinesis.PartitionKey, "1")
	h.equal("time", got.Kinesis.ApproximateArrivalTimestamp.Unix(), int64(1545084650))
	h.equal("stream", got.EventSourceArn, "arn:aws:kinesis:us-east-2:123456789012:stream/lambda-stream")
}

// FuzzPipe sends any JSON to the target of a pipe of Kinesis. It returns an error before anything runs, or names records of the
// array, all from the first failure on.
func FuzzPipe(f *testing.F) {
	for _, seed := range []string{
		`[{"partitionKey":"a","sequenceNumber":"9","data":"b2s=","eventSource":"aws:kinesis","eventID":"s:9","eventSourceARN":"arn"},{"partitionKey":"b","sequenceNumber":"10","data":"YmFk","eventSource":"aws:kinesis","eventID":"s:10","eventSourceARN":"arn"},{"sequenceNumber":"11","data":"b2s=","eventID":"s:11","eventSourceARN":"arn"}]`,
		`[{"eventID":"s:1","eventSourceARN":"arn","kinesis":{"sequenceNumber":"1","data":"YmFk"}}]`, `[{"sequenceNumber":"1","data":"YmFk"}]`,
		`[{"messageId":"m","eventSource":"aws:sqs"}]`, `[]`, ` [ null ]`, `{"Records":[]}`, `[1]`,
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, payload []byte) {
		h, ran := newHarness(t, nil), journal{}

		answer, err := lambdawrap.Pipe(lambdawrap.Kinesis(h.store, func(_ context.Context, r events.KinesisEventRecord) error {
			ran.add(r.EventID)

			if strings.Contains(string(r.Kinesis.Data), "bad") {
				return errBank
			}

			return nil
		}, &kinesisOptions{Logger: slog.New(slog.DiscardHandler)})).Invoke(t.Context(), payload)
		if err != nil {
			if !strings.Contains(err.Error(), "eventID") { // of a record that failed
				h.equal("runs before an error", ran.all(), []string(nil))
			}

			return
		}

		var array []struct {
			EventID string `json:"eventID"`
		}

		if err := json.Unmarshal(payload, &array); err != nil {
			t.Fatalf("answered %s: %v", answer, err)
		}

		known := map[string]bool{}
		for _, r := range array {
			known[r.EventID] = true
		}

		for _, id := range failedOf(t, answer) {
			h.equal("the answer is of the batch", known[id], true)
		}
	})
}
