package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
)

// The drills of docs/operations.md. Each begins with what an alarm or a log line says, and mends it with idem alone. The page
// shows the screen of each, word for word.

func TestDrillAStuckKey(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.claim("p-9", "8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b")
		n.clock.Advance(4 * time.Minute)

		n.idem("list", "stuck")
		n.expect(exitDone, "p-9")
		n.idem("show", "p-9")
		n.expect(exitDone, "STUCK", "it died or is late", "8f6e1c1e")
		n.idem("release", "p-9", "--why", "the bank has no such payment", "--yes")
		n.expect(exitDone, "released")
		n.onThePage("stuck")

		if claim := n.claim("p-9", ""); !claim.Takeover() || claim.Attempt() != 2 {
			n.t.Errorf("the next delivery has takeover %v, attempt %d", claim.Takeover(), claim.Attempt())
		}
	})
}

func TestDrillADeadLetterOfAFailedKey(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.fail("p-9", "account anna is closed")
		n.clock.Advance(2 * time.Hour)

		event := filepath.Join(n.dir, "dead-letter.json")
		if err := os.WriteFile(event, []byte(`{"Messages":[{"MessageId":"059f36b4","Body":"{\"paymentId\":\"p-9\",\"amount\":5}"}]}`), 0o600); err != nil {
			n.t.Fatal(err)
		}

		n.idem("show", "--message", event, "--path", "paymentId")
		n.expect(exitDone, "FAILED", "account anna is closed", "idem reopen --why '…' p-9")
		n.idem("reopen", "p-9", "--why", "account anna is open again", "--yes")
		n.expect(exitDone, "now redrive its message")
		n.onThePage("dead letter")
		n.complete("p-9")
	})
}

func TestDrillAnUnsentMessage(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.announce("p-9")
		n.clock.Advance(20 * time.Minute)

		n.idem("list", "unsent")
		n.expect(exitDone, "p-9")
		n.idem("show", "p-9")
		n.expect(exitDone, "to captured", "not sent")
		n.idem("send", "p-9", "--target", "captured="+n.aws.endpoint+"/111122223333/captured", "--why", "the queue is back", "--yes")
		n.expect(exitDone, "1 sent, 0 left, 0 parked")
		n.onThePage("unsent")

		n.aws.set(func(c *cloud) {
			if len(c.sent) != 1 || c.sent[0] != `{"paymentId":"p-9"}` {
				n.t.Errorf("the queue has %q", c.sent)
			}
		})

		n.idem("list", "unsent")
		n.expect(exitNothing)
	})
}

func TestDrillATakeoverThatDoubledSomething(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.claim("p-9", "8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b")
		n.clock.Advance(time.Minute)

		if err := n.claim("p-9", "c2a7b1de-0f4e-4a4e-8d1c-b6d0d7f0a9e3").Complete(n.t.Context(), nil); err != nil {
			n.t.Fatal(err)
		}

		n.clock.Advance(9 * time.Minute)
		n.idem("show", "--hash", record.KeyHash("p-9"))
		n.expect(exitDone, "COMPLETED", "It began 2 times", "c2a7b1de")
		n.onThePage("takeover")
	})
}

// The engine in memory cannot describe its Time to Live.
func TestDrillTimeToLiveOnTheWrongAttribute(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	n.timeToLive("ttl", true)
	n.idem("check")
	n.expect(exitRefused, `time to live: on "ttl", the records have their end in "exp"`)
	n.idem("ttl", "--yes")
	n.expect(exitDone, "run this again in an hour")
	n.idem("ttl", "--yes")
	n.expect(exitDone, `time to live is on for "exp"`)
	n.onThePage("time to live")
	n.idem("ttl")
	n.expect(exitDone, `time to live is on for "exp" already`)
	n.idem("check")
	n.expect(exitDone)
}

// onThePage demands that the runbook, or the page of the audits, shows this screen. IDEM_SCREENS is a directory in which the
// screens are written, for the page.
func (n *night) onThePage(name string) {
	n.t.Helper()

	var block strings.Builder
	for line := range strings.Lines(n.shown()) {
		block.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}

	if dir := os.Getenv("IDEM_SCREENS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(block.String()), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}

	for _, name := range []string{"operations.md", "audit.md"} {
		page, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			n.t.Fatal(err)
		}

		if strings.Contains(string(page), block.String()) {
			return
		}
	}

	n.t.Errorf("neither docs/operations.md nor docs/audit.md shows this screen:\n%s", block.String())
}
