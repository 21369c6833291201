package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The events of localstack/events/envelopes hold one publication that the service has delivered twice, as two messages of the
// queue. Its effect happens once, by the default key and by one of the content, and both messages are done.
func TestAPublicationThatIsDeliveredTwiceHasItsEffectOnce(t *testing.T) {
	t.Parallel()

	for name, envelope := range map[string]lambdawrap.EnvelopeFunc{"sns": lambdawrap.SNS, "eventbridge": lambdawrap.EventBridge} {
		for keyName, key := range map[string]lambdawrap.KeyFunc{"the default key": nil, "a key of the content": mustBody(t, "paymentId")} {
			t.Run(name+", "+keyName, func(t *testing.T) {
				t.Parallel()

				var event events.SQSEvent
				if err := json.Unmarshal([]byte(readText(t, "../localstack/events/envelopes/"+name+".json")), &event); err != nil || len(event.Records) != 2 {
					t.Fatalf("%d records, %v", len(event.Records), err)
				}

				h, paid := newHarness(t, nil), 0
				h.opts.Envelope, h.opts.Key = envelope, key
				function := h.handle(lambdawrap.JSON(func(_ context.Context, p struct {
					PaymentID string `json:"paymentId"`
					Amount    int    `json:"amount"`
				},
				) error {
					paid += p.Amount
					h.equal("payment", p.PaymentID, "p-1")

					return nil
				}))

				for range 2 { // and once more, as a redelivery of both
					h.answered(function, event)
				}

				h.equal("paid", paid, 1250)
			})
		}
	}
}

// Each recorded event of each service is cut at many places and has single bytes changed. What still opens has its effect once,
// whatever else is delivered with the same id. What does not is reported failed with the reason, and nothing of it runs.
func TestNothingOfABrokenEventIsLostOrRunsTwice(t *testing.T) {
	t.Parallel()

	fetch := lambdawrap.S3Pointer(shelf{"b/k": "large"})

	for name, c := range map[string]struct {
		open lambdawrap.EnvelopeFunc
		body string
	}{
		"SNS": {lambdawrap.SNS, recordedBody(t, "sns")}, "EventBridge": {lambdawrap.EventBridge, recordedBody(t, "eventbridge")}, "S3": {lambdawrap.S3, recordedBody(t, "s3")},
		"a test event of S3": {lambdawrap.S3, recordedBody(t, "s3_test_event")}, "a pointer": {fetch, pointerTo},
		"S3 through SNS":       {lambdawrap.Chain(lambdawrap.SNS, lambdawrap.S3), notification(t, "n-1", recordedBody(t, "s3"))},
		"compressed, by SNS":   {lambdawrap.Chain(lambdawrap.SNS, lambdawrap.Base64, lambdawrap.Gzip), notification(t, "n-1", in64(zipped(t, "deep")))},
		"a pointer, by a rule": {lambdawrap.Chain(lambdawrap.EventBridge, fetch), recordedBody(t, "eventbridge")},
	} {
		each(t, name, oneHarness, func(h *harness) {
			h.opts.Envelope, h.opts.Key = c.open, nil
			function := h.handle(succeed)
			done := map[string]bool{} // keys

			for number, body := range brokenForms(c.body) {
				event := batch("m x")
				event.Records[0].MessageId, event.Records[0].Body = fmt.Sprint("m-", number), body
				opened, errOpen := c.open.Open(h.Context(), event.Records[0])
				fresh := 0

				for _, e := range opened {
					key, err := e.Key()
					if err != nil {
						h.Fatalf("%q: %v", body, err)
					}

					if !done[key] {
						done[key] = true
						fresh++
					}
				}

				h.runs.clear()
				h.log.Reset()

				for range 2 {
					if errOpen == nil {
						h.answered(function, event)
					} else {
						h.answered(function, event, event.Records[0].MessageId)
						h.logs("outcome=no_key")
					}
				}

				if ran := len(h.runs.all()); ran != fresh {
					h.Fatalf("%d runs, want %d: %q opens as %v, %v", ran, fresh, body, opened, errOpen)
				}
			}
		})
	}
}

// brokenForms returns a body, what is left of it when it is cut at up to 60 places, and what it is when a byte there is another
// one.
func brokenForms(body string) []string {
	all := []string{body}

	places := 60
	if testing.Short() {
		places = 20
	}

	for at := 0; at < len(body); at += 1 + len(body)/places {
		all = append(all, body[:at], body[:at]+"x"+body[at+1:], body[:at]+body[at+1:], body[:at]+`"`+body[at:])
	}

	return all
}

// layer is an envelope of one kind as a service or a program puts it around a message, and what opens it.
type layer struct {
	open lambdawrap.EnvelopeFunc
	id   func(number int) string                                         // that the envelope with this number has; nil for none
	seal func(t testing.TB, objects shelf, number int, in string) string // "" where it cannot hold what stands inside
}

