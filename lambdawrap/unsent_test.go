package lambdawrap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// alwaysSays is a Sender that gives this answer for each message.
type alwaysSays struct{ err error }

func (r alwaysSays) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	return slices.Repeat([]error{r.err}, len(ms))
}

var errTarget = errors.New("the topic is down")

// announceTwice stages two messages.
func announceTwice(ctx context.Context) error {
	message := idemddb.Message{To: "topic", Body: "secret"}

	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{message, message}})
}

// stagerRun calls a wrapper that can stage, with its metrics. Its one message has the key "k".
type stagerRun func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics)

// stagers are all of them, with the text by which a line names the message.
var stagers = map[string]struct {
	run stagerRun
	key string
	id  string
}{
	"SQS": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		function := h.handle(func(ctx context.Context, _ events.SQSMessage) error { return announceTwice(ctx) })
		answer, err := lambdawrap.Measure(metrics, function)(ctx, batch("m1 k"))
		h.equal("answer", []any{len(answer.BatchItemFailures), err}, []any{0, nil})
	}, "k", "messageId=m1"},
	"SQS, optimistic": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		h.opts.Optimistic = true
		function := h.handle(func(ctx context.Context, _ events.SQSMessage) error { return announceTwice(ctx) })
		answer, err := lambdawrap.Measure(metrics, function)(ctx, batch("m1 k"))
		h.equal("answer", []any{len(answer.BatchItemFailures), err}, []any{0, nil})
	}, "k", "messageId=m1"},
	"Kinesis": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		work := func(ctx context.Context, _ events.KinesisEventRecord) error { return announceTwice(ctx) }
		handler := lambdawrap.Measure(metrics, lambdawrap.Kinesis(h.store, work, streamOptions(h.opts, messageOfKinesis)))
		answer, err := handler(ctx, events.KinesisEvent{Records: []events.KinesisEventRecord{kinesisRecord(batch("1 k").Records[0])}})
		h.equal("answer", []any{len(answer.BatchItemFailures), err}, []any{0, nil})
	}, "k", "sequenceNumber=1"},
	"DynamoDBStream": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		work := func(ctx context.Context, _ events.DynamoDBEventRecord) error { return announceTwice(ctx) }
		handler := lambdawrap.Measure(metrics, lambdawrap.DynamoDBStream(h.store, work, streamOptions(h.opts, messageOfChange)))
		answer, err := handler(ctx, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{change(batch("1 k").Records[0])}})
		h.equal("answer", []any{len(answer.BatchItemFailures), err}, []any{0, nil})
	}, "k", "sequenceNumber=1"},
	"Func": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		f := newFunc(h)
		function := f.wrap(func(ctx context.Context, _ order) (paid, error) { return paid{}, announceTwice(ctx) })
		_, err := lambdawrap.Measure(metrics, function)(ctx, order{ID: "k"})
		h.equal("error", err, nil)
	}, "k", "requestId=r-1"},
	"HTTP": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		opts := &lambdawrap.HTTPOptions{Logger: h.opts.Logger, Caller: func(*http.Request) (string, error) { return "c-1", nil }}
		handler := metrics.MeasureHTTP(lambdawrap.HTTP(h.store, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.equal("Stage", announceTwice(r.Context()), nil)
			w.WriteHeader(http.StatusCreated)
		}), opts))

		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request("k", "{}").WithContext(ctx))
		h.equal("status", recorder.Code, http.StatusCreated)
	}, `#["c-1","k"]`, ""},
}

// The work goes on, so no error says it; the alarm of the sample sends its operator to the log.
func TestAPanicOfTraceHasALineWithItsStack(t *testing.T) {
	t.Parallel()

	for name, wrapper := range stagers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, &idemddb.Options{
					Trace: func(context.Context) string { panic("no span") }, Senders: map[string]idemddb.Sender{"topic": alwaysSays{nil}},
				})
				ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
				wrapper.run(ctx, h, lambdawrap.NewMetrics(io.Discard, "Test"))

				h.hasOneLine("level=ERROR", "Options.Trace panicked", "outcome=panicked", wrapper.id, "key="+record.KeyHash(wrapper.key), "no span", "stack=")
			})
		})
	}
}

