package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// places are all the places where something confidential could end that is not its own: the table, the log, the metrics, events
// and errors.
type places struct {
	testing.TB

	db      *idemddbtest.DB
	metrics *lambdawrap.Metrics
	logger  *slog.Logger
	mu      sync.Mutex
	written bytes.Buffer // by the log, the metrics and whoever prints an event or an error
	kinds   []idemddb.Kind
	refusal error // of the sender to receipts
	sent    int
}

func newPlaces(t testing.TB) *places {
	t.Helper()

	p := &places{TB: t, db: audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))}
	p.db.OnChange(func(c idemddbtest.Change) {
		for name, value := range c.After {
			if texts := strings.Join(textsOf(value), " "); strings.Contains(texts, secretAnswer) {
				t.Errorf("stored in %s: %q", name, texts)
			}
		}
	})
	p.metrics = lambdawrap.NewMetrics(p, "test")
	p.logger = slog.New(slog.NewJSONHandler(p, &slog.HandlerOptions{Level: slog.LevelDebug}))

	return p
}

func (p *places) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.written.Write(b)
}

func (p *places) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	answers := make([]error, len(ms))

	for i, m := range ms {
		if answers[i] = p.refusal; p.refusal == nil {
			p.sent++
		}

		if m.Body != secretAnswer || m.Group != secretAnswer || m.Attributes["to"] != secretAnswer {
			p.Errorf("sent %+v", m)
		}
	}

	return answers
}

func (p *places) print(err error) { fmt.Fprintf(p, "%v %+v %#v\n", err, err, err) }

// printAnswer prints what a call returns.
func (p *places) printAnswer(answer any, err error) {
	p.print(err)
	fmt.Fprintf(p, "%+v\n", answer)
}

func (p *places) store(codec idemddb.Codec) *idemddb.Store {
	p.Helper()

	store, err := idemddb.New(p.db, "records", "test", &idemddb.Options{
		Codec: codec, Senders: map[string]idemddb.Sender{"receipts": p},
		Observe: func(ctx context.Context, e idemddb.Event) {
			p.metrics.Observe(ctx, e)
			p.print(e.Err)

			p.mu.Lock()
			defer p.mu.Unlock()

			p.kinds = append(p.kinds, e.Kind)
		},
	})
	if err != nil {
		p.Fatal(err)
	}

	return store
}

// wantClean demands that nothing which was written has the marker, and that all of these kinds of events and words of the log
// were met: a test that meets no error finds no leak.
func (p *places) wantClean(kinds []idemddb.Kind, words ...string) {
	p.Helper()

	text := p.written.String()
	if at := strings.Index(text, secretAnswer); at >= 0 {
		p.Errorf("something confidential is written: %s", text[max(0, at-300):min(len(text), at+100)])
	}

	for _, kind := range kinds {
		if !slices.Contains(p.kinds, kind) {
			p.Errorf("no event %s, only %v", kind, p.kinds)
		}
	}

	for _, word := range words {
		if !strings.Contains(text, word) {
			p.Errorf("nothing written has %q:\n%s", word, text)
		}
	}
}

// note is the message of a queue in this test. All but its id is confidential.
type note struct {
	ID, Note string
	Amount   int
}

// receiptOf stages what follows from a message, which is confidential in all parts but its target.
func receiptOf(ctx context.Context) error {
	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{
		To: "receipts", Body: secretAnswer, Group: secretAnswer, Attributes: map[string]string{"to": secretAnswer},
	}}})
}

// handleNote ends as the number of the message says.
func handleNote(ctx context.Context, n note) error {
	errStage := receiptOf(ctx)

	switch n.Amount {
	case 1:
		return errors.New("declined")
	case 2:
		return lambdawrap.Permanent(errors.New("no such account"))
	case 3:
		panic("as the test says")
	case 4: // a target that no sender is for
		return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "nobody", Body: secretAnswer}}})
	case 5: // more than a record holds
		return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: strings.Repeat(secretAnswer, 40_000)}}})
	case 6: // not UTF-8
		return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: secretAnswer + "\xff"}}})
	}

	return errStage
}

