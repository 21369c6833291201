package bench

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// workload is what the queue delivers.
type workload struct {
	name       string
	size       int // messages in each batch
	duplicates int // of size: the last ones of each batch, completed before the measurement
	receives   int // ApproximateReceiveCount of the duplicates
}

func workloads() []workload {
	return []workload{
		{name: "unique", size: 10},
		{name: "resent", size: 10, duplicates: 10, receives: 1},
		{name: "redelivered", size: 10, duplicates: 10, receives: 2},
		{name: "mixed", size: 10, duplicates: 1, receives: 2},
	}
}

func (w *workload) batches(n int) []events.SQSEvent {
	batches := make([]events.SQSEvent, n)
	for i := range batches {
		batches[i] = w.batch(i)
	}

	return batches
}

// batch makes the event with the given number. No message is in two batches.
func (w *workload) batch(number int) events.SQSEvent {
	event := events.SQSEvent{Records: make([]events.SQSMessage, w.size)}
	for i := range event.Records {
		receives := 1
		if i >= w.size-w.duplicates {
			receives = w.receives
		}

		event.Records[i] = newMessage(number*w.size+i, receives)
	}

	return event
}

// firstDelivery is the event in which the batch's duplicates came before.
func (w *workload) firstDelivery(batch events.SQSEvent) events.SQSEvent {
	records := slices.Clone(batch.Records[w.size-w.duplicates:])
	for i := range records {
		records[i].Attributes = map[string]string{"ApproximateReceiveCount": "1"}
	}

	return events.SQSEvent{Records: records}
}

func newMessage(number, receives int) events.SQSMessage {
	return events.SQSMessage{
		MessageId:      fmt.Sprintf("%08x-5f21-4b3c-9d1e-%012x", number*2654435761%(1<<32), number),
		ReceiptHandle:  "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
		Body:           `{"account":"` + strconv.Itoa(number%100) + `","amount":1250,"currency":"EUR"}`,
		EventSource:    "aws:sqs",
		EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:payments",
		AWSRegion:      "us-east-1",
		Attributes: map[string]string{
			"ApproximateReceiveCount": strconv.Itoa(receives), "SentTimestamp": "1750000000000",
			"SenderId": "AIDAIENQZJOLO23YVJ4VO", "ApproximateFirstReceiveTimestamp": "1750000000100",
		},
	}
}

func TestBatchEndsWithItsDuplicates(t *testing.T) {
	t.Parallel()

	w := workload{size: 4, duplicates: 1, receives: 2}
	batch := w.batch(3)

	var receives []string
	for _, m := range batch.Records {
		receives = append(receives, m.Attributes["ApproximateReceiveCount"])
	}

	if diff := cmp.Diff([]string{"1", "1", "1", "2"}, receives); diff != "" {
		t.Error(diff)
	}

	first := w.firstDelivery(batch).Records
	if len(first) != 1 || first[0].MessageId != batch.Records[3].MessageId || first[0].Attributes["ApproximateReceiveCount"] != "1" {
		t.Errorf("the first delivery was %v, want the last message, received once", first)
	}
}

func TestMessageIDsDiffer(t *testing.T) {
	t.Parallel()

	w := workload{size: 100}
	seen := map[string]bool{}

	for i := range 50 {
		for _, m := range w.batch(i).Records {
			if seen[m.MessageId] || len(m.MessageId) != 36 {
				t.Fatalf("%q is not a UUID, or it is in two messages", m.MessageId)
			}

			seen[m.MessageId] = true
		}
	}
}