func TestRequestsThatAreNotSharedAnyMoreHaveALineThatSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return r.Operation == "BatchExecuteStatement" }, idemddbtest.AccessDenied))
		h.opts.Workers = 3
		h.check(h.handle(succeed), numbered(3), nil, []string{"m0", "m1", "m2"})

		h.hasOneLine("level=WARN", "requests are not shared from now on", "outcome=unshared", "shared requests", "AccessDenied")
	})
}

// hasOneLine checks that the log has one line, with these texts.
func (h *harness) hasOneLine(texts ...string) {
	h.Helper()

	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	if len(lines) != 1 {
		h.Errorf("%d lines, want one:\n%s", len(lines), h.log)
	}

	for _, text := range texts {
		if !strings.Contains(lines[0], text) {
			h.Errorf("the line lacks %q: %s", text, lines[0])
		}
	}
}

// The work is done, so no error says that what follows from it is not sent.
func TestEachMessageThatIsNotSentHasALineAndIsCounted(t *testing.T) {
	t.Parallel()

	for cause, want := range map[string]struct {
		sender         idemddb.Sender
		level, outcome string
		metric, text   string
	}{
		"the target is down":     {alwaysSays{errTarget}, "WARN", "unsent", "Unsent", errTarget.Error()},
		"another process sends":  {nil, "INFO", "unsent", "Unsent", "no sender"},
		"the sender panics":      {brokenSender{}, "ERROR", "unsent", "Unsent", "stack="},
		"it can never be sent":   {alwaysSays{idemddb.ErrUnsendable}, "ERROR", "parked", "Parked", "can never be sent"},
		"its target is not here": {alwaysSays{fmt.Errorf("%w: gone", idemddb.ErrUnsendable)}, "ERROR", "parked", "Parked", "gone"},
	} {
		for name, wrapper := range stagers {
			t.Run(name+", "+cause, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var out bytes.Buffer

					metrics := lambdawrap.NewMetrics(&out, "Test")
					h := newHarness(t, &idemddb.Options{Observe: metrics.Observe, Senders: map[string]idemddb.Sender{"topic": want.sender}})
					ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
					wrapper.run(ctx, h, metrics)

					lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
					if len(lines) != 2 {
						t.Errorf("%d lines, want one for each message:\n%s", len(lines), h.log)
					}

					for _, part := range []string{
						"level=" + want.level, "outcome=" + want.outcome, wrapper.id, "key=" + record.KeyHash(wrapper.key), `\"topic\"`, want.text,
					} {
						if !strings.Contains(lines[0], part) {
							t.Errorf("the line lacks %q: %s", part, lines[0])
						}
					}

					if strings.Contains(h.log.String(), "secret") {
						t.Errorf("the log has a body: %s", h.log)
					}

					if _, line := readLine(t, out.String()); line[want.metric] != 2.0 || line["NotDone"] != 0.0 {
						t.Errorf("%s is %v, NotDone %v", want.metric, line[want.metric], line["NotDone"])
					}
				})
			})
		}
	}
}

// The line of the message that fails has the cause.
func TestWithoutASweepAnUnsentMessageHasOneLine(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{RedeliverUnsent: true, Senders: map[string]idemddb.Sender{"topic": alwaysSays{errTarget}}})
	h.check(h.handle(func(ctx context.Context, _ events.SQSMessage) error { return announceTwice(ctx) }),
		batch("m1 k1"), []string{"m1"}, []string{"m1"})
	h.equal("lines", strings.Count(h.log.String(), "\n"), 1)
	h.logs("outcome=unsent", "comesBack=true", errTarget.Error())
}

// The message of a claim that is done by another handler is named by its own key.
func TestAnUnsentMessageOfWorkInsideOfAHandlerIsNamedByItsOwnKey(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"topic": alwaysSays{errTarget}}})
	h.check(h.handle(func(ctx context.Context, _ events.SQSMessage) error {
		_, err := idemddb.Do(ctx, h.store, "inner", nil, func(ctx context.Context) (int, error) { return 1, announceTwice(ctx) })

		return err
	}), batch("m1 k1"), nil, []string{"m1"})
	h.logs("messageId=m1", "key="+record.KeyHash("inner"))
}