// confidential returns the bodies of messages that have every end, and such as nobody can read.
func confidential() []string {
	bodies := []string{
		secretAnswer, `{"ID":["` + secretAnswer + `"]}`, `{"ID":"bad-type","Note":"` + secretAnswer + `","Amount":"` + secretAnswer + `"}`,
		`{"ID":"cut","Note":"` + secretAnswer, `{"ID":"surrogate","Note":"` + secretAnswer + `\ud800","Amount":2}`, "{\"ID\":\"bytes\",\"Note\":\"" + secretAnswer + "\xff\"}",
		`{"ID":"twice","Note":"` + secretAnswer + `"}`, `{"ID":"twice","Note":"another ` + secretAnswer + `"}`, // a mismatch
	}
	for amount := range 7 {
		bodies = append(bodies, fmt.Sprintf(`{"ID":"n-%d","Note":"%s","Amount":%d}`, amount, secretAnswer, amount))
	}

	return bodies
}

// A batch has every end that a message of a queue can have, again and again, claimed and optimistic, while the target of the
// outbox is down, refuses or is there. None of it puts a byte of a message into the table, the log, the metrics, an event or an
// error.
func TestNothingOfAMessageOfAQueueIsStoredOrLoggedWithACodec(t *testing.T) {
	t.Parallel()

	for name, optimistic := range map[string]bool{"claimed": false, "optimistic": true} {
		for envelopeName, envelope := range map[string]lambdawrap.EnvelopeFunc{
			"as they are": nil, "in base64": lambdawrap.Base64, "not in an envelope": lambdawrap.SNS,
		} {
			t.Run(name+", "+envelopeName, func(t *testing.T) {
				t.Parallel()

				p := newPlaces(t)
				function := lambdawrap.Measure(p.metrics, lambdawrap.SQS(p.store(mask(0x55)), lambdawrap.JSON(handleNote), &lambdawrap.Options{
					Key: mustBody(t, "ID"), Fingerprint: mustBody(t, "Note"), Logger: p.logger, Optimistic: optimistic, Workers: 3, Envelope: envelope,
					DeadLetter: func(_ context.Context, _ events.SQSMessage, cause error) error { p.print(cause); return nil },
				}))

				var event events.SQSEvent

				for i, body := range confidential() {
					if envelopeName == "in base64" {
						body = in64(body)
					}

					event.Records = append(event.Records, events.SQSMessage{
						MessageId: fmt.Sprint("m-", i), Body: body, EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:notes",
						Attributes:        map[string]string{"ApproximateReceiveCount": "1"},
						MessageAttributes: map[string]events.SQSMessageAttribute{"to": {DataType: "String", StringValue: new(secretAnswer)}},
					})
				}

				for round, refusal := range []error{errors.New("the target is down"), idemddb.ErrUnsendable, nil} {
					p.refusal = refusal

					for i := range event.Records {
						event.Records[i].Attributes["ApproximateReceiveCount"] = fmt.Sprint(round + 1)
					}

					p.printAnswer(function(t.Context(), event))
					p.sweep()
				}

				if envelopeName == "not in an envelope" {
					p.wantClean(nil, "needs no Options.Envelope", "no_key")

					return
				}

				p.wantClean([]idemddb.Kind{
					idemddb.KindCompleted, idemddb.KindReleased, idemddb.KindFailed, idemddb.KindMismatch, idemddb.KindReplayed,
					idemddb.KindUnsent, idemddb.KindParked,
				}, "declined", "no such account", "as the test says", "no_key", "no entry of Options.Senders", "idemddb: ", `"Messages"`)
			})
		}
	}
}

// sweep sends what is unsent in all records, by relays without the key and by one with it.
func (p *places) sweep() {
	p.Helper()

	for _, codec := range []idemddb.Codec{mask(0x66), nil, mask(0x55)} {
		store := p.store(codec)
		for _, record := range p.db.Items("records") {
			p.printAnswer(store.SendStored(p.Context(), record, false))
		}
	}
}

