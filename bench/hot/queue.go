package main

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// visibility is for how long the queue hides a message that a worker reported failed.
const visibility = 100 * time.Millisecond

// queue is one queue for all workers. It is safe for concurrent use.
type queue struct {
	mu       sync.Mutex
	changed  *sync.Cond
	visible  []events.SQSMessage
	open     int // messages that are not acknowledged
	cameBack int
	closed   bool
}

func newQueue(messages []events.SQSMessage) *queue {
	q := &queue{visible: slices.Clone(messages), open: len(messages)}
	q.changed = sync.NewCond(&q.mu)

	return q
}

// take returns at most n messages. It waits until there is one, and returns none when all are acknowledged or the queue is
// closed.
func (q *queue) take(n int) []events.SQSMessage {
	q.mu.Lock()
	defer q.mu.Unlock()

	for len(q.visible) == 0 && q.open > 0 && !q.closed {
		q.changed.Wait()
	}

	if q.closed {
		return nil
	}

	n = min(n, len(q.visible))
	taken := q.visible[:n:n]
	q.visible = q.visible[n:]

	return taken
}

// settle acknowledges the messages of a batch but those that failed.
func (q *queue) settle(batch []events.SQSMessage, failed map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.changed.Broadcast()

	for _, m := range batch {
		if !failed[m.MessageId] {
			q.open--

			continue
		}

		q.cameBack++

		count, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
		time.AfterFunc(visibility, func() { q.show(received(m, count+1)) })
	}
}

func (q *queue) show(m events.SQSMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.visible = append(q.visible, m)
	q.changed.Broadcast()
}

// stop closes the queue.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.closed = true
	q.changed.Broadcast()
}

// returned is how often a message came back.
func (q *queue) returned() int {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.cameBack
}
