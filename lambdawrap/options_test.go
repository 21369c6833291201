package lambdawrap_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestWrongOptionsAreInvocationErrorsThatNameTheField(t *testing.T) {
	t.Parallel()

	type record = events.DynamoDBEventRecord

	h := newHarness(t, nil)
	ctx := h.limited(time.Minute)
	sqs := func(o lambdawrap.Options) error {
		return errorOf(lambdawrap.SQS(h.store, h.noted(succeed), &o)(ctx, batch("m1 k1")))
	}
	whole := func(o lambdawrap.Options) error {
		return errorOf(lambdawrap.Batch(h.store, reporting(), &o)(ctx, batch("m1 k1")))
	}
	kafka := func(o lambdawrap.KafkaOptions) error {
		return errorOf(lambdawrap.Kafka(h.store, streamHandler(h.noted(succeed), messageOfKafka), &o)(ctx, kafkaEvent(batch("1 a a"))))
	}
	stream := func(o lambdawrap.StreamOptions[record]) error {
		event := events.DynamoDBEvent{Records: []record{change(batch("1 a a").Records[0])}}

		return errorOf(lambdawrap.DynamoDBStream(h.store, streamHandler(h.noted(succeed), messageOfChange), &o)(ctx, event))
	}
	function := func(set func(*lambdawrap.FuncOptions[order])) error {
		f := newFunc(h)
		set(&f.opts)

		return errorOf(f.wrap(settleOrder)(ctx, order{ID: "o-1"}))
	}
	batches := func(context.Context, order) (*events.SQSEventResponse, error) { return &events.SQSEventResponse{}, nil }
	buffer := func(context.Context, order) (io.Reader, error) { return &bytes.Buffer{}, nil }

	for _, c := range []struct {
		want string
		got  error
	}{
		{"Options.Reserve: must not be negative", sqs(lambdawrap.Options{Reserve: -1})},
		{"Options.Workers: must not be negative", sqs(lambdawrap.Options{Workers: -1})},
		{"Options.Timeout: must not be negative", sqs(lambdawrap.Options{Timeout: -1})},
		{"Options.Timeout: must not be below 1ms, is 5ns", sqs(lambdawrap.Options{Timeout: 5})},
		{"Options.Wait: must not be negative", sqs(lambdawrap.Options{Wait: -1})},
		{"Options.Visibility: must not be a nil pointer", sqs(lambdawrap.Options{Visibility: (*fakeQueue)(nil)})},
		{"Options.Backoff", sqs(lambdawrap.Options{Backoff: lambdawrap.ExponentialBackoff})}, // without Visibility
		{"Options.Reserve: must not be negative", whole(lambdawrap.Options{Reserve: -1})},
		{"Options.Workers: must not be negative", whole(lambdawrap.Options{Workers: -1})},
		{"Options.Timeout: must not be negative", whole(lambdawrap.Options{Timeout: -1})},
		{"Options.Wait: must not be negative", whole(lambdawrap.Options{Wait: -1})},
		{"Options.StopAtFailure", whole(lambdawrap.Options{StopAtFailure: true})},
		{"Options.Optimistic", whole(lambdawrap.Options{Optimistic: true})},
		{"StreamOptions.Aggregated:", stream(lambdawrap.StreamOptions[record]{Aggregated: true})},
		{"StreamOptions.Reserve:", stream(lambdawrap.StreamOptions[record]{Reserve: -1})},
		{"StreamOptions.Timeout:", stream(lambdawrap.StreamOptions[record]{Timeout: -1})},
		{"StreamOptions.Workers:", stream(lambdawrap.StreamOptions[record]{Workers: -1})},
		{"StreamOptions.Timeout: 1h", stream(lambdawrap.StreamOptions[record]{Timeout: time.Hour})},
		{"KafkaOptions.Reserve:", kafka(lambdawrap.KafkaOptions{Reserve: -1})},
		{"KafkaOptions.Timeout:", kafka(lambdawrap.KafkaOptions{Timeout: -1})},
		{"KafkaOptions.Workers:", kafka(lambdawrap.KafkaOptions{Workers: -1})},
		{"FuncOptions.Key:", function(func(o *lambdawrap.FuncOptions[order]) { o.Key = nil })},
		{"FuncOptions.Reserve:", function(func(o *lambdawrap.FuncOptions[order]) { o.Reserve = -1 })},
		{"FuncOptions.Timeout:", function(func(o *lambdawrap.FuncOptions[order]) { o.Timeout = -1 })},
		{"FuncOptions.Wait:", function(func(o *lambdawrap.FuncOptions[order]) { o.Wait = -1 })},
		{"FuncOptions.Timeout: 1h", function(func(o *lambdawrap.FuncOptions[order]) { o.Timeout = time.Hour })},
		{"too little time", function(func(o *lambdawrap.FuncOptions[order]) { o.Reserve = time.Hour })},
		{"panic: logger", function(func(o *lambdawrap.FuncOptions[order]) { o.Reserve, o.Logger = time.Hour, panicking() })},
		{"the answer of a batch", errorOf(lambdawrap.Func(h.store, batches, &newFunc(h).opts)(ctx, order{ID: "o-1"}))},
		{"io.Reader", errorOf(lambdawrap.Func(h.store, buffer, &newFunc(h).opts)(ctx, order{ID: "o-1"}))}, // JSON has none
	} {
		h.errs("the invocation", c.got, c.want)
	}

	h.ran()
	h.equal("requests", len(h.db.Requests()), 0)
}

