package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDeadLetterAddsWhatThereIsToSay(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		m     events.SQSMessage
		cause error
		want  []string
	}{
		"nothing": {events.SQSMessage{Body: "b"}, nil, nil},
		"an error without words": {
			events.SQSMessage{Body: "b", MessageId: "m"}, errors.New(""), []string{"idemddb.messageId String m"},
		},
		"a receive count that is none": {
			events.SQSMessage{Body: "b", Attributes: map[string]string{"ApproximateReceiveCount": "NaN"}}, errClosed,
			[]string{"idemddb.error String account is closed"},
		},
		"what an earlier time left is replaced, and gone where there is nothing new": {
			events.SQSMessage{Body: "b", MessageAttributes: map[string]events.SQSMessageAttribute{
				"idemddb.error": stringAttribute("old"), "idemddb.source": stringAttribute("old"), "idemddb.mine": stringAttribute("kept"),
			}}, errClosed,
			[]string{"idemddb.error String account is closed", "idemddb.mine String kept"},
		},
		"characters that SQS does not take": {
			events.SQSMessage{Body: "b"}, errors.New("a\x00b\x1fc\ud7ff\ue000\ufffe\uffff\xffd\t\r\n\U0001F600\U0010FFFF"),
			[]string{"idemddb.error String a\ufffdb\ufffdc\ud7ff\ue000\ufffd\ufffd\ufffdd\t\r\n\U0001F600\U0010FFFF"},
		},
	} {
		o := &outbox{}
		if err := NewDeadLetter(o.SendMessage, standardURL).Send(t.Context(), c.m, c.cause); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if diff := cmp.Diff(c.want, o.attributes()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDeadLetterKeepsTheMessagesOwnAttributes(t *testing.T) {
	t.Parallel()

	for own, want := range map[int]string{
		6:  "error messageId receiveCount source",
		7:  "error messageId source",
		8:  "error messageId",
		9:  "error",
		10: "",
		11: "", // SQS refuses it
	} {
		o, m := &outbox{}, payment(t)
		m.MessageAttributes = map[string]events.SQSMessageAttribute{}

		for i := range own {
			m.MessageAttributes[fmt.Sprintf("own%02d", i)] = stringAttribute("x")
		}

		if err := NewDeadLetter(o.SendMessage, standardURL).Send(t.Context(), m, errClosed); err != nil {
			t.Fatal(err)
		}

		var added []string

		for _, text := range o.attributes() {
			if name, ok := strings.CutPrefix(text, "idemddb."); ok {
				name, _, _ = strings.Cut(name, " ")
				added = append(added, name)
			}
		}

		if got := strings.Join(added, " "); got != want || len(o.attributes()) != own+len(added) {
			t.Errorf("beside %d of its own: %q, want %q; all: %v", own, got, want, o.attributes())
		}
	}
}

func TestDeadLetterKeepsWithinSQSsSize(t *testing.T) {
	t.Parallel()

	const limit = 1 << 20

	cause := errors.New(strings.Repeat("é", 5000))

	for free, want := range map[int][]string{
		0:    nil,
		23:   nil,
		24:   {"idemddb.messageId String m"}, // name, type and value: 17+6+1
		50:   {"idemddb.messageId String m"},
		51:   {"idemddb.messageId String m", "idemddb.receiveCount Number 3"}, // 20+6+1
		1100: {"idemddb.error", "idemddb.messageId String m", "idemddb.receiveCount Number 3"},
	} {
		o := &outbox{}
		m := events.SQSMessage{
			MessageId: "m", Body: strings.Repeat("b", limit-free-len("own"+"String"+"x"+"bin"+"Binary")-3),
			Attributes: map[string]string{"ApproximateReceiveCount": "3", "AWSTraceHeader": "Root=1-5759e988"}, // a system attribute, which does not count
			MessageAttributes: map[string]events.SQSMessageAttribute{
				"own": stringAttribute("x"), "bin": {DataType: "Binary", BinaryValue: []byte{1, 2, 3}},
			},
		}

		if err := NewDeadLetter(o.SendMessage, standardURL).Send(t.Context(), m, cause); err != nil {
			t.Fatal(err)
		}

		var got []string

		for _, text := range o.attributes() {
			if strings.HasPrefix(text, "idemddb.error") {
				text = "idemddb.error"
			}

			if strings.HasPrefix(text, "idemddb.") {
				got = append(got, text)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %d bytes free: %s", free, diff)
		}
	}
}

func TestAttributeText(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringN(1000, 1100, -1),
			rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "bytes")) }),
		).Draw(t, "text")
		got := attributeText(text)

		if len(got) > 1024 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}

		for _, r := range got {
			if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
				t.Fatalf("%q has %U", got, r)
			}
		}

		if (text == "") != (got == "") {
			t.Fatalf("%q became %q", text, got)
		}

		if attributeText(got) != got {
			t.Fatalf("%q is not kept", got)
		}
	})
}
