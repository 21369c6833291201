package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestDeduplicationID(t *testing.T) {
	t.Parallel()

	fifo := func(arn, group, id string) events.SQSMessage {
		return events.SQSMessage{
			EventSourceARN: arn, MessageId: rapid.StringMatching(`[0-9a-f-]+`).Example(), // one with a slash is of an envelope
			Attributes: map[string]string{"MessageGroupId": group, "MessageDeduplicationId": id},
		}
	}

	const want = `#["arn.fifo","g","d"]` // records hold this text, so it must stay as it is
	same(t, "the key of what the producer sent again", mustKey(t, lambdawrap.DeduplicationID, fifo("arn.fifo", "g", "d")), want)

	for _, other := range []events.SQSMessage{
		fifo("b.fifo", "g", "d"), fifo("arn.fifo", "g2", "d"), fifo("arn.fifo", "g", "d2"), fifo("arn.fifo", `g","d`, ""), fifo("arn.fifo", "", "d"),
	} {
		if got, _ := lambdawrap.DeduplicationID(t.Context(), other); got == want {
			t.Errorf("%v shares the key %q", other.Attributes, got)
		}
	}

	checkNoKey(t, lambdawrap.DeduplicationID, fifo("arn", "g", ""), "MessageDeduplicationId")
	checkNoKey(t, lambdawrap.DeduplicationID, fifo("", "g", "d"), "eventSourceARN")
	checkNoKey(t, lambdawrap.DeduplicationID, fifo("arn", "g\xff", "d"), "UTF-8")
}