func errorOf[T any](_ T, err error) error { return err }

// A Store that cannot commit without a claim is found at the first invocation, and not by each message.
func TestOptimisticNeedsARetentionAndATransactor(t *testing.T) {
	t.Parallel()

	ways := map[string]func(*idemddb.Store) error{
		"Options": func(s *idemddb.Store) error {
			return errorOf(lambdawrap.SQS(s, succeed, &lambdawrap.Options{Optimistic: true})(t.Context(), batch("m1 k1")))
		},
		"FuncOptions": func(s *idemddb.Store) error {
			key := func(context.Context, int) (string, error) { return "k", nil }
			work := func(ctx context.Context, _ int) (int, error) { return 0, idemddb.Stage(ctx, idemddb.Effects{}) }

			return errorOf(lambdawrap.Func(s, work, &lambdawrap.FuncOptions[int]{Key: key, Optimistic: true})(t.Context(), 1))
		},
		"HTTPOptions": func(s *idemddb.Store) error {
			var log strings.Builder

			opts := &lambdawrap.HTTPOptions{
				Optimistic: true, Logger: slog.New(slog.NewTextHandler(&log, nil)), Caller: func(*http.Request) (string, error) { return "c", nil },
			}
			if answerOf(lambdawrap.HTTP(s, http.NotFoundHandler(), opts), request("", "")).StatusCode == http.StatusInternalServerError {
				return errors.New(log.String())
			}

			return nil
		},
	}

	for name, call := range ways {
		h := newHarness(t, nil)

		h.equal(name+", with the defaults", call(h.store), nil)

		single, err := idemddb.New(struct{ idemddb.DynamoDB }{h.db}, "records", "test", nil)
		h.equal("error", err, nil)

		for want, store := range map[string]*idemddb.Store{
			"Options.Retention is below 1h0m0s, it is 59m0s": h.open(h.db, &idemddb.Options{Retention: 59 * time.Minute}),
			"no idemddb.Transactor":                          single,
		} {
			h.errs(name, call(store), name+".Optimistic: must not be set", want)
		}
	}
}

