package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// plus is an envelope of the words between the plus signs of a body. "none" holds nothing, "broken" never opens, and "later" does
// not open now.
func plus(_ context.Context, m events.SQSMessage) (opened []lambdawrap.Enveloped, err error) {
	switch m.Body {
	case "none":
		return nil, nil
	case "broken":
		return nil, fmt.Errorf("%w: it is broken", lambdawrap.ErrNoKey)
	case "later":
		return nil, errors.New("not now")
	case "panic":
		panic("wrong")
	}

	for word := range strings.SplitSeq(m.Body, "+") {
		one := m
		one.Body = word
		opened = append(opened, lambdawrap.Enveloped{Message: one, ID: word, Name: "plus"})
	}

	return opened, nil
}

// enveloped runs a test with the envelope plus, with SQS and with Batch.
func enveloped(t *testing.T, test func(h *harness, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()
	t.Parallel()

	for name, wrap := range map[string]func(*harness) func(lambdawrap.Handler) wrapped{
		"SQS":   func(h *harness) func(lambdawrap.Handler) wrapped { return h.handle },
		"Batch": func(h *harness) func(lambdawrap.Handler) wrapped { return h.whole },
	} {
		each(t, name, oneHarness, func(h *harness) {
			h.opts.Envelope, h.opts.Key = plus, nil
			test(h, wrap(h))
		})
	}
}

// The queue's message is done when all that it holds are. What is done runs once, also if the rest comes back.
func TestAMessageOfTheQueueIsDoneWhenAllThatItHoldsAre(t *testing.T) {
	enveloped(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		event := batch("m1 a+b+c", "m2 d", "m3 e+f")

		h.check(wrap(failingWith(errBank, "b", "e", "f")), event, []string{"m1", "m3"}, []string{"m1", "m1/1", "m1/2", "m2", "m3", "m3/1"})
		h.logs("messageId=m1/1 ", "messageId=m3 ", "messageId=m3/1 ")
		h.check(wrap(failingWith(errBank, "f")), event, []string{"m3"}, []string{"m1/1", "m3", "m3/1"})
		h.check(wrap(succeed), event, nil, []string{"m3/1"})
		h.check(wrap(succeed), event, nil, nil)
		h.equal("state", h.state(`#["plus","b"]`), "COMPLETED")
	})
}

func TestAnEnvelopeThatDoesNotOpenCostsItsMessageOnly(t *testing.T) {
	enveloped(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var dead journal

		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, cause error) error {
			dead.add(fmt.Sprint(m.MessageId, " ", m.Body, " ", errors.Is(cause, lambdawrap.ErrNoKey)))

			return nil
		}

		h.check(wrap(succeed), batch("m1 broken", "m2 later", "m3 none", "m4 panic", "m5 a"), []string{"m2", "m4"}, []string{"m5"})
		h.equal("dead letters", dead.all(), []string{"m1 broken true"})
		h.logs("outcome=no_key", "it is broken", `"the message is done, because there is nothing to do" messageId=m3 comesBack=false outcome=empty`,
			"outcome=released", "not now")
	})
}

// The hooks get the message as it arrived, the handler what stands in it.
func TestHandlersSeeWhatStandsInTheEnvelopeAndHooksWhatArrived(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)

	var seen journal

	h.opts.Envelope = lambdawrap.SNS
	h.opts.Key, _ = lambdawrap.Body("paymentId")
	h.opts.Fingerprint = lambdawrap.Attribute("tenant")
	h.opts.OnMessage = func(_ context.Context, m events.SQSMessage, o lambdawrap.Outcome) {
		seen.add(fmt.Sprint(strings.Contains(m.Body, "Notification"), " ", o))
	}

	event := batch("m1 x")
	event.Records[0].Body = recordedBody(t, "sns")

	type payment struct {
		PaymentID string `json:"paymentId"`
	}

	h.answered(h.handle(lambdawrap.JSON(func(ctx context.Context, p payment) error {
		m, _ := lambdawrap.MessageFrom(ctx)
		seen.add(p.PaymentID + " " + *m.MessageAttributes["tenant"].StringValue)

		return nil
	})), event)
	h.equal("seen", seen.all(), []string{"p-1 t-1", "true completed"})
	h.equal("state", h.state("p-1"), "COMPLETED")
}

