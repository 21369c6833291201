package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

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
	sqsAndBatch(nil)(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Envelope, h.opts.Key = plus, nil
		test(h, wrap)
	})
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
		dead := h.parkingBecauseOf(lambdawrap.ErrNoKey)
		h.check(wrap(succeed), batch("m1 broken", "m2 later", "m3 none", "m4 panic", "m5 a"), []string{"m2", "m4"}, []string{"m5"})
		h.equal("dead letters", dead.all(), []string{"m1 true"})
		h.logs("outcome=no_key", "it is broken", `"the message is done, because there is nothing to do" messageId=m3 comesBack=false outcome=empty`,
			"outcome=released", "not now")
	})
}

// The hooks get the message as it arrived, the handler what stands in it.
func TestHandlersSeeWhatStandsInTheEnvelopeAndHooksWhatArrived(t *testing.T) {
	h := parallelHarness(t)

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

// Messages that share what they have of the message around them do not share it with each other.
func TestAHandlerThatChangesItsMessageChangesNoOther(t *testing.T) {
	enveloped(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		event := deliveredFor(batch("m1 a+b"), 1)
		h.answered(wrap(func(_ context.Context, m events.SQSMessage) error {
			h.equal("another handler's change", m.Attributes["changed"], "")
			m.Attributes["changed"] = "yes"

			return nil
		}), event)
		h.equal("as it arrived", event.Records[0].Attributes["changed"], "")
	})
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
	h := parallelHarness(t)
	h.opts.Envelope, h.opts.Key = plus, nil
	work := h.optimistic(failingWith(errBank, "b"))

	h.check(work, deliveredFor(batch("m1 a+b", "m2 c"), 1), []string{"m1"}, []string{"m1", "m1/1", "m2"})
	h.check(h.optimistic(succeed), deliveredFor(batch("m1 a+b", "m2 c"), 2), nil, []string{"m1/1"})
}

// split returns an envelope without an ID that holds the parts of its body.
func split(separator string) lambdawrap.EnvelopeFunc {
	return func(_ context.Context, m events.SQSMessage) (opened []lambdawrap.Enveloped, err error) {
		for part := range strings.SplitSeq(m.Body, separator) {
			one := m
			one.Body = part
			opened = append(opened, lambdawrap.Enveloped{Message: one})
		}

		return opened, nil
	}
}

// Envelopes without an ID that each hold several messages stand inside of each other. All that they hold is work of its own.
func TestWhatTwoEnvelopesInsideOfEachOtherHoldIsWorkOfItsOwn(t *testing.T) {
	t.Parallel()

	chain := lambdawrap.Chain
	lines, words := split("\n"), split(" ")

	for name, open := range map[string]lambdawrap.EnvelopeFunc{
		"one chain": chain(lambdawrap.SNS, lines, words), "a chain in a chain": chain(chain(lambdawrap.SNS, lines), words),
		"a chain of chains": chain(lambdawrap.SNS, chain(lines, words)),
	} {
		h := newHarness(t, nil)
		h.opts.Envelope, h.opts.Key = open, nil
		event := batch("m1 x")
		event.Records[0].Body = notification(t, "n-1", "a b\nc d\ne")

		h.answered(h.handle(succeed), event)
		h.equal(name, slices.Sorted(slices.Values(h.runs.all())), []string{"m1", "m1/1", "m1/2", "m1/3", "m1/4"})
	}
}

// A limit that is as large as a number can be is no limit.
func TestAnEnvelopeWithoutALimitIsReadToItsEnd(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		open lambdawrap.EnvelopeFunc
		body string
	}{"Gzip": {lambdawrap.Gzip, zipped(t, "large")}, "S3Pointer": {lambdawrap.S3Pointer(shelf{"b/k": "large"}), pointerTo}} {
		opened, err := lambdawrap.Limited(c.open, lambdawrap.EnvelopeLimits{Bytes: math.MaxInt64}).Open(t.Context(), arrived(c.body))
		if err != nil || len(opened) != 1 || opened[0].Message.Body != "large" {
			t.Errorf("%s: got %v, %v", name, plainOf(opened), err)
		}
	}
}

// A key of the queue's message is that of each message which stood in its envelope, with the number of those behind the first
// one.
func TestWhatAnEnvelopeHoldsIsWorkOfItsOwnWithAKeyOfTheQueuesMessage(t *testing.T) {
	t.Parallel()

	for name, key := range map[string]lambdawrap.KeyFunc{"DeduplicationID": lambdawrap.DeduplicationID, "SentMessageID": lambdawrap.SentMessageID} {
		h := newHarness(t, nil)
		h.opts.Envelope, h.opts.Key = split("+"), key
		event := batch("m1 a+b+c")
		event.Records[0].Attributes = map[string]string{"MessageDeduplicationId": "d-1", "MessageGroupId": "g-1"}
		event.Records[0].MessageAttributes = map[string]events.SQSMessageAttribute{"idemddb-id": {DataType: "String", StringValue: aws.String("s-1")}}

		for _, want := range [][]string{{"m1", "m1/1", "m1/2"}, nil} {
			h.runs.clear()
			h.answered(h.handle(succeed), event)
			h.equal(name, slices.Sorted(slices.Values(h.runs.all())), want)
		}
	}
}

// A producer of an extended client that chooses the key of the object may store the next body under the same one. The message
// about it is work of its own; a delivery that SNS or the queue repeats is not.
func TestTwoMessagesWhoseProducerChoseOneKeyForTheirObjectsAreBothWorkedOn(t *testing.T) {
	t.Parallel()

	objects := shelf{}
	fetch := lambdawrap.S3Pointer(objects)
	chosen := map[string]events.SQSMessageAttribute{"S3Key": {DataType: "String", StringValue: new("k")}}
	bySNS := func(id string) string {
		return asJSON(t, map[string]any{
			"Type": "Notification", "MessageId": id, "Message": pointerTo,
			"MessageAttributes": map[string]any{"S3Key": map[string]string{"Type": "String", "Value": "k"}},
		})
	}

	for name, c := range map[string]struct {
		open          lambdawrap.EnvelopeFunc
		first, second string
	}{
		"a queue": {fetch, pointerTo, pointerTo}, "a topic": {lambdawrap.Chain(lambdawrap.SNS, fetch), bySNS("n-1"), bySNS("n-2")},
	} {
		h := newHarness(t, nil)
		h.opts.Envelope, h.opts.Key = c.open, nil
		function := h.handle(succeed)

		for id, body := range map[string]string{"m1": c.first, "m2": c.second} {
			event := batch(id + " x")
			event.Records[0].Body, event.Records[0].MessageAttributes = body, chosen
			objects["b/k"] = "the body of " + id

			for _, want := range [][]string{{id}, nil} {
				h.runs.clear()
				h.answered(function, event)
				h.equal(name, h.runs.all(), want)
			}
		}
	}
}
