package lambdawrap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

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

// announceTwice is a handler that stages two messages.
func announceTwice(ctx context.Context, _ events.SQSMessage) error {
	message := idemddb.Message{To: "topic", Body: "secret"}

	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{message, message}})
}

// stagerRun calls a wrapper that can stage, with its metrics. Its one message has the key "k".
type stagerRun func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics)

func ofMessages(wrap func(*harness, lambdawrap.Handler) wrapped) stagerRun {
	return func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		answer, err := lambdawrap.Measure(metrics, wrap(h, announceTwice))(ctx, batch("1 k"))
		h.equal("answer", []any{len(answer.BatchItemFailures), err}, []any{0, nil})
	}
}

// stagers are all of them, with the text by which a line names the message.
var stagers = map[string]struct {
	run stagerRun
	key string
	id  string
}{
	"SQS":             {ofMessages((*harness).handle), "k", "messageId=1"},
	"SQS, optimistic": {ofMessages((*harness).optimistic), "k", "messageId=1"},
	"Kinesis":         {ofMessages((*harness).kinesis), "k", "sequenceNumber=1"},
	"DynamoDBStream":  {ofMessages((*harness).dynamoDBStream), "k", "sequenceNumber=1"},
	"Func": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		function := newFunc(h).wrap(func(ctx context.Context, _ order) (paid, error) {
			return paid{}, announceTwice(ctx, events.SQSMessage{})
		})
		_, err := lambdawrap.Measure(metrics, function)(ctx, order{ID: "k"})
		h.equal("error", err, nil)
	}, "k", "requestId=r-1"},
	"HTTP": {func(ctx context.Context, h *harness, metrics *lambdawrap.Metrics) {
		opts := &lambdawrap.HTTPOptions{Logger: h.opts.Logger, Caller: func(*http.Request) (string, error) { return "c-1", nil }}
		handler := metrics.MeasureHTTP(lambdawrap.HTTP(h.store, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.equal("Stage", announceTwice(r.Context(), events.SQSMessage{}), nil)
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
		opts := idemddb.Options{Trace: func(context.Context) string { panic("no span") }, Senders: to(alwaysSays{nil})}
		each(t, name, inBubble(&opts), func(h *harness) {
			wrapper.run(inLambda(h.Context(), "r-1"), h, lambdawrap.NewMetrics(io.Discard, "Test"))

			h.hasLines(1, "level=ERROR", "Options.Trace panicked", "outcome=panicked", wrapper.id, "key="+record.KeyHash(wrapper.key), "no span", "stack=")
		})
	}
}

func TestRequestsThatAreNotSharedAnyMoreHaveALineThatSaysWhy(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return r.Operation == "BatchExecuteStatement" }, idemddbtest.AccessDenied))
		h.opts.Workers = 3
		h.check(h.handle(succeed), numbered(3), nil, messageIDs(3))

		h.hasLines(1, "level=WARN", "requests are not shared from now on", "outcome=unshared", "shared requests", "AccessDenied")
	})
}

// hasLines checks that the log has so many lines, the first with these texts.
func (h *harness) hasLines(n int, texts ...string) {
	h.Helper()

	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	if len(lines) != n {
		h.Errorf("%d lines, want %d:\n%s", len(lines), n, h.log)
	}

	for _, text := range texts {
		if !strings.Contains(lines[0], text) {
			h.Errorf("the line lacks %q: %s", text, lines[0])
		}
	}
}

// to are the senders to the one target of these tests.
func to(sender idemddb.Sender) map[string]idemddb.Sender {
	return map[string]idemddb.Sender{"topic": sender}
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
			var out bytes.Buffer

			metrics := lambdawrap.NewMetrics(&out, "Test")
			each(t, name+", "+cause, inBubble(&idemddb.Options{Observe: metrics.Observe, Senders: to(want.sender)}), func(h *harness) {
				wrapper.run(inLambda(h.Context(), "r-1"), h, metrics)

				h.hasLines(2, "level="+want.level, "outcome="+want.outcome, wrapper.id, "key="+record.KeyHash(wrapper.key), `\"topic\"`, want.text)
				h.equal("the log has a body", strings.Contains(h.log.String(), "secret"), false)

				_, line := readLine(h, out.String())
				h.equal(want.metric+" and NotDone", []any{line[want.metric], line["NotDone"]}, []any{2.0, 0.0})
			})
		}
	}
}