// In a FIFO message group, what stands in one message comes before the next message, and a failure stops all that is behind it.
func TestWhatStandsInAMessageOfAFIFOQueueKeepsItsOrder(t *testing.T) {
	enveloped(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Workers = 4
		event := batch("m1 a+b g", "m2 c+d g", "m3 e+f g", "m4 x+y other")

		h.answered(wrap(failingWith(errBank, "c")), event, "m2", "m3")
		h.ordered("m1", "m1/1", "m2")
		h.runs.clear()
		h.answered(wrap(succeed), event)
		h.ordered("m2", "m2/1", "m3", "m3/1")
	})
}

// An envelope that hangs costs its own message. The others neither wait for it nor for one that is slow.
func TestAnEnvelopeThatHangsCostsItsMessageOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		begun := time.Now()

		var late atomic.Bool

		h.opts.Workers, h.opts.Key = 2, nil
		h.opts.Envelope = func(ctx context.Context, m events.SQSMessage) ([]lambdawrap.Enveloped, error) {
			switch m.Body {
			case "hangs":
				<-ctx.Done()
				late.Store(true)

				return nil, ctx.Err()
			case "slow+s":
				<-time.After(2 * time.Second)
			}

			return plus(ctx, m)
		}

		quick := map[string]time.Duration{}
		h.answeredIn(20*time.Second, lambdawrap.SQS(h.store, func(_ context.Context, m events.SQSMessage) error {
			h.mu.Lock()
			defer h.mu.Unlock()

			quick[m.Body] = time.Since(begun)

			return nil
		}, h.opts), batch("m1 hangs", "m2 slow+s", "m3 a+b", "m4 c"), "m1")
		h.logs("messageId=m1 comesBack=true outcome=no_time")

		for _, body := range []string{"a", "b", "c"} {
			if at, ran := quick[body]; !ran || at > 3*time.Second {
				t.Errorf("%s ran after %v, %v", body, at, ran)
			}
		}

		if len(quick) != 5 {
			t.Errorf("ran: %v", quick)
		}

		synctest.Wait()

		if !late.Load() {
			t.Error("the envelope that hangs was not told to stop")
		}
	})
}

// Messages that share what they have of the message around them do not share it with each other.
func TestAHandlerThatChangesItsMessageChangesNoOther(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	h.opts.Envelope, h.opts.Key = plus, nil
	event := deliveredFor(batch("m1 a+b"), 1)

	h.answered(h.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Attributes["changed"] != "" {
			t.Error("another handler's change shows")
		}

		m.Attributes["changed"] = "yes"

		return nil
	}), event)
	h.equal("as it arrived", event.Records[0].Attributes["changed"], "")
}

// With the Store off, every message in an envelope runs on every delivery.
func TestEnvelopesOpenWhenTheStoreIsOff(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	h := newHarness(t, nil)
	h.opts.Envelope, h.opts.Key = plus, nil

	for range 2 {
		h.check(h.handle(succeed), batch("m1 a+a", "m2 none", "m3 broken"), []string{"m3"}, []string{"m1", "m1/1"})
	}
}

// Two messages with one key in one envelope are one piece of work.
func TestTwoMessagesOfAnEnvelopeWithOneKeyRunOnce(t *testing.T) {
	enveloped(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.check(wrap(succeed), batch("m1 a+a+b", "m2 b"), nil, []string{"m1", "m1/2"})
		h.check(wrap(failingWith(errBank, "c")), batch("m3 c+c"), []string{"m3"}, []string{"m3"})
	})
}

// Optimistic first deliveries commit each message of an envelope with its own record.
func TestMessagesOfAnEnvelopeCommitOptimistically(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	h.opts.Envelope, h.opts.Key = plus, nil
	work := h.optimistic(failingWith(errBank, "b"))

	h.check(work, deliveredFor(batch("m1 a+b", "m2 c"), 1), []string{"m1"}, []string{"m1", "m1/1", "m2"})
	h.check(h.optimistic(succeed), deliveredFor(batch("m1 a+b", "m2 c"), 2), nil, []string{"m1/1"})
}