func TestAttribute(t *testing.T) {
	t.Parallel()

	message := func(dataType, text string, binary []byte) events.SQSMessage {
		return events.SQSMessage{MessageAttributes: map[string]events.SQSMessageAttribute{
			"order": {DataType: dataType, StringValue: &text, BinaryValue: binary},
		}}
	}
	key := lambdawrap.Attribute("order")

	for name, c := range map[string]struct {
		message events.SQSMessage
		want    string // "" for no key
	}{
		"a string":                  {message("String", "1", nil), `#["String","1"]`},
		"a string with a label":     {message("String.uuid", "1", nil), `#["String","1"]`},
		"a number":                  {message("Number", "1", nil), `#["Number","1"]`},
		"a number, written longer":  {message("Number", "1.0", nil), `#["Number","1.0"]`},
		"a number beyond float64":   {message("Number.int", "9007199254740993", nil), `#["Number","9007199254740993"]`},
		"binary":                    {message("Binary", "", []byte("1")), `#["Binary","MQ=="]`},
		"binary that is not UTF-8":  {message("Binary", "", []byte{0xff, 0}), `#["Binary","/wA="]`},
		"a string with an encoding": {message("String", "MQ==", nil), `#["String","MQ=="]`},
		"a string of a space":       {message("String", " ", nil), `#["String"," "]`},
		"no attributes":             {},
		"another one":               {events.SQSMessage{MessageAttributes: map[string]events.SQSMessageAttribute{"Order": {DataType: "String"}}}, ""},
		"an empty string":           {message("String", "", nil), ""},
		"an empty number":           {message("Number", "", nil), ""},
		"no bytes":                  {message("Binary", "1", nil), ""},
		"an unknown type":           {message("s3cr3t", "s3cr3t", nil), ""},
		"not UTF-8":                 {message("String", "s3cr3t\xff", nil), ""},
		"no value pointer":          {events.SQSMessage{MessageAttributes: map[string]events.SQSMessageAttribute{"order": {DataType: "String"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if c.want == "" {
				checkNoKey(t, key, c.message, `attribute "order"`)
			} else {
				same(t, "key", mustKey(t, key, c.message), c.want)
			}
		})
	}
}

// What Body makes of a part, or of a body without it, is tested in internal/strictjson. Here the message is the input.
func TestNoKeySaysWhatTheMessageLacks(t *testing.T) {
	t.Parallel()
	checkNoKey(t, mustBody(t, "id"), events.SQSMessage{}, "the body is empty; is this a message of an SQS event?")
	checkNoKey(t, mustBody(t, "id"), events.SQSMessage{Body: `{"a":"s3cr3t"}`}, "no key in the message: path `id` picks nothing: `id` is absent")
	checkNoKey(t, lambdawrap.MessageID, events.SQSMessage{EventSourceARN: "arn"}, "messageId")
	checkNoKey(t, lambdawrap.MessageID, events.SQSMessage{MessageId: "m"}, "eventSourceARN")
	checkNoKey(t, lambdawrap.MessageID, events.SQSMessage{EventSourceARN: "arn", MessageId: "m\xff"}, "UTF-8")
}

// A payment that was made with Do, under the id of a request, is not made again for a message with this id.
func TestBodyAndTextKeyAreOnePieceOfWork(t *testing.T) {
	t.Parallel()

	for name, id := range map[string]string{
		"a plain id":                    "p-1",
		"an id that begins with #":      "#1",
		"an id of digits":               "123",
		"an id that looks like JSON":    `["a"]`,
		"an id that looks like a hash":  "sha256:1",
		"an id longer than a table key": strings.Repeat("x", 3000),
	} {
		body := asJSON(t, map[string]string{"paymentId": id})
		same(t, name, mustKey(t, mustBody(t, "paymentId"), events.SQSMessage{Body: body}), idemddb.TextKey(id))
	}
}

func mustBody(t testing.TB, parts ...string) lambdawrap.KeyFunc {
	t.Helper()

	key, err := lambdawrap.Body(parts...)
	if err != nil {
		t.Fatal(err)
	}

	return key
}

func mustKey(t testing.TB, key lambdawrap.KeyFunc, m events.SQSMessage) string {
	t.Helper()

	got, err := key(t.Context(), m)
	if err != nil || got == "" {
		t.Fatalf("key %q, %v", got, err)
	}

	return got
}

// checkNoKey checks that there is no key, and an error that names want and quotes nothing of the message.
func checkNoKey(t testing.TB, key lambdawrap.KeyFunc, m events.SQSMessage, want string) {
	t.Helper()

	got, err := key(t.Context(), m)
	if got != "" || !errors.Is(err, lambdawrap.ErrNoKey) {
		t.Fatalf("key %q, error %v, want ErrNoKey", got, err)
	}

	text := err.Error()
	if !strings.HasPrefix(text, "lambdawrap: ") || strings.Count(text, "lambdawrap: ") > 1 || !strings.Contains(text, want) {
		t.Errorf("error %q does not say %q", text, want)
	}

	if strings.Contains(text, "s3cr3t") {
		t.Errorf("error %q quotes the message", text)
	}
}

// FuzzKeyFuncs demands that no message causes a panic, and that each has one key or ErrNoKey.
func FuzzKeyFuncs(f *testing.F) {
	for _, body := range []string{``, `s3cr3t`, `{"id":"p-1"}`, `{"id":1e5}`, `{"id":"#"}`, `{"id":[]}`, `{"in":"{\"id\":0}"}`, "\"\xff\"", `{"id":1,"id":2}`} {
		f.Add(body, "arn:aws:sqs:eu-west-1:1:q.fifo", "m-1", "String", "1")
	}

	f.Add(`{}`, "", "", "Binary", "")
	f.Add(`{}`, "arn", "m\xff", "s3cr3t", "\xff")

	keys := map[string]lambdawrap.KeyFunc{
		"MessageID": lambdawrap.MessageID, "DeduplicationID": lambdawrap.DeduplicationID, "Attribute": lambdawrap.Attribute("a"),
		"Body of one path": mustBody(f, "id"), "Body of two": mustBody(f, "id", "in.id"),
	}

	f.Fuzz(func(t *testing.T, body, arn, id, dataType, value string) {
		m := events.SQSMessage{
			Body: body, EventSourceARN: arn, MessageId: id, Attributes: map[string]string{"MessageDeduplicationId": id},
			MessageAttributes: map[string]events.SQSMessageAttribute{"a": {DataType: dataType, StringValue: &value, BinaryValue: []byte(value)}},
		}
		for name, key := range keys {
			got, err := key(t.Context(), m)
			again, _ := key(t.Context(), m)

			switch list, isList := strings.CutPrefix(got, "#"); {
			case again != got || (got == "") != (err != nil):
				t.Errorf("%s: the keys %q and %q, error %v", name, got, again, err)
			case err != nil && !errors.Is(err, lambdawrap.ErrNoKey):
				t.Errorf("%s: error %v is not ErrNoKey", name, err)
			case err == nil && name != "Body of one path" && (!isList || !json.Valid([]byte(list))):
				t.Errorf("%s: the key %q is not # and JSON", name, got)
			}
		}
	})
}

func TestTheDefaultKeyIsQueueAndMessage(t *testing.T) {
	h := parallelHarness(t)
	h.opts.Key = nil
	function := h.handle(succeed)
	event := batch("m1 body")

	h.expect(function, event, nil, []string{"m1"})

	event.Records[0].ReceiptHandle = "another"
	event.Records[0].Attributes = map[string]string{"ApproximateReceiveCount": "2"}
	h.expect(function, event, nil, nil)

	event.Records[0].EventSourceARN += "-2"
	h.expect(function, event, nil, []string{"m1"})
}

func TestAMessageWithoutAKeyFailsBeforeAnyRequest(t *testing.T) {
	h := parallelHarness(t)
	keys := map[string]string{"none": "", "empty": "", "both": "k", "k": "k"}
	causes := map[string]error{"none": lambdawrap.ErrNoKey, "both": errBank}
	h.opts.Key = func(_ context.Context, m events.SQSMessage) (string, error) { return keys[m.Body], causes[m.Body] }
	h.opts.Fingerprint = func(_ context.Context, m events.SQSMessage) (string, error) {
		h.equal("the message whose fingerprint is asked for", m.Body, "k")

		return "f", nil
	}
	h.expect(h.handle(succeed), batch("m1 none", "m2 empty", "m3 k", "m4 both"), []string{"m1", "m2", "m4"}, []string{"m3"})
	h.equal("requests", len(h.db.Requests()), 2)
}

func TestAKeyFunctionThatPanicsIsItsMessagesFailure(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Key = finding(only("k1", does(func() error { panic("key") })))
		h.opts.Fingerprint = finding(only("k2", does(func() error { panic(errors.New("fingerprint")) })))
		h.check(wrap(succeed), numbered(4), []string{"m1", "m2"}, []string{"m0", "m3"})

		h.logs("panic: key", "panic: fingerprint", "stack=", "level=ERROR")
	})
}

// closed is an error of a user's own type that no retry mends.
type closed struct{ error }

func (closed) Permanent() bool { return true }

// With an error of such a type a key function fails its message for good, and a handler's failure that DeadLetter takes stops no
// batch.
func TestAnErrorOfAUsersOwnTypeCanBePermanent(t *testing.T) {
	h := parallelHarness(t)
	dead := h.parkingBecauseOf(closed{errBank})
	h.opts.StopAtFailure = true
	h.opts.Key = keyless(closed{errBank}, "k0")

	h.check(h.handle(failWith(closed{errBank})), numbered(3), nil, []string{"m1", "m2"})
	h.logs("outcome=no_key") // it has no record that says failed
	h.sorted("dead letters", dead, "m0 true", "m1 true", "m2 true")
}
