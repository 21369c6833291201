package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// worked is what the next delivery of a message does.
type worked struct {
	Ran, Takeover, Failed bool // the handler ran; as a takeover; the message has failed for good
}

// deliver delivers a message of the key to the wrapped handler of the workers.
func (n *night) deliver(key string) worked {
	n.t.Helper()

	byBody, err := lambdawrap.Body("paymentId")
	if err != nil {
		n.t.Fatal(err)
	}

	var got worked

	handler := lambdawrap.SQS(n.store, func(ctx context.Context, _ events.SQSMessage) error {
		claim, _ := idemddb.FromContext(ctx)
		got.Ran, got.Takeover = true, claim.Takeover()

		return nil
	}, &lambdawrap.Options{Key: byBody, DeadLetter: func(_ context.Context, _ events.SQSMessage, err error) error {
		got.Failed = errors.Is(err, idemddb.ErrFailed)

		return nil
	}})

	answer, err := handler(n.t.Context(), events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m-1", EventSource: "aws:sqs", EventSourceARN: queueARN, Body: `{"paymentId":"` + key + `"}`,
		Attributes: map[string]string{"ApproximateReceiveCount": "2"},
	}}})
	if err != nil || len(answer.BatchItemFailures) > 0 {
		n.t.Fatalf("answer %v, error %v", answer, err)
	}

	return got
}

// What idem says of a key with NoTakeover, and of one without, is what the next delivery does. Nobody says to idem which of them
// it is.
func TestIdemSaysWhatTheNextDeliveryDoes(t *testing.T) {
	for name, test := range map[string]struct {
		opts                  idemddb.Options
		held, stuck, released string // what idem says
		next, afterRelease    worked // what the next delivery does with a stuck key and with a released one
	}{
		"keys that are taken over": {
			idemddb.Options{},
			"If it died, the lease ends 2026-01-02 03:00:30Z (in 30s).\n",
			"The next delivery takes the key over.\n",
			"may be done twice.\n",
			worked{Ran: true, Takeover: true}, worked{Ran: true, Takeover: true},
		},
		"keys with NoTakeover": {
			idemddb.Options{NoTakeover: true},
			"If it died, the lease ends 2026-01-02 03:00:30Z (in 30s), and a delivery after that ends the key as FAILED.\n",
			"the next delivery ends the key as FAILED and does not run the work.\n",
			"release it only if you know that the effect has not happened.\n",
			worked{Failed: true}, worked{Ran: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachEngine(t, func(n *night) {
				n.store = n.worker(&test.opts)
				n.claim("p-8", "")
				n.claim("p-9", "")

				n.idem("show", "p-8")
				n.expect(exitDone, test.held)
				n.clock.Advance(time.Minute)
				n.idem("show", "p-8")
				n.expect(exitDone, "STUCK", test.stuck)

				if got := n.deliver("p-8"); got != test.next {
					n.t.Errorf("the next delivery of a stuck key: got %+v, want %+v", got, test.next)
				}

				n.idem("release", "p-9", "--why", "the bank has no such payment", "--yes")
				n.expect(exitDone, test.stuck, test.released, "payments#p-9: released: the next delivery runs the work")

				if got := n.deliver("p-9"); got != test.afterRelease {
					n.t.Errorf("the next delivery of a released key: got %+v, want %+v", got, test.afterRelease)
				}
			})
		})
	}
}

// Where no worker lives, no work can be done twice.
func TestOnlyAHeldKeyHasAWarningOfItsRelease(t *testing.T) {
	t.Parallel()

	for status, warned := range map[operate.Status]bool{operate.Held: true, operate.Stuck: true, operate.Failed: false, operate.Completed: false} {
		for _, never := range []bool{false, true} {
			text := releaseWarning(operate.View{Status: status, NoTakeover: never}, time.Now())
			if (text != "") != warned || strings.Contains(text, "NoTakeover") != (warned && never) {
				t.Errorf("%s, NoTakeover %v: got %q", status, never, text)
			}
		}
	}
}

// A key that failed because nobody took it over is reopened as any other, and idem asks first for what only a person can find
// out.
func TestAKeyThatWasNotTakenOverIsReopened(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.store = n.worker(&idemddb.Options{NoTakeover: true})
		n.claim("p-9", "")
		n.clock.Advance(time.Minute)
		n.deliver("p-9")

		n.idem("show", "p-9")
		n.expect(exitDone, "FAILED", "outcome unknown, not taken over", "no takeover", "→ check whether the effect has happened; if not, mend the cause")
		n.idem("reopen", "p-9", "--why", "the bank has no such payment", "--yes")
		n.expect(exitDone, "payments#p-9: open")

		if got, want := n.deliver("p-9"), (worked{Ran: true}); got != want {
			n.t.Errorf("the next delivery: got %+v, want %+v", got, want)
		}
	})
}

// Where not all are shown, idem says how many of the rest have an effect that must not happen twice. A worker without NoTakeover
// that claims a key takes the mark away.
func TestManyKeysWithNoTakeoverAreCounted(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.store = n.worker(&idemddb.Options{NoTakeover: true})
		for _, key := range []string{"p-1", "p-2", "p-3", "p-4", "p-5"} {
			n.claim(key, "")
		}

		n.clock.Advance(time.Minute)
		n.idem("release", "--all", "--why", "the bank was down", "--dry-run")
		n.expect(exitDone, "… and 2 more, 2 of them claimed with NoTakeover")

		n.idem("release", "p-1", "--why", "the bank was down", "--yes")

		n.store = n.worker(nil)
		n.claim("p-1", "")
		n.clock.Advance(time.Minute)
		n.screen.Reset()
		n.idem("show", "p-1")
		n.expect(exitDone, "The next delivery takes the key over.\n")
	})
}
