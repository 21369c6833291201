package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
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

// Each key may be read in another way than the others, as long as it is the only way in which it has a record.
func TestSeveralKeysAreChangedInTheSpellingThatEachHas(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.fail("p-9", "one")
		n.fail("#123", "two")

		n.idem("reopen", "p-9", "123", "--why", "mended", "--yes")
		n.expect(exitDone, "payments#p-9: open", "payments##123: open")
	})
}

// The second change of a record would be refused because of the first, as if somebody else had made it.
func TestAKeyThatIsGivenTwiceIsChangedOnce(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.fail("p-9", "one")

		n.idem("reopen", "p-9", `"p-9"`, "--why", "mended", "--yes")
		n.expect(exitDone, "payments#p-9: open")

		n.fail("p-8", "two")

		message := `{"messageId":"1","eventSource":"aws:sqs","body":"{\"paymentId\":\"p-8\"}"}`
		n.enter(strings.NewReader(`{"Records":[`+message+","+message+"]}"), "reopen", "--message", "-", "--path", "paymentId", "--why", "mended", "--yes")
		n.expect(exitDone, "payments#p-8: open")
	})
}

// What package operate would not keep is refused before the question, so that nobody must look again whether the record was
// changed.
func TestAReasonThatIsTooLongIsRefusedBeforeTheChange(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.announce("p-9")

		n.idem("send", "p-9", "--why", strings.Repeat("x", 201), "--yes")
		n.expect(exitError, "--why: must have at most 200 bytes, has 201")
		n.idem("forget", "p-9", "--lose-messages", "--why", "x", "--by", strings.Repeat("x", 65), "--yes")
		n.expect(exitError, "--by: must have at most 64 bytes, has 65")

		if text := n.shown(); strings.Contains(text, "perhaps changed") || strings.Contains(text, "0 sent") {
			n.t.Errorf("a change was tried:\n%s", text)
		}

		n.idem("forget", "p-9", "--lose-messages", "--why", strings.Repeat("x", 200), "--by", strings.Repeat("x", 64), "--yes")
		n.expect(exitDone, "payments#p-9: deleted")
	})
}

// unsendable refuses every message for good, so that it is parked.
type unsendable struct{}

func (unsendable) Send(_ context.Context, _ string, messages []idemddb.Message) []error {
	return slices.Repeat([]error{idemddb.ErrUnsendable}, len(messages))
}

func TestAnInterruptedChangeOfManySaysHowManyWereNotTried(t *testing.T) {
	var (
		engine = idemddbtest.New(nil).Handler()
		n      *night
		begun  bool
	)

	n = newNight(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		engine.ServeHTTP(w, r)

		if begun && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
			n.aws.set(func(c *cloud) { c.interrupt() })
		}
	}))

	for _, key := range []string{"a", "b", "c", "d", "e"} {
		n.fail(key, "no")
	}

	begun = true
	n.idem("reopen", "--all", "--yes", "--why", "mended")

	screen := n.screen.String()
	if strings.Count(n.lastOut, "perhaps changed") > 1 || !strings.Contains(screen, "interrupted: 4 of 5 records were not tried") {
		t.Errorf("one request of a change was made:\n%s", screen)
	}
}

// The time for sending is that of a lease. With the --retention of the workers it was one second, and what had been sent in it
// was not removed from the record.
func TestASlowQueueIsSentToWhateverTheRetentionIs(t *testing.T) {
	t.Parallel()

	for _, retention := range []string{"720h", "0s"} {
		n := newNight(t, idemddbtest.New(nil).Handler())
		n.announce("p-9")
		n.aws.set(func(c *cloud) { c.slow = 600 * time.Millisecond })
		n.idem("send", "p-9", "--why", "x", "--yes", "--target", "captured="+n.aws.endpoint+"/queue", "--retention", retention)
		n.expect(exitDone, "payments#p-9: 1 sent, 0 left, 0 parked")
	}
}

// A typing error in the cause was answered as if nothing had failed.
func TestACauseThatNoRecordHasIsNotAnEmptyTable(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail("p-9", "account anna is closed")
	n.idem("reopen", "--all", "--cause", "acount anna", "--why", "x", "--yes")
	n.expect(exitNothing, "--cause: no last failure has this text; records that are failed: 1")
	n.idem("reopen", "p-9", "--why", "x", "--yes")
	n.screen.Reset()
	n.idem("reopen", "--all", "--cause", "account anna", "--why", "x", "--yes")
	n.expect(exitNothing, "no record is failed")
}

// What was not sent, because nobody may write who sends it, was said to be neither sent nor left.
func TestASendThatIsDeniedDoesNotSayThatNothingIsLeft(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.announce("p-9")
	n.aws.set(func(c *cloud) { c.denied = "UpdateItem" })
	n.idem("send", "p-9", "--why", "x", "--yes", "--target", "captured="+n.aws.endpoint+"/queue")
	n.expect(exitError, "payments#p-9: perhaps changed, look again", "AccessDeniedException")
}
