package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const (
	queue = "arn:aws:sqs:us-east-1:123456789012:payments"
	fifo  = queue + ".fifo"
)

// lab is a store on an in-memory table, and a record of what the handler saw.
type lab struct {
	testing.TB

	db    *idemddbtest.DB
	store *idemddb.Store
	log   *strings.Builder
	opts  *lambdawrap.Options

	runs journal // message ids, in the order in which handlers ended

	mu    sync.Mutex
	heard []idemddb.Event // unless the store's options say who hears them
}

// journal is what happened, also in handlers that nobody waits for.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()

	return slices.Clone(j.lines)
}

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.lines = nil
}

func newLab(t testing.TB, opts *idemddb.Options) *lab {
	t.Helper()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
		t.Fatal(err)
	}

	db.ResetRequests()

	log := &strings.Builder{}
	l := &lab{TB: t, db: db, log: log, opts: &lambdawrap.Options{
		Key:    func(m events.SQSMessage) (string, error) { return m.Body, nil },
		Logger: slog.New(slog.NewTextHandler(&locked{w: log}, nil)),
	}}
	l.store = l.open(db, opts)

	return l
}

// open opens a store on the lab's table, by whatever client.
func (l *lab) open(api idemddb.DynamoDB, opts *idemddb.Options) *idemddb.Store {
	l.Helper()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	if o.Observe == nil {
		o.Observe = func(_ context.Context, e idemddb.Event) {
			l.mu.Lock()
			defer l.mu.Unlock()

			l.heard = append(l.heard, e)
		}
	}

	store, err := idemddb.New(api, "records", "payments", &o)
	if err != nil {
		l.Fatal(err)
	}

	return store
}

// count is how many events of a kind were heard.
func (l *lab) count(kind idemddb.Kind) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	n := 0

	for _, e := range l.heard {
		if e.Kind == kind {
			n++
		}
	}

	return n
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.w.Write(b)
}

// handle wraps work, whose runs are noted.
func (l *lab) handle(work lambdawrap.Handler) wrapped {
	return lambdawrap.SQS(l.store, l.noted(work), l.opts)
}

// whole wraps a handler of whole events, which works on one message after the other and reports what failed.
func (l *lab) whole(work lambdawrap.Handler) wrapped {
	noted := l.noted(work)

	return lambdawrap.Batch(l.store, func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, _ error) {
		for _, m := range event.Records {
			if noted(ctx, m) != nil {
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}

		return response, nil
	}, l.opts)
}

func (l *lab) noted(work lambdawrap.Handler) lambdawrap.Handler {
	return func(ctx context.Context, m events.SQSMessage) error {
		defer l.runs.add(m.MessageId)

		return work(ctx, m)
	}
}

// expect sends a batch and compares the failed ids, and the runs since the last time.
func (l *lab) expect(h wrapped, event events.SQSEvent, failed, runs []string) {
	l.Helper()

	l.runs.clear()

	response, err := h(l.Context(), event)
	if err != nil {
		l.Fatal(err)
	}

	if got := ids(response); !cmp.Equal(got, failed) {
		l.Errorf("failed: %v, want %v", got, failed)
	}

	l.equal("runs", l.runs.all(), runs)
}

func ids(response events.SQSEventResponse) []string {
	var failed []string
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	return failed
}

// pass lets time go by, which in a bubble takes none.
func pass(d time.Duration) { time.Sleep(d) }

// numbered is a batch of n messages: m0 with key k0 and so on.
func numbered(n int) events.SQSEvent {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("m%d k%d", i, i)
	}

	return batch(texts...)
}

// deliveredFor sets how often the messages of an event were delivered.
func deliveredFor(event events.SQSEvent, times int) events.SQSEvent {
	for i := range event.Records {
		m := &event.Records[i]
		m.ReceiptHandle = "receipt of " + m.MessageId
		m.Attributes = maps.Clone(m.Attributes)

		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}

		m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(times)
	}

	return event
}

// batch makes an event of messages "id key", or "id key group" for a FIFO queue.
func batch(messages ...string) events.SQSEvent {
	var event events.SQSEvent

	for _, text := range messages {
		fields := strings.Split(text, " ")
		m := events.SQSMessage{MessageId: fields[0], Body: fields[1], EventSourceARN: queue}

		if len(fields) > 2 {
			m.EventSourceARN = fifo
			m.Attributes = map[string]string{"MessageGroupId": fields[2]}
		}

		event.Records = append(event.Records, m)
	}

	return event
}

func recordKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payments#" + key}}
}

// keyOf is the key of a request or statement, as the store knows it; "" for a call of statements.
func keyOf(r idemddbtest.Request) string {
	pk, ok := r.Key["pk"].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}

	return strings.TrimPrefix(pk.Value, "payments#")
}

func (l *lab) state(key string) string { return l.stateOf(l.db.Item("records", recordKey(key))) }

func (l *lab) stateOf(it map[string]types.AttributeValue) string {
	if it == nil {
		return "none"
	}

	state, _ := it["st"].(*types.AttributeValueMemberS)
	lease, _ := it["lease"].(*types.AttributeValueMemberN)

	if state == nil || lease == nil {
		l.Fatalf("a record is %v", it)
	}

	if state.Value == "INPROGRESS" && lease.Value == "0" {
		return "INPROGRESS released"
	}

	return state.Value
}

func (l *lab) attempts(key string) string {
	n, _ := l.db.Item("records", recordKey(key))["att"].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}

	return n.Value
}

func (l *lab) equal(what string, got, want any) {
	l.Helper()

	if !cmp.Equal(got, want) {
		l.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// ignoreUnexported compares attribute values by what they hold.
var ignoreUnexported = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{})

// panicking is a logger whose handler panics.
func panicking() *slog.Logger { return slog.New(panickingHandler{slog.DiscardHandler}) }

type panickingHandler struct{ slog.Handler }

func (panickingHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panickingHandler) Handle(context.Context, slog.Record) error { panic("logger") }

func goexit() { runtime.Goexit() }

func succeed(context.Context, events.SQSMessage) error { return nil }

func TestAMessageIsDoneOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(l *lab) {
		h := l.handle(succeed)

		l.expect(h, batch("m1 k1", "m2 k2"), nil, []string{"m1", "m2"})
		l.equal("record", l.state("k1"), "COMPLETED")
		l.equal("requests", len(l.db.Requests()), 2)
		l.db.ResetRequests()
		l.expect(h, batch("m1 k1", "m3 k2"), nil, nil)
		l.equal("requests", len(l.db.Requests()), 2)
		l.equal("log", l.log.String(), "")
	})
}

func TestAllDoneAnswersAnEmptyList(t *testing.T) {
	t.Parallel()

	for _, event := range []events.SQSEvent{{}, batch("m1 k1")} {
		response, err := newLab(t, nil).handle(succeed)(t.Context(), event)
		if err != nil {
			t.Fatal(err)
		}

		if text, err := json.Marshal(response); err != nil || string(text) != `{"batchItemFailures":[]}` {
			t.Errorf("got %s, %v", text, err)
		}
	}
}

func TestTheDefaultKeyIsQueueAndMessage(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.opts.Key = nil
	h := l.handle(succeed)
	event := batch("m1 body")

	l.expect(h, event, nil, []string{"m1"})

	event.Records[0].ReceiptHandle = "another"
	event.Records[0].Attributes = map[string]string{"ApproximateReceiveCount": "2"}
	l.expect(h, event, nil, nil)

	event.Records[0].EventSourceARN += "-2"
	l.expect(h, event, nil, []string{"m1"})
}

func TestAFailedMessageComesBackAndRunsAtOnce(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	fail := true
	h := l.handle(func(_ context.Context, m events.SQSMessage) error {
		if fail && m.Body == "k2" {
			return errors.New("bank closed")
		}

		return nil
	})

	l.expect(h, batch("m1 k1", "m2 k2", "m3 k3"), []string{"m2"}, []string{"m1", "m2", "m3"})
	l.equal("record", l.state("k2"), "INPROGRESS released")

	fail = false
	l.expect(h, batch("m1 k1", "m2 k2", "m3 k3"), nil, []string{"m2"})
}

func TestAllFailedIsNoInvocationError(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	h := l.handle(func(context.Context, events.SQSMessage) error { return errors.New("bank closed") })
	l.expect(h, batch("m1 k1", "m2 k2"), []string{"m1", "m2"}, []string{"m1", "m2"})
}

func TestAPanicCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	fail := true
	h := l.handle(func(_ context.Context, m events.SQSMessage) error {
		switch {
		case fail && m.Body == "k2":
			panic("nil map")
		case fail && m.Body == "k3":
			runtime.Goexit()
		}

		return nil
	})

	l.expect(h, batch("m1 k1", "m2 k2", "m3 k3", "m4 k4"), []string{"m2", "m3"}, []string{"m1", "m2", "m3", "m4"})

	for _, want := range []string{"handler panicked: nil map", "stack=", "ended its goroutine", "messageId=m2"} {
		if !strings.Contains(l.log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, l.log)
		}
	}

	fail = false
	l.expect(h, batch("m2 k2", "m3 k3"), nil, []string{"m2", "m3"})
}

func TestTheSameKeyTwiceInABatchRunsOnce(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		l := newLab(t, nil)
		l.opts.Workers = workers
		fail := true
		h := l.handle(func(context.Context, events.SQSMessage) error {
			if fail {
				return errors.New("bank closed")
			}

			return nil
		})

		l.expect(h, batch("m1 k", "m2 k", "m3 k"), []string{"m1", "m2", "m3"}, []string{"m1"})
		l.equal("requests", len(l.db.Requests()), 2)

		fail = false
		l.expect(h, batch("m1 k", "m2 k", "m3 k"), nil, []string{"m1"})
	}
}

func TestTheSameMessageTwiceIsReportedOnce(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	h := l.handle(func(context.Context, events.SQSMessage) error { return errors.New("bank closed") })
	l.expect(h, batch("m1 k", "m1 k"), []string{"m1"}, []string{"m1"})
}

func TestAKeyHeldElsewhereComesBack(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	if _, _, err := l.store.Claim(t.Context(), "k2", nil); err != nil {
		t.Fatal(err)
	}

	l.expect(l.handle(succeed), batch("m1 k1", "m2 k2", "m3 k3"), []string{"m2"}, []string{"m1", "m3"})
}

func TestAMessageWithoutAKeyFailsBeforeAnyRequest(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.opts.Key = func(m events.SQSMessage) (string, error) {
		switch m.Body {
		case "none":
			return "", lambdawrap.ErrNoKey
		case "panic":
			panic("key")
		case "empty":
			return "", nil
		default:
			return m.Body, nil
		}
	}
	l.expect(l.handle(succeed), batch("m1 none", "m2 panic", "m3 empty", "m4 k"), []string{"m1", "m2", "m3"}, []string{"m4"})
	l.equal("requests", len(l.db.Requests()), 2)
}

func TestPermanentFailuresGoToTheHookEachTime(t *testing.T) {
	t.Parallel()

	l := newLab(t, &idemddb.Options{MaxAttempts: 2})
	cause := errors.New("no such account")

	var dead []string

	l.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, err error) error {
		dead = append(dead, fmt.Sprint(m.MessageId, " ", errors.Is(err, cause), " ", errors.Is(err, idemddb.ErrFailed)))

		return nil
	}
	h := l.handle(func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(cause) })

	l.expect(h, batch("m1 k", "m2 k"), nil, []string{"m1"})
	l.equal("record", l.state("k"), "FAILED")
	l.expect(h, batch("m1 k"), nil, nil)
	l.equal("dead letters", dead, []string{"m1 true false", "m2 true false", "m1 false true"})
}

func TestAHookThatFailsFailsItsMessage(t *testing.T) {
	t.Parallel()

	for name, hook := range map[string]func(context.Context, events.SQSMessage, error) error{
		"none":  nil,
		"error": func(context.Context, events.SQSMessage, error) error { return errors.New("queue gone") },
		"panic": func(context.Context, events.SQSMessage, error) error { panic("hook") },
		"exit":  func(context.Context, events.SQSMessage, error) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, nil)
			l.opts.DeadLetter = hook
			h := l.handle(func(_ context.Context, m events.SQSMessage) error {
				if m.Body == "bad" {
					return lambdawrap.Permanent(errors.New("no such account"))
				}

				return nil
			})
			l.expect(h, batch("m1 bad", "m2 k"), []string{"m1"}, []string{"m1", "m2"})
			l.equal("record", l.state("bad"), "FAILED")
			l.expect(h, batch("m1 bad"), []string{"m1"}, nil)
		})
	}
}