func TestNilIsRefusedAtStartUp(t *testing.T) {
	h := parallelHarness(t)
	for _, c := range []struct {
		want string
		call func()
	}{
		{"lambdawrap: store: must not be nil; check the error of idemddb.New", func() { lambdawrap.SQS(nil, succeed, nil) }},
		{"lambdawrap: handler: must not be nil", func() { lambdawrap.SQS(h.store, nil, nil) }},
		{"lambdawrap: store: must not be nil; check the error of idemddb.New", func() { lambdawrap.Batch(nil, reporting(), nil) }},
		{"lambdawrap: handler: must not be nil", func() { lambdawrap.Batch(h.store, nil, nil) }},
		{"lambdawrap: handler: must not be nil", func() { lambdawrap.Whole(nil) }},
		{"lambdawrap: handler: must not be nil", func() { lambdawrap.JSON[int](nil) }},
		{"lambdawrap: Limited: open: must not be nil", func() { lambdawrap.Limited(nil, lambdawrap.EnvelopeLimits{}) }},
		{"lambdawrap: Chain: envelopes[0]: must not be nil", func() { lambdawrap.Chain(nil) }},
		{"lambdawrap: Chain: envelopes[1]: must not be nil", func() { lambdawrap.Chain(lambdawrap.SNS, nil) }},
		{"lambdawrap: DeadLetterQueue: api: must not be nil", func() { lambdawrap.DeadLetterQueue(nil, queue) }},
		{"lambdawrap: DeadLetterQueue: api: must not be nil", func() { lambdawrap.DeadLetterQueue((*sqs.Client)(nil), queue) }},
		{"lambdawrap: S3Pointer: api: must not be nil", func() { lambdawrap.S3Pointer(nil) }},
		{"lambdawrap: S3Pointer: api: must not be nil", func() { lambdawrap.S3Pointer((*shelf)(nil)) }},
		{"lambdawrap: SDKLogger: logger: must not be nil", func() { lambdawrap.SDKLogger(nil) }},
		{"lambdawrap: store: must not be nil; check the error of idemddb.New", func() { lambdawrap.HTTP(nil, http.NotFoundHandler(), nil) }},
		{"lambdawrap: Measure: metrics: must not be nil", func() { lambdawrap.Measure(nil, lambdawrap.SQS(h.store, succeed, nil)) }},
		{"lambdawrap: handler: must not be nil", func() { lambdawrap.HTTP(h.store, nil, nil) }},
		{"lambdawrap: handler: must not be nil", func() { lambdawrap.NewMetrics(io.Discard, "API").MeasureHTTP(nil) }},
	} {
		h.equal("panic", panicOf(c.call), any(c.want))
	}
}

func TestTheSwitchTurnsEveryWrapperOffAndTakesOnlyTrueAnd1(t *testing.T) {
	for value, on := range map[string]bool{"true": false, "1": false, "false": true, "0": true, "": true} {
		for _, way := range ways {
			t.Run(value+", "+way.name, func(t *testing.T) {
				t.Setenv("IDEMDDB_DISABLED", value)

				h := newHarness(t, nil)
				if !on {
					h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { panic("asked for a key") }
				}

				queue := h.hiding(nil)
				function := way.wrap(h, failingWith(errBank, "bad"))
				event := deliveredFor(batch("m1 k1", "m2 k1", "m3 bad"), 1)

				if on {
					h.check(function, event, []string{"m3"}, []string{"m1", "m3"})
					h.equal("warnings", h.log.Len() > 0 && strings.Contains(h.log.String(), "IDEMDDB_DISABLED"), false)
					h.equal("requests are made", len(h.db.Requests()) > 0, true)

					return
				}

				for range 2 {
					h.check(function, event, []string{"m3"}, []string{"m1", "m2", "m3"})
				}

				if seconds := queue.of("m3"); len(queue.seconds) != 1 || len(seconds) != 2 || slices.Min(seconds) < 1 || slices.Max(seconds) > 2 {
					t.Errorf("hidden: %v, want what failed, each time for 1 to 2 s", queue.seconds)
				}

				if way.name != "Batch" { // a FIFO group still stops at its failure
					h.check(function, batch("m1 bad a", "m2 k a", "m3 k b"), []string{"m1", "m2"}, []string{"m1", "m3"})
				}

				h.equal("warnings", strings.Count(h.log.String(), "IDEMDDB_DISABLED"), 1)
				h.equal("requests", len(h.db.Requests()), 0)
			})
		}
	}
}

