package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The index of the unsent messages does not have a record whose messages are all parked.
func TestSendAllSendsWhatIsParked(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.store = n.worker(&idemddb.Options{Senders: map[string]idemddb.Sender{"captured": unsendable{}}})
		n.announce("p-8")

		n.store = n.worker(nil)
		n.announce("p-9")
		n.clock.Advance(20 * time.Minute)

		n.idem("send", "--all", "--why", "the queue is back", "--yes", "--target", "captured="+n.aws.endpoint+"/111122223333/captured")
		n.expect(exitDone, "payments#p-8: 1 sent", "payments#p-9: 1 sent")
	})
}

// unsendable refuses every message for good, so that it is parked.
type unsendable struct{}

func (unsendable) Send(_ context.Context, _ string, messages []idemddb.StoredMessage) []error {
	return slices.Repeat([]error{idemddb.ErrUnsendable}, len(messages))
}