func TestAttemptsUsedUpArePermanent(t *testing.T) {
	t.Parallel()

	l := newLab(t, &idemddb.Options{MaxAttempts: 2})
	dead := 0
	l.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
		dead++

		return nil
	}
	h := l.handle(func(context.Context, events.SQSMessage) error { return errors.New("bank closed") })

	for range 2 {
		l.expect(h, batch("m1 k"), []string{"m1"}, []string{"m1"})
	}

	l.expect(h, batch("m1 k"), nil, nil)
	l.equal("dead letters", dead, 1)
	l.equal("record", l.state("k"), "FAILED")
}

func TestAnotherInputUnderTheSameKeyIsPermanent(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.opts.Key = func(events.SQSMessage) (string, error) { return "k", nil }
	l.opts.Fingerprint = func(m events.SQSMessage) (string, error) { return m.Body, nil }

	var dead []string

	l.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, err error) error {
		dead = append(dead, m.MessageId)

		if !errors.Is(err, idemddb.ErrMismatch) {
			t.Errorf("got %v, want a mismatch", err)
		}

		return nil
	}
	h := l.handle(succeed)
	l.expect(h, batch("m1 a", "m2 b", "m3 a"), nil, []string{"m1"})
	l.expect(h, batch("m4 b"), nil, nil)
	l.equal("dead letters", dead, []string{"m2", "m4"})
}

func TestAClaimThatIsRefusedByDynamoDBComesBack(t *testing.T) {
	t.Parallel()

	l := newLab(t, &idemddb.Options{Single: true})
	l.db.Inject(idemddbtest.AccessDenied)
	l.expect(l.handle(succeed), batch("m1 k1", "m2 k2"), []string{"m1"}, []string{"m2"})

	if !strings.Contains(l.log.String(), "access denied") {
		t.Errorf("log: %s", l.log)
	}
}

func TestWhatAFencedSuccessBecomes(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name   string
		other  func(*lab, *idemddb.Claim) error
		failed []string
		kind   idemddb.Kind
	}{
		{"the other completed: done", func(l *lab, c *idemddb.Claim) error { return c.Complete(l.Context(), nil) }, nil, idemddb.Fenced},
		{"the other still runs: failed", func(*lab, *idemddb.Claim) error { return nil }, []string{"m1"}, idemddb.Fenced},
		{"the other failed for good: failed", func(l *lab, c *idemddb.Claim) error { return c.Fail(l.Context(), nil) }, []string{"m1"}, idemddb.Fenced},
		{"the record was deleted: done, and not created anew", func(l *lab, _ *idemddb.Claim) error {
			_, err := l.db.DeleteItem(l.Context(), &dynamodb.DeleteItemInput{TableName: new("records"), Key: recordKey("k")})

			return err
		}, nil, idemddb.Fenced},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			var last idemddb.Kind

			l := newLab(t, &idemddb.Options{Observe: func(_ context.Context, e idemddb.Event) { last = e.Kind }})
			ahead, err := idemddb.New(l.db, "records", "payments", &idemddb.Options{
				Now: func() time.Time { return time.Now().Add(time.Hour) },
			})
			l.equal("error", err, nil)

			h := l.handle(func(ctx context.Context, _ events.SQSMessage) error {
				other, _, err := ahead.Claim(ctx, "k", nil)
				if err != nil {
					return err
				}

				return c.other(l, other)
			})
			l.expect(h, batch("m1 k"), c.failed, []string{"m1"})
			l.equal("event", last, c.kind)

			if !strings.Contains(l.log.String(), "level=ERROR") {
				t.Errorf("log: %s", l.log)
			}
		})
	}
}

func TestACompletionThatNeverGetsThroughIsDone(t *testing.T) {
	t.Parallel()

	var last idemddb.Kind

	l := newLab(t, &idemddb.Options{Observe: func(_ context.Context, e idemddb.Event) { last = e.Kind }})
	h := l.handle(func(context.Context, events.SQSMessage) error {
		l.db.Inject(idemddbtest.AccessDenied)

		return nil
	})
	l.expect(h, batch("m1 k"), nil, []string{"m1"})
	l.equal("event", last, idemddb.Unrecorded)
	l.equal("record", l.state("k"), "INPROGRESS")
}