// layers returns each kind of envelope, over a bucket.
func layers(objects shelf) map[string]layer {
	return map[string]layer{
		"SNS": {lambdawrap.SNS, func(n int) string { return fmt.Sprint("sns-", n) }, func(t testing.TB, _ shelf, n int, in string) string {
			t.Helper()

			if !utf8.ValidString(in) {
				return ""
			}

			return notification(t, fmt.Sprint("sns-", n), in)
		}},
		"EventBridge": {lambdawrap.EventBridge, func(n int) string { return fmt.Sprint("eb-", n) }, func(_ testing.TB, _ shelf, n int, in string) string {
			if !strings.HasPrefix(in, "{") {
				return ""
			}

			return fmt.Sprintf(`{"id":"eb-%d","source":"s","detail-type":"d","time":"t","account":"a","region":"r","detail":%s}`, n, in)
		}},
		"S3Pointer": {lambdawrap.S3Pointer(objects), func(n int) string { return fmt.Sprint("b/k-", n) }, func(_ testing.TB, objects shelf, n int, in string) string {
			objects[fmt.Sprint("b/k-", n)] = in

			return strings.Replace(pointerTo, `"k"`, fmt.Sprintf(`"k-%d"`, n), 1)
		}},
		"Base64": {lambdawrap.Base64, nil, func(_ testing.TB, _ shelf, _ int, in string) string { return in64(in) }},
		"Gzip":   {lambdawrap.Gzip, nil, func(t testing.TB, _ shelf, _ int, in string) string { t.Helper(); return zipped(t, in) }},
	}
}

// Up to four envelopes stand inside of each other, in every order that the services allow, also two of one kind. The message
// inside comes out as it was put in, with the id of the innermost envelope that has one. A chain in any other order opens
// something else or says that it never will.
func TestAChainOpensEnvelopesInEveryOrder(t *testing.T) {
	t.Parallel()

	names := []string{"SNS", "EventBridge", "S3Pointer", "Base64", "Gzip"}
	orders := [][]string{nil}

	for from := 0; len(orders[from]) < 4; from++ {
		for _, name := range names {
			orders = append(orders, append(slices.Clone(orders[from]), name))
		}
	}

	opened := 0

	for _, order := range orders {
		if openedInOrder(t, order) {
			opened++
		}
	}

	if opened < 200 {
		t.Errorf("%d of %d orders were tried", opened, len(orders))
	}
}

// openedInOrder tries one order, the outermost first, and reports whether there can be such a message in a queue.
func openedInOrder(t *testing.T, order []string) bool {
	t.Helper()

	objects := shelf{}
	kinds := layers(objects)
	want := plain{Body: `{"x":"é"}`}
	body := want.Body

	for number, name := range slices.Backward(order) {
		if body = kinds[name].seal(t, objects, number, body); body == "" {
			return false
		}

		if kinds[name].id != nil && want.ID == "" {
			want.Name, want.ID = name, kinds[name].id(number)
		}
	}

	if !utf8.ValidString(body) {
		return false
	}

	chain := func(order []string) lambdawrap.EnvelopeFunc {
		var all []lambdawrap.EnvelopeFunc
		for _, name := range order {
			all = append(all, kinds[name].open)
		}

		return lambdawrap.Chain(all...)
	}

	opened, err := chain(order).Open(t.Context(), arrived(body))
	if diff := cmp.Diff([]plain{want}, plainOf(opened)); diff != "" || err != nil {
		t.Errorf("%v: %v\n%s", order, err, diff)
	}

	backward := slices.Clone(order)
	slices.Reverse(backward)

	if _, err := chain(backward).Open(t.Context(), arrived(body)); err != nil && !errors.Is(err, lambdawrap.ErrNoKey) {
		t.Errorf("%v, opened in the order %v: %v", order, backward, err)
	}

	return true
}

// A restore has the sequencer of the object's creation, as S3 sends it, also when the object is restored again: the event of a
// later one, in another message of the queue, is other work. So it is with all that is neither created nor removed. A second
// message of an object that was created or removed, with one sequencer, is the same event.
func TestASecondRestoreOfAnObjectIsNotTakenForTheFirst(t *testing.T) {
	t.Parallel()

	for name, runs := range map[string]int{
		"ObjectCreated:Put": 1, "ObjectRemoved:Delete": 1, "ObjectRemoved:DeleteMarkerCreated": 1,
		"ObjectRestore:Post": 2, "ObjectRestore:Completed": 2, "LifecycleTransition": 2, "IntelligentTiering": 2, "ObjectAcl:Put": 2,
		"Replication:OperationFailedReplication": 2,
	} {
		each(t, name, oneHarness, func(h *harness) {
			h.opts.Envelope, h.opts.Key = lambdawrap.S3, nil
			function := h.handle(succeed)

			for number := range 2 {
				event := batch("m x")
				event.Records[0].MessageId = fmt.Sprint("m-", number)
				event.Records[0].Body = fmt.Sprintf(`{"Records":[{"eventSource":"aws:s3","eventName":%q,"eventTime":"2024-04-0%dT00:11:23.730Z",`+
					`"s3":{"bucket":{"name":"b"},"object":{"key":"a.zip","versionId":"v","sequencer":"00638792A45B638391"}}}]}`, name, number+1)

				for range 2 { // and once more, as a redelivery
					h.answered(function, event)
				}
			}

			h.equal("runs", len(h.runs.all()), runs)
		})
	}
}
