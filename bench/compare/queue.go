package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// queue is a standard queue of SQS: a message that is received is hidden until it is deleted, or until its time is over.
type queue struct {
	mu       sync.Mutex
	messages []*message
}

type message struct {
	id       string
	payment  payment
	visible  time.Time
	receipts int
	deleted  bool
}

// receive returns up to ten messages, nil if there are none now. left is how many are not deleted.
func (q *queue) receive(now time.Time) (batch []*message, left int) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for _, m := range q.messages {
		if m.deleted {
			continue
		}

		left++

		if len(batch) < batchSize && !m.visible.After(now) {
			m.visible = now.Add(visibility)
			m.receipts++

			batch = append(batch, m)
		}
	}

	return batch, left
}

const batchSize = 10

// delete deletes what did not fail.
func (q *queue) delete(batch []*message, failed map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for _, m := range batch {
		m.deleted = m.deleted || !failed[m.id]
	}
}

// event is what Lambda hands to the function.
func (q *queue) event(batch []*message) ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()

	var e events.SQSEvent

	for _, m := range batch {
		body, err := json.Marshal(m.payment)
		if err != nil {
			return nil, fmt.Errorf("a message: %w", err)
		}

		e.Records = append(e.Records, events.SQSMessage{
			MessageId: m.id, ReceiptHandle: fmt.Sprintf("receipt-%s-%d", m.id, m.receipts), Body: string(body),
			Attributes: map[string]string{
				"ApproximateReceiveCount": strconv.Itoa(m.receipts), "SentTimestamp": "1763900000000", "SenderId": "AIDA",
				"ApproximateFirstReceiveTimestamp": "1763900000001",
			},
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:payments", EventSource: "aws:sqs", AWSRegion: "us-east-1",
			MessageAttributes: map[string]events.SQSMessageAttribute{},
		})
	}

	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("an event: %w", err)
	}

	return text, nil
}

// open returns the payments that still have a message.
func (q *queue) open() map[string]bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	open := map[string]bool{}

	for _, m := range q.messages {
		if !m.deleted {
			open[m.payment.ID] = true
		}
	}

	return open
}
