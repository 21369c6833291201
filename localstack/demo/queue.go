package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
)

// queue takes the announcements of payments.
type queue struct {
	mu   sync.Mutex // guards the fields below
	down bool
	ids  map[string]string // of the messages that it took → the payment
}

// Send implements idemddb.Sender.
func (q *queue) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	q.mu.Lock()
	defer q.mu.Unlock()

	answers := make([]error, len(ms))

	for i, m := range ms {
		var p ledger.Payment

		switch err := json.Unmarshal([]byte(m.Body), &p); {
		case err != nil:
			answers[i] = err
		case q.down:
			answers[i] = errors.New("the queue is down")
		default:
			q.ids[m.ID] = p.PaymentID
		}
	}

	return answers
}

func (q *queue) setDown(down bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.down = down
}

// payments returns the payments of which the queue has an announcement, one for each id.
func (q *queue) payments() []string {
	q.mu.Lock()
	defer q.mu.Unlock()

	return slices.Sorted(maps.Values(q.ids))
}