func TestAHandlerThatSettlesItsClaimHasTheLastWord(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name   string
		work   func(context.Context, *idemddb.Claim) error
		failed []string
		state  string
	}{
		{"completed", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("x")) }, nil, "COMPLETED"},
		{"failed", func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, nil) }, []string{"m1"}, "FAILED"},
		{"released", func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }, []string{"m1"}, "INPROGRESS released"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, nil)
			h := l.handle(func(ctx context.Context, _ events.SQSMessage) error {
				claim, _ := idemddb.FromContext(ctx)

				return c.work(ctx, claim)
			})
			l.expect(h, batch("m1 k"), c.failed, []string{"m1"})
			l.equal("record", l.state("k"), c.state)
		})
	}
}

func TestNothingStartsInTheReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.opts.Reserve = 2 * time.Second
		h := l.handle(func(context.Context, events.SQSMessage) error {
			time.Sleep(2500 * time.Millisecond)

			return nil
		})

		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()

		response, err := h(ctx, batch("m1 k1", "m2 k2", "m3 k3", "m4 k4"))
		l.equal("error", err, nil)
		l.equal("failed", ids(response), []string{"m3", "m4"}) // m3 runs at 6 s, when the reserve begins
		l.equal("requests", len(l.db.Requests()), 4)           // the claims, two completions, what m4 gives back
		l.equal("k3", l.state("k3"), "INPROGRESS")
		l.equal("k4", l.state("k4"), "INPROGRESS released")
		l.equal("attempts", l.attempts("k4"), "0")
		time.Sleep(time.Minute) // the late handler ends
	})
}

func TestAClaimThatTakesTheTimeThatWasLeftIsGivenBackUncounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			l.db.Intercept(nil)
			time.Sleep(900 * time.Millisecond)

			return idemddbtest.None
		})

		ctx, cancel := context.WithTimeout(t.Context(), 1890*time.Millisecond)
		defer cancel()

		response, err := l.handle(succeed)(ctx, batch("m1 k1"))
		l.equal("error", err, nil)
		l.equal("failed", ids(response), []string{"m1"})
		l.equal("runs", len(l.runs.all()), 0)
	})
}

func TestAHandlerInTheReserveIsCancelledAndItsLateResultDropped(t *testing.T) {
	t.Parallel()

	for name, deaf := range map[string]bool{"it obeys": false, "it is deaf": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, &idemddb.Options{Lease: 20 * time.Second})
				h := l.handle(func(ctx context.Context, m events.SQSMessage) error {
					if m.Body != "slow" {
						return nil
					}

					if deaf {
						time.Sleep(time.Minute)
					}

					<-ctx.Done()

					return nil // too late
				})

				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()

				response, err := h(ctx, batch("m1 k", "m2 slow", "m3 k3"))
				l.equal("in time", ctx.Err(), nil)
				l.equal("error", err, nil)
				l.equal("failed", ids(response), []string{"m2", "m3"})
				l.equal("slow", l.state("slow"), "INPROGRESS")
				l.equal("k3", l.state("k3"), "INPROGRESS released")
				l.equal("attempts", l.attempts("k3"), "0")
				time.Sleep(2 * time.Minute)
				l.equal("slow, later", l.state("slow"), "INPROGRESS")
			})
		})
	}
}

func TestALongHandlerKeepsItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, &idemddb.Options{Lease: 10 * time.Second})
		h := l.handle(func(ctx context.Context, _ events.SQSMessage) error {
			for range 10 {
				time.Sleep(6 * time.Second)

				if _, _, err := l.store.Claim(ctx, "k", nil); !errors.Is(err, idemddb.ErrInProgress) {
					t.Errorf("got %v, want in progress", err)
				}
			}

			return nil
		})
		l.expect(h, batch("m1 k"), nil, []string{"m1"})
	})
}

func TestALostClaimCancelsTheHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, &idemddb.Options{Lease: 10 * time.Second})
		ahead, err := idemddb.New(l.db, "records", "payments", &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		l.equal("error", err, nil)

		h := l.handle(func(ctx context.Context, _ events.SQSMessage) error {
			if _, _, err := ahead.Claim(ctx, "k", nil); err != nil {
				return err
			}

			<-ctx.Done()

			if !errors.Is(context.Cause(ctx), idemddb.ErrFenced) {
				t.Errorf("cause: %v", context.Cause(ctx))
			}

			return context.Cause(ctx)
		})
		l.expect(h, batch("m1 k"), []string{"m1"}, []string{"m1"})
	})
}

func TestNeverMoreThanTheWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.opts.Workers = 3

		var (
			running atomic.Int64
			most    int64
		)

		h := l.handle(func(context.Context, events.SQSMessage) error {
			now := running.Add(1)
			defer running.Add(-1)

			l.mu.Lock()
			most = max(most, now)
			l.mu.Unlock()
			time.Sleep(time.Second)

			return nil
		})

		var event events.SQSEvent
		for i := range 20 {
			event.Records = append(event.Records, batch(fmt.Sprintf("m%d k%d", i, i)).Records...)
		}

		begun := time.Now()

		response, err := h(t.Context(), event)
		l.equal("error", err, nil)
		l.equal("failed", ids(response), []string(nil))
		l.equal("at once", most, int64(3))
		l.equal("time", time.Since(begun), 7*time.Second)
	})
}

func TestAFIFOGroupStopsAtItsFirstFailure(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		l := newLab(t, nil)
		l.opts.Workers = workers
		h := l.handle(func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "a1" {
				return errors.New("bank closed")
			}

			return nil
		})
		l.runs.clear()

		response, err := h(t.Context(), batch("m1 a1 a", "m2 b1 b", "m3 a2 a", "m4 b2 b"))
		l.equal("error", err, nil)
		l.equal("failed", ids(response), []string{"m1", "m3"})
		l.equal("a2", l.state("a2"), "none")
		l.equal("b's order", slices.DeleteFunc(l.runs.all(), func(id string) bool { return id == "m1" }), []string{"m2", "m4"})
	}
}

func TestAFIFOHeadThatIsDoneDoesNotStopItsGroupAndOneInProgressDoes(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	done, _, err := l.store.Claim(t.Context(), "a1", nil)
	l.equal("error", err, nil)
	l.equal("error", done.Complete(t.Context(), nil), nil)

	_, _, err = l.store.Claim(t.Context(), "b1", nil)
	l.equal("error", err, nil)
	l.expect(l.handle(succeed), batch("m1 a1 a", "m2 a2 a", "m3 b1 b", "m4 b2 b"), []string{"m3", "m4"}, []string{"m2"})
}

func TestAFIFOMessageWithoutAKeyStopsItsGroup(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.opts.Key = func(m events.SQSMessage) (string, error) {
		if m.Body == "bad" {
			return "", lambdawrap.ErrNoKey
		}

		return m.Body, nil
	}
	l.expect(l.handle(succeed), batch("m1 bad a", "m2 a2 a", "m3 b1 b"), []string{"m1", "m2"}, []string{"m3"})
}

func TestOneKeyInTwoFIFOGroupsRunsOnce(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		l := newLab(t, nil)
		l.opts.Workers = workers
		l.expect(l.handle(succeed), batch("m1 x a", "m2 y b", "m3 x b", "m4 z a"), nil, []string{"m1", "m2", "m4"})
	}
}

func TestAFairQueueIsAStandardQueue(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	event := batch("m1 k1", "m2 k2")

	for i := range event.Records {
		event.Records[i].Attributes = map[string]string{"MessageGroupId": "tenant"}
	}

	h := l.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "k1" {
			return errors.New("bank closed")
		}

		return nil
	})
	l.expect(h, event, []string{"m1"}, []string{"m1", "m2"})
}

func TestAnEmptyMessageIdThatFailsIsAnInvocationError(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	h := l.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "bad" {
			return errors.New("bank closed")
		}

		return nil
	})
	event := batch("m1 bad", "m2 k")
	event.Records[0].MessageId = ""

	response, err := h(t.Context(), event)
	if err == nil || len(response.BatchItemFailures) != 0 {
		t.Errorf("got %v, %v, want an error", response, err)
	}

	event.Records[0].Body = "good"
	l.expect(h, event, nil, []string{""})
}

func TestThePanicOfTheWrapperIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		l := newLab(t, &idemddb.Options{Observe: func(context.Context, idemddb.Event) { panic("observer") }})
		l.opts.Workers = workers

		response, err := l.handle(succeed)(t.Context(), batch("m1 k1", "m2 k2"))
		if err == nil || !strings.Contains(err.Error(), "wrapper panicked") || response.BatchItemFailures != nil {
			t.Errorf("got %v, %v, want an invocation error", response, err)
		}
	}
}

func TestNegativeOptionsAreAnErrorOfEveryInvocation(t *testing.T) {
	t.Parallel()

	for field, opts := range map[string]*lambdawrap.Options{
		"Options.Reserve": {Reserve: -1}, "Options.Workers": {Workers: -1},
	} {
		l := newLab(t, nil)
		l.opts = opts

		_, err := l.handle(succeed)(t.Context(), batch("m1 k1"))
		if err == nil || !strings.Contains(err.Error(), field) || len(l.runs.all()) != 0 {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}

func TestNilIsRefusedAtStartUp(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	for name, wrap := range map[string]func(){
		"store":            func() { lambdawrap.SQS(nil, succeed, nil) },
		"handler":          func() { lambdawrap.SQS(l.store, nil, nil) },
		"handler of Whole": func() { lambdawrap.Whole(nil) },
		"handler of JSON":  func() { lambdawrap.JSON[int](nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			wrap()
		}()
	}
}

func TestJSONRefusesWhatDoesNotDecodeForGood(t *testing.T) {
	t.Parallel()

	type payment struct {
		Amount int64 `json:"amount"`
	}

	for body, want := range map[string]string{
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

func TestWholeGetsOneMessageAtATime(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	h := l.handle(lambdawrap.Whole(func(_ context.Context, e events.SQSEvent) error {
		if len(e.Records) != 1 || e.Records[0].Body == "k2" {
			return fmt.Errorf("%d records", len(e.Records))
		}

		return nil
	}))
	l.expect(h, batch("m1 k1", "m2 k2", "m3 k3"), []string{"m2"}, []string{"m1", "m2", "m3"})
}

func TestTwoBatchesAtOnceShareNothingButTheStore(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.opts.Workers = 8

	var runs atomic.Int64

	h := lambdawrap.SQS(l.store, func(context.Context, events.SQSMessage) error {
		runs.Add(1)

		return nil
	}, l.opts)

	var event events.SQSEvent
	for i := range 10 {
		event.Records = append(event.Records, batch(fmt.Sprintf("m%d k%d", i, i)).Records...)
	}

	var all sync.WaitGroup

	for range 100 {
		all.Go(func() {
			if _, err := h(t.Context(), event); err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	l.equal("runs", runs.Load(), int64(10))
}

func TestEveryFailureIsReportedOnce(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.opts.Workers = 100
	l.opts.Logger = slog.New(slog.DiscardHandler)
	h := lambdawrap.SQS(l.store, func(context.Context, events.SQSMessage) error { return errors.New("bank closed") }, l.opts)

	for round := range 100 {
		var (
			event events.SQSEvent
			want  []string
		)

		for i := range 10 {
			id := fmt.Sprintf("m%d-%d", round, i)
			event.Records = append(event.Records, batch(id+" k"+id).Records...)
			want = append(want, id)
		}

		response, err := h(t.Context(), event)
		if err != nil || !cmp.Equal(ids(response), want) {
			t.Fatalf("round %d: got %v, %v", round, ids(response), err)
		}
	}
}

func TestSwitchedOffEveryDeliveryRunsWithoutKeysAndRequests(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	l := newLab(t, nil)
	l.opts.Key = func(events.SQSMessage) (string, error) { panic("asked for a key") }
	h := l.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "bad" {
			return errors.New("bank closed")
		}

		return nil
	})

	for range 2 {
		l.expect(h, batch("m1 k", "m2 k", "m3 bad"), []string{"m3"}, []string{"m1", "m2", "m3"})
	}

	l.expect(h, batch("m1 bad a", "m2 k a", "m3 k b"), []string{"m1", "m2"}, []string{"m1", "m3"})
	l.equal("requests", len(l.db.Requests()), 0)
	l.equal("warnings", strings.Count(l.log.String(), "IDEMDDB_DISABLED"), 1)
}
