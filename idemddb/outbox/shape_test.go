package outbox_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// captured is a message with everything that a message can have.
func captured() idemddb.Message {
	return idemddb.Message{ID: "tx-0", To: "ledger", Body: `{"paymentId":"p-1"}`, Group: "ann", Attributes: map[string]string{"tenant": "seven"}, Sequence: 42}
}

func TestMessageAttributes(t *testing.T) {
	t.Parallel()

	negative, forged := captured(), captured()
	negative.Attributes, negative.Sequence = nil, -1
	forged.Attributes, forged.Sequence = map[string]string{"idemddb-id": "forged"}, 0

	for name, c := range map[string]struct {
		m    idemddb.Message
		want []string
	}{
		"a negative sequence":                            {negative, []string{"idemddb-id String tx-0", "idemddb-sequence Number -1"}},
		"the id replaces an attribute that has its name": {forged, []string{"idemddb-id String tx-0"}},
	} {
		s := &services{}
		for _, sender := range []idemddb.Sender{outbox.SQS(s, queueURL), outbox.SNS(s, topicARN)} {
			if err := sender.Send(t.Context(), "ledger", []idemddb.Message{c.m})[0]; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}

		for i, e := range s.entries {
			var got []string
			for name, a := range e.attributes {
				got = append(got, name+" "+a.DataType+" "+*a.StringValue)
			}

			slices.Sort(got)

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: attributes to %s (-want +got):\n%s", name, senderNames[i], diff)
			}
		}
	}
}

func TestMessageGroups(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		fifo, group          string
		wantGroup, wantDedup string
	}{
		"to a FIFO target, with a group":        {".fifo", "ann", "ann", "tx-0"},
		"to a FIFO target, without a group":     {".fifo", "", "tx-0", "tx-0"},
		"to a standard target, with a group":    {"", "ann", "ann", ""},
		"to a standard target, without a group": {"", "", "", ""},
	} {
		m := captured()
		m.Group = c.group

		s := &services{}
		for _, sender := range []idemddb.Sender{outbox.SQS(s, queueURL+c.fifo), outbox.SNS(s, topicARN+c.fifo)} {
			if err := sender.Send(t.Context(), "ledger", []idemddb.Message{m})[0]; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}

		for i, e := range s.entries {
			if e.group != c.wantGroup || e.deduplication != c.wantDedup {
				t.Errorf("%s: %s: group %q, deduplication id %q, want %q, %q", senderNames[i], name, e.group, e.deduplication, c.wantGroup, c.wantDedup)
			}
		}
	}
}

// An event cannot carry attributes. The message is parked before the request, and the others go.
func TestEventBridgeParksMessagesWithAttributes(t *testing.T) {
	t.Parallel()

	s := &services{fails: map[string]failure{"c": {"InternalFailure", false}}}
	ms := messages("a", "b", "c", "d")
	ms[1].Attributes = map[string]string{"tenant": "seven"}
	sender := outbox.EventBridge(s, "bus", "payments", "captured")

	answers := sender.Send(t.Context(), "ledger", ms)
	if diff := cmp.Diff([]string{"sent", "parked", "kept", "sent"}, became(answers)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	const want = "outbox: ledger: message cannot be sent: an event has no message attributes; put them into the body"
	if answers[1].Error() != want {
		t.Errorf("answer %q, want %q", answers[1], want)
	}

	if got := became(sender.Send(t.Context(), "ledger", ms[1:2])); got[0] != "parked" || len(s.requests) != 1 {
		t.Errorf("alone: %v, requests %v", got, s.requests)
	}
}

// EventBridge's answers have no ids. If their number is wrong, they cannot be matched to their messages.
func TestEventBridgeAnswersOfWrongNumber(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]func(n int) int{
		"one answer less": func(n int) int { return n - 1 },
		"one answer more": func(n int) int { return n + 1 },
		"no answer":       func(int) int { return 0 },
	} {
		s := &miscounted{answers: c}

		answers := outbox.EventBridge(s, "bus", "payments", "captured").Send(t.Context(), "ledger", messages("a", "b"))
		if diff := cmp.Diff([]string{"kept", "kept"}, became(answers)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// SQS's answers have ids. Those that the request did not have say nothing, and a message that stands in both lists is not sent.
func TestAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		successful, failed []string
		want               []string
	}{
		"ids of no message":         {[]string{"2", "-1", "x", "", "0"}, nil, []string{"sent", "kept"}},
		"an id twice":               {[]string{"0", "0", "1"}, nil, []string{"sent", "sent"}},
		"an id in both lists":       {[]string{"0", "1"}, []string{"1"}, []string{"sent", "kept"}},
		"an answer without any ids": {[]string{"", ""}, nil, []string{"kept", "kept"}},
	} {
		s := &listed{successful: c.successful, failed: c.failed}

		answers := outbox.SQS(s, queueURL).Send(t.Context(), "ledger", messages("a", "b"))
		if diff := cmp.Diff(c.want, became(answers)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	if !errors.Is(outbox.ErrPermanent, idemddb.ErrUnsendable) {
		t.Error("ErrPermanent is not ErrUnsendable")
	}
}