// The results of Func are confidential, too, and so is its input; also where a result is not what a caller of today expects.
func TestNothingOfAnInputOrAResultIsStoredOrLoggedWithACodec(t *testing.T) {
	t.Parallel()

	p := newPlaces(t)
	opts := &lambdawrap.FuncOptions[note]{
		Key:         func(_ context.Context, n note) (string, error) { return n.ID, nil },
		Fingerprint: func(_ context.Context, n note) (string, error) { return n.Note, nil }, Logger: p.logger,
	}
	answer := func(ctx context.Context, n note) (string, error) { return secretAnswer, handleNote(ctx, n) }
	sealing, forging := p.store(mask(0x55)), p.store(mask(0x66))

	for _, amount := range []int{0, 1, 2, 4, 5, 6} { // a panic is the caller's again
		n := note{ID: fmt.Sprint("n-", amount), Note: secretAnswer, Amount: amount}

		for range 2 {
			got, err := lambdawrap.Func(sealing, answer, opts)(t.Context(), n)
			if p.print(err); (err == nil) != (amount == 0) || err == nil && got != secretAnswer {
				t.Errorf("%d: got %q, %v", amount, got, err)
			}
		}
	}

	done := note{ID: "n-0", Note: secretAnswer}

	function := lambdawrap.Func(sealing, func(context.Context, note) (int, error) { return 0, nil },
		&lambdawrap.FuncOptions[note]{Key: opts.Key, Logger: p.logger})
	refused := func(err, want error) {
		t.Helper()

		if p.print(err); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	refused(errorOf(function(t.Context(), done)), idemddb.ErrCorrupt) // it is a result of another type
	refused(errorOf(lambdawrap.Func(forging, answer, opts)(t.Context(), done)), idemddb.ErrCorrupt)

	done.Note = "another " + secretAnswer
	refused(errorOf(lambdawrap.Func(sealing, answer, opts)(t.Context(), done)), idemddb.ErrMismatch)

	p.wantClean([]idemddb.Kind{
		idemddb.KindCompleted, idemddb.KindReleased, idemddb.KindFailed, idemddb.KindMismatch, idemddb.KindReplayed, idemddb.KindCorrupt,
	}, "declined")
}

// What a stream carries is confidential with its partition key and its headers. Each record is in a partition of its own, so none
// waits for another.
func TestNothingOfARecordOfAStreamIsStoredOrLoggedWithACodec(t *testing.T) {
	t.Parallel()

	work := func(ctx context.Context, data []byte) error {
		var n note
		if err := json.Unmarshal(data, &n); err != nil {
			return lambdawrap.Permanent(err)
		}

		return handleNote(ctx, n)
	}

	for name, invoke := range map[string]func(p *places) (any, error){
		"Kinesis": func(p *places) (any, error) {
			var event events.KinesisEvent
			for i, body := range confidential() {
				event.Records = append(event.Records, shardRecord(fmt.Sprint(100+i), fmt.Sprint(secretAnswer, i), body))
			}

			return lambdawrap.Kinesis(p.store(mask(0x55)), func(ctx context.Context, r events.KinesisEventRecord) error { return work(ctx, r.Kinesis.Data) },
				&kinesisOptions{Logger: p.logger, Workers: 3})(p.Context(), event)
		},
		"Kafka": func(p *places) (any, error) {
			event := partition()
			for i, body := range confidential() {
				record := partition(body).Records["payments-0"][0]
				record.Partition, record.Key, record.Headers = int64(i), in64(secretAnswer), []map[string]events.JSONNumberBytes{{"to": []byte(secretAnswer)}}
				event.Records[fmt.Sprint("payments-", i)] = []events.KafkaRecord{record}
			}

			return lambdawrap.Kafka(p.store(mask(0x55)), func(ctx context.Context, r lambdawrap.KafkaRecord) error { return work(ctx, r.Value) },
				&lambdawrap.KafkaOptions{Logger: p.logger, Workers: 3})(p.Context(), event)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p := newPlaces(t)

			for _, refusal := range []error{errors.New("the target is down"), idemddb.ErrUnsendable, nil} {
				p.refusal = refusal

				p.printAnswer(invoke(p))
				p.sweep()
			}

			p.wantClean([]idemddb.Kind{
				idemddb.KindCompleted, idemddb.KindReleased, idemddb.KindFailed, idemddb.KindReplayed,
				idemddb.KindUnsent, idemddb.KindParked,
			}, "declined", "no such account", "as the test says", "no entry of Options.Senders", "idemddb: ")
		})
	}
}