// Without a sweep the line of the message that comes back has the cause. A retry does not mend a target that the program names
// otherwise than its options. A logger that panics costs no message: its work is recorded.
func TestAnUnsentMessageHasItsLinesAndComesBackOnlyWithoutASweep(t *testing.T) {
	t.Parallel()

	down := idemddb.Options{Senders: to(alwaysSays{errTarget})}

	for name, c := range map[string]struct {
		opts   idemddb.Options
		set    func(h *harness) lambdawrap.Handler
		failed []string
		lines  int
		log    []string
	}{
		"without a sweep": {
			idemddb.Options{RedeliverUnsent: true, Senders: down.Senders}, func(*harness) lambdawrap.Handler { return announceTwice },
			[]string{"m1"}, 1, []string{"outcome=unsent", "comesBack=true", errTarget.Error()},
		},
		"the sender panics": {
			broken, func(*harness) lambdawrap.Handler { return announceTwice },
			[]string{"m1"}, 1, []string{"level=ERROR", "outcome=unsent", "the sender panicked: no topic", "stack=", "brokenSender.Send"},
		},
		"a target without an entry": {
			idemddb.Options{Senders: map[string]idemddb.Sender{"tropic": nil}}, func(*harness) lambdawrap.Handler { return announceTwice },
			[]string{"m1"}, 1, []string{"level=ERROR", `message 0: Message.To: \"topic\"`, `[\"tropic\"]`},
		},
		"of work inside of the handler: it is named by its own key": {
			down, func(h *harness) lambdawrap.Handler {
				return func(ctx context.Context, m events.SQSMessage) error {
					_, err := idemddb.Do(ctx, h.store, "inner", nil, func(ctx context.Context) (int, error) { return 1, announceTwice(ctx, m) })

					return err
				}
			}, nil, 2, []string{"messageId=m1", "key=" + record.KeyHash("inner")},
		},
		"with a context that does not derive from that of the invocation": {
			down, func(h *harness) lambdawrap.Handler {
				h.opts.MessageContext = func(context.Context, events.SQSMessage) context.Context { return h.Context() }

				return announceTwice
			}, nil, 2, []string{"messageId=m1", "outcome=unsent"},
		},
		"with a logger that panics": {
			down, func(h *harness) lambdawrap.Handler { h.opts.Logger = panicking(); return announceTwice }, nil, 1, nil,
		},
	} {
		each(t, name, inBubble(&c.opts), func(h *harness) {
			h.check(h.handle(c.set(h)), batch("m1 k1"), c.failed, []string{"m1"})
			h.hasLines(c.lines, c.log...)
		})
	}
}

// A duplicate tries to send what is older than 10 s, and says so if it cannot.
func TestADuplicateThatCannotSendSaysSo(t *testing.T) {
	t.Parallel()

	for _, way := range ways {
		each(t, way.name, inBubble(&idemddb.Options{Senders: to(alwaysSays{errTarget})}), func(h *harness) {
			c := claim(h, h.store, "k1")
			h.equal("completion", c.CompleteWith(h.Context(), nil, idemddb.Effects{Messages: []idemddb.Message{{To: "topic", Body: "b"}}}), nil)

			work := way.wrap(h, succeed)
			h.expect(work, batch("m1 k1"), nil, nil)
			h.equal("log", h.log.String(), "")

			<-time.After(10 * time.Second)
			h.expect(work, batch("m1 k1"), nil, nil)
			h.logs("outcome=unsent", "messageId=m1", errTarget.Error())
		})
	}
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

	for _, way := range waysAndOptimistic {
		kept := &unreadable{}
		each(t, way.name, inBubble(&idemddb.Options{Results: kept}), func(h *harness) {
			h.equal("completion", claim(h, h.store, "k").Complete(h.Context(), make([]byte, 40_000)), nil)
			h.check(way.wrap(h, staged), batch("m1 k"), nil, map[bool][]string{true: {"m1"}}[way.name == "SQS, optimistic"])
			h.equal("reads", kept.gets.Load(), int64(0))
		})
	}
}

// staged has no effect but what it stages.
func staged(ctx context.Context, _ events.SQSMessage) error {
	return idemddb.Stage(ctx, idemddb.Effects{})
}