func TestJSONRefusesWhatDoesNotDecodeForGood(t *testing.T) {
	t.Parallel()

	type fees struct {
		Fee int64 `json:"fee"`
	}

	type payment struct {
		*fees

		Amount int64      `json:"amount"`
		Tip    int64      `json:"tip,string"`
		At     *time.Time `json:"at"`
	}

	for body, want := range map[string]string{
		`{"fee":1}`:                       "body is not a lambdawrap_test.payment",
		`{"tip":4111}`:                    "body is not a lambdawrap_test.payment",
		`{"at":"secret"}`:                 "UnmarshalText of one refuses it",
		`{"amount":1}`:                    "",
		`{"amount":"4111"}`:               `field "amount" must be of type int64`,
		`{"amount":1`:                     "it ends early",
		`secret`:                          "not JSON, at byte 1",
		`{"amount":1}{"x":2}`:             "more than one JSON value",
		``:                                "it ends early",
		`{"amount":99999999999999999999}`: `field "amount"`,
	} {
		err := lambdawrap.JSON(func(context.Context, payment) error { return nil })(t.Context(), events.SQSMessage{Body: body})

		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", body, err, want)
		case err != nil && (strings.Contains(err.Error(), "4111") || strings.Contains(err.Error(), "secret")):
			t.Errorf("the error shows the body: %v", err)
		}
	}
}

// Body and JSON read a body by one rule, or it would be keyed by one spelling of a name and worked on by the other.
func TestBodyAndJSONCompareNamesAsTheyStand(t *testing.T) {
	t.Parallel()

	type payment struct {
		ID     string `json:"paymentId"`
		Amount int64
	}

	for body, want := range map[string]struct {
		key     string // "" for none
		payment payment
		refused string // by JSON
	}{
		`{"paymentId":"p-1","Amount":2}`:                {"p-1", payment{"p-1", 2}, ""},
		`{"PaymentID":"p-1","amount":2}`:                {"", payment{}, ""},
		`{"paymentId":"p-1","PaymentID":"p-2"}`:         {"", payment{}, "body has two names in an object that differ only in case; they end at bytes 12 and 30"},
		`{"PaymentID":"p-2","paymentId":"p-1"}`:         {"", payment{}, "two names"},
		`{"paymentId":"p-1","paymentId":"p-2"}`:         {"", payment{}, "body has one name twice in an object"},
		`{"paymentId":"p-1","by":[{"A":1,"\u0061":2}]}`: {"", payment{}, "two names"},
	} {
		message := events.SQSMessage{Body: body}

		var got payment

		err := lambdawrap.JSON(func(_ context.Context, p payment) error { got = p; return nil })(t.Context(), message)

		switch {
		case want.refused == "" && err != nil, want.refused != "" && (err == nil || !strings.Contains(err.Error(), want.refused)):
			t.Errorf("%s: JSON returns %v, want %q", body, err, want.refused)
		case err != nil && !panicerror.IsPermanent(err):
			t.Errorf("%s: %v is not permanent", body, err)
		case got != want.payment:
			t.Errorf("%s: JSON decodes %+v, want %+v", body, got, want.payment)
		}

		key, err := mustBody(t, "paymentId")(t.Context(), message)
		if key != want.key || (err != nil) != (want.key == "") || err != nil && !errors.Is(err, lambdawrap.ErrNoKey) {
			t.Errorf("%s: Body returns %q, %v, want %q", body, key, err, want.key)
		}
	}
}

func TestWholeGetsOneMessageAtATime(t *testing.T) {
	h := parallelHarness(t)
	function := h.handle(lambdawrap.Whole(func(ctx context.Context, e events.SQSEvent) error {
		h.equal("messages", len(e.Records), 1)

		return failingWith(errBank, "k2")(ctx, e.Records[0])
	}))
	h.check(function, batch("m1 k1", "m2 k2", "m3 k3"), []string{"m2"}, []string{"m1", "m2", "m3"})
}
