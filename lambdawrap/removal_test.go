package lambdawrap_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The removals of messages that are sent wait for the rest of their batch. Messages of a FIFO queue wait for each other, so a
// removal that waited would keep back the next message of its group.
func TestRemovalsOfSentMessagesShareARequestButOfAFIFOQueue(t *testing.T) {
	t.Parallel()

	ends := map[string]time.Duration{"m1": 10 * time.Millisecond, "m2": 20 * time.Millisecond, "m3": 30 * time.Millisecond}

	for name, c := range map[string]struct {
		event    events.SQSEvent
		requests int // that remove
	}{
		"SQS":  {batch("m0 k0", "m1 k1", "m2 k2", "m3 k3"), 1},
		"FIFO": {batch("m0 k0 a", "m1 k1 b", "m2 k2 c", "m3 k3 d"), 4},
	} {
		each(t, name, inBubble(&idemddb.Options{Senders: to(alwaysSays{nil})}), func(h *harness) {
			h.opts.Workers = 4
			begun := time.Now()
			h.answered(h.handle(func(ctx context.Context, m events.SQSMessage) error {
				<-time.After(ends[m.MessageId])

				return announceTwice(ctx, m)
			}), c.event)
			h.lasts(time.Since(begun), 30*time.Millisecond, 31*time.Millisecond)

			removals := 0

			for _, r := range h.db.Requests() {
				if isRemoval(r) || slices.ContainsFunc(r.Items, isRemoval) {
					removals++
				}
			}

			h.equal("requests that remove", removals, c.requests)

			for _, it := range h.db.Items("records") {
				h.equal("unsent messages", it["outbox"], nil)
			}
		})
	}
}

func isRemoval(r idemddbtest.Request) bool {
	return strings.Contains(r.Update, "outbox") && !isCompletion(r)
}
