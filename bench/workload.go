package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// workload is what the queue delivers.
type workload struct {
	name  string
	label string
	size  int // messages a batch

	repeated int // of size: how many were completed before, at the end of the batch
	receives int // ApproximateReceiveCount of those

	variants []string
	workers  int // instead of the variant's; 0: those
	messages int // a run, whatever the latency; 0: see batches
	cold     bool
	rounds   int  // at most; 0: no limit
	extra    bool // no target needs it
}

func workloads() []workload {
	return []workload{
		{
			name: "unique", label: "unique keys, batches of 10", size: 10,
			variants: []string{"a", "a-lean", "a-http", "b", "c", "c10", "d1", "d10"},
		},
		{
			name: "first", label: "duplicates, delivered for the first time (a producer sent twice)", size: 10, repeated: 10, receives: 1,
			variants: []string{"a", "b", "c", "c-cache", "d1", "d10"},
		},
		{
			name: "again", label: "duplicates, delivered again", size: 10, repeated: 10, receives: 2,
			variants: []string{"a", "b", "c", "d1", "d10"},
		},
		{
			name: "mixed", label: "10 % duplicates, delivered again", size: 10, repeated: 1, receives: 2, extra: true,
			variants: []string{"a", "b", "c", "c10", "d1", "d10"},
		},
		{
			name: "hundred", label: "unique keys, batches of 100, 4,000 messages; connections from the first on", size: 100, workers: 50,
			messages: 4000, cold: true, rounds: 3, variants: []string{"b", "c", "d10"},
		},
	}
}

func workloadNames() []string {
	all := workloads()
	names := make([]string, len(all))

	for i, w := range all {
		names[i] = w.name
	}

	return names
}

// handlerKind is what a message costs the user.
type handlerKind struct {
	name      string
	label     string
	takes     time.Duration
	workloads []string
	without   []string // variants
}

func handlerKinds() []handlerKind {
	return []handlerKind{
		{name: "noop", label: "a handler that does nothing", workloads: workloadNames()},
		{
			name: "5ms", label: "a handler of 5 ms, one at a time", takes: 5 * time.Millisecond,
			workloads: []string{"unique", "mixed"}, without: []string{"a-lean", "a-http"},
		},
	}
}

func handlerNames() []string {
	all := handlerKinds()
	names := make([]string, len(all))

	for i, h := range all {
		names[i] = h.name
	}

	return names
}

// batches is how many make a run: enough to be measured, few enough for by hand, one by one.
func (w *workload) batches(latency time.Duration, h *handlerKind, quick bool) int {
	n := 10

	switch {
	case w.messages > 0:
		return w.messages / w.size
	case h.takes > 0:
		n = 4
	case latency == 0:
		n = 30
	}

	if quick {
		n = max(2, n/2)
	}

	return n
}

// batch makes one event; number tells it from the others of the run.
func (w *workload) batch(number int) events.SQSEvent {
	event := events.SQSEvent{Records: make([]events.SQSMessage, w.size)}
	for i := range event.Records {
		receives := 1
		if i >= w.size-w.repeated {
			receives = w.receives
		}

		event.Records[i] = newMessage(number*w.size+i, receives)
	}

	return event
}

// seenBefore is the part of a batch that was completed earlier, as it was delivered then.
func (w *workload) seenBefore(event events.SQSEvent) events.SQSEvent {
	records := slices.Clone(event.Records[w.size-w.repeated:])
	for i, m := range records {
		m.Attributes = map[string]string{"ApproximateReceiveCount": "1"}
		records[i] = m
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