// The context of the user's hook need not be derived from that of the invocation.
func TestAMessageWithAContextOfItsOwnHasALineForWhatIsNotSent(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"topic": alwaysSays{errTarget}}})
	h.opts.MessageContext = func(context.Context, events.SQSMessage) context.Context { return t.Context() }
	h.check(h.handle(func(ctx context.Context, _ events.SQSMessage) error { return announceTwice(ctx) }), batch("m1 k1"), nil, []string{"m1"})
	h.logs("messageId=m1", "outcome=unsent")
}

// A duplicate tries to send what is older than 10 s, and says so if it cannot.
func TestADuplicateThatCannotSendSaysSo(t *testing.T) {
	t.Parallel()

	for _, way := range ways {
		each(t, way.name, inBubble(&idemddb.Options{Senders: map[string]idemddb.Sender{"topic": alwaysSays{errTarget}}}), func(h *harness) {
			c := claim(h, h.store, "k1")
			h.equal("completion", c.CompleteWith(h.Context(), nil, idemddb.Effects{Messages: []idemddb.Message{{To: "topic", Body: "b"}}}), nil)

			work := way.wrap(h, func(context.Context, events.SQSMessage) error { return nil })
			h.expect(work, batch("m1 k1"), nil, nil)
			h.equal("log", h.log.String(), "")

			<-time.After(10 * time.Second)
			h.expect(work, batch("m1 k1"), nil, nil)
			h.logs("outcome=unsent", "messageId=m1", errTarget.Error())
		})
	}
}

// A logger that panics costs no message: its work is recorded.
func TestALoggerThatPanicsAtAnUnsentMessageChangesNothing(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"topic": alwaysSays{errTarget}}})
	h.opts.Logger = slog.New(panickingHandler{slog.DiscardHandler})
	h.check(h.handle(func(ctx context.Context, _ events.SQSMessage) error { return announceTwice(ctx) }), batch("m1 k1"), nil, []string{"m1"})
}

// A retry does not mend it: the program has another name for the target than its options.
func TestATargetWithoutAnEntryIsAnErrorOfTheProgram(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"tropic": nil}})
	h.check(h.handle(func(ctx context.Context, _ events.SQSMessage) error { return announceTwice(ctx) }), batch("m1 k1"), []string{"m1"}, []string{"m1"})
	h.equal("lines", strings.Count(h.log.String(), "\n"), 1)
	h.logs("level=ERROR", `message 0: Message.To: \"topic\"`, `[\"tropic\"]`)
}

// unreadable keeps results and does not give them back.
type unreadable struct{ gets atomic.Int64 }

func (*unreadable) Put(context.Context, string, []byte) error { return nil }

func (u *unreadable) Get(context.Context, string) ([]byte, error) {
	u.gets.Add(1)

	return nil, errors.New("denied")
}

// A message needs no result: that it cannot be read now must not bring the message back.
func TestADuplicateOfAMessageDoesNotReadALargeResult(t *testing.T) {
	t.Parallel()

	for name, optimistic := range map[string]bool{"claimed": false, "optimistic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for _, way := range ways {
				if optimistic && way.name == "Batch" {
					continue // where Optimistic is an error
				}

				t.Run(way.name, func(t *testing.T) {
					t.Parallel()

					kept := &unreadable{}

					bubble(t, &idemddb.Options{Results: kept}, func(h *harness) {
						if err := claim(h, h.store, "k").Complete(h.Context(), make([]byte, 40_000)); err != nil {
							h.Fatal(err)
						}

						h.opts.Optimistic = optimistic
						h.check(way.wrap(h, staged), batch("m1 k"), nil, map[bool][]string{true: {"m1"}}[optimistic])
						h.equal("reads", kept.gets.Load(), int64(0))
					})
				})
			}
		})
	}
}

// staged has no effect but what it stages.
func staged(ctx context.Context, _ events.SQSMessage) error {
	return idemddb.Stage(ctx, idemddb.Effects{})
}
