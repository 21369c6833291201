package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/realengine"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// harness is a store on an in-memory table, the options of a wrapper, and what the store and the handler did. Its key function
// takes the body as the key.
type harness struct {
	testing.TB

	db    *idemddbtest.DB
	store *idemddb.Store
	log   *strings.Builder // what the wrapper logged
	opts  *lambdawrap.Options

	runs journal // the ids of the messages, in the order in which their handlers ended

	mu       sync.Mutex
	observed []idemddb.Event // empty if the store's options have an Observe of their own
}

func newHarness(t testing.TB, opts *idemddb.Options) *harness {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("counts", ""))

	db.ResetRequests()

	if _, isBenchmark := t.(*testing.B); !isBenchmark {
		audited.DB(t, db, nil, audit.Options{})
	}

	log := &strings.Builder{}
	h := &harness{TB: t, db: db, log: log, opts: &lambdawrap.Options{
		Key:    func(_ context.Context, m events.SQSMessage) (string, error) { return m.Body, nil },
		Logger: slog.New(slog.NewTextHandler(&lockedWriter{w: log}, nil)),
	}}
	h.store = h.open(db, opts)

	return h
}

// open opens another store on the harness's table, with its own client and options. Without Senders, another process sends to the
// targets of the tests.
func (h *harness) open(api idemddb.DynamoDB, opts *idemddb.Options) *idemddb.Store {
	h.Helper()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	if o.Observe == nil {
		o.Observe = func(_ context.Context, e idemddb.Event) {
			h.mu.Lock()
			defer h.mu.Unlock()

			h.observed = append(h.observed, e)
		}
	}

	if o.Senders == nil {
		o.Senders = map[string]idemddb.Sender{"nobody": nil}
	}

	if o.Now != nil {
		audited.OtherClocks(h.db)
	}

	store, err := idemddb.New(api, "records", "payments", &o)
	if err != nil {
		h.Fatal(err)
	}

	return store
}

// claim demands a claim of a key. It must be called on the goroutine of the test.
func claim(t testing.TB, s *idemddb.Store, key string) *idemddb.Claim {
	t.Helper()

	c, record, err := s.Claim(inLambda(t.Context(), "r-other"), key, nil)
	if c == nil {
		t.Fatalf("got record %v, error %v, want a claim", record, err)
	}

	return c
}

// count returns how many events of a kind the store reported.
func (h *harness) count(kind idemddb.Kind) int {
	h.mu.Lock()
	defer h.mu.Unlock()

	n := 0

	for _, e := range h.observed {
		if e.Kind == kind {
			n++
		}
	}

	return n
}

// handle wraps a handler of single messages with SQS and notes its runs.
func (h *harness) handle(work lambdawrap.Handler) wrapped {
	return lambdawrap.SQS(h.store, h.noted(work), h.opts)
}

// optimistic wraps the same handler with SQS and Optimistic. If the test does not say otherwise, there are 4 workers, so that
// commits share transactions.
func (h *harness) optimistic(work lambdawrap.Handler) wrapped {
	if h.opts.Optimistic = true; h.opts.Workers == 0 {
		h.opts.Workers = 4
	}

	return h.handle(h.staging(work))
}

// staging returns a handler for the options as they are: with Optimistic it stages an effect first, which counted counts.
func (h *harness) staging(work lambdawrap.Handler) lambdawrap.Handler {
	if !h.opts.Optimistic {
		return work
	}

	return func(ctx context.Context, m events.SQSMessage) error {
		if err := counting(ctx, m); err != nil {
			return err
		}

		return work(ctx, m)
	}
}

// whole wraps the same handler with Batch: it works on one message after the other and reports those that failed.
func (h *harness) whole(work lambdawrap.Handler) wrapped {
	noted := h.noted(work)

	return lambdawrap.Batch(h.store, func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, _ error) {
		for _, m := range event.Records {
			if noted(ctx, m) != nil {
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}

		return response, nil
	}, h.opts)
}

func (h *harness) noted(work lambdawrap.Handler) lambdawrap.Handler {
	return func(ctx context.Context, m events.SQSMessage) error {
		defer h.runs.add(m.MessageId)

		return work(ctx, m)
	}
}

// wholeHandler is a user's handler of whole events.
type wholeHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// event wraps a handler of whole events with Batch. h.runs gets one line for each call, with the ids of its messages.
func (h *harness) event(work wholeHandler) wrapped {
	return lambdawrap.Batch(h.store, func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var given []string
		for _, m := range event.Records {
			given = append(given, m.MessageId)
		}

		h.runs.add(strings.Join(given, " "))

		return work(ctx, event)
	}, h.opts)
}

// reporting returns a handler of whole events that reports these ids as failed.
func reporting(failed ...string) wholeHandler {
	return func(context.Context, events.SQSEvent) (response events.SQSEventResponse, _ error) {
		for _, id := range failed {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}

		return response, nil
	}
}

// expect sends a batch and compares the ids that are reported failed, and the runs since the last call in their order. Outside of
// a bubble the order of messages with different keys depends on the machine.
func (h *harness) expect(function wrapped, event events.SQSEvent, failed, runs []string) {
	h.Helper()

	h.runs.clear()
	h.answered(function, event, failed...)
	h.equal("runs", h.runs.all(), runs)
}

// check is expect for handlers that run side by side: it compares the runs without their order.
func (h *harness) check(function wrapped, event events.SQSEvent, failed, runs []string) {
	h.Helper()

	h.runs.clear()
	h.answered(function, event, failed...)
	h.ran(runs...)
}

// answered sends a batch and compares the ids that are reported failed.
func (h *harness) answered(function wrapped, event events.SQSEvent, failed ...string) {
	h.Helper()

	response, err := function(h.Context(), event)
	h.equal("error", err, nil)
	h.equal("failed", ids(response), failed)
}

// ran compares the messages that were run with these, without their order.
func (h *harness) ran(want ...string) {
	h.Helper()

	got := slices.Sorted(slices.Values(h.runs.all()))
	want = slices.Sorted(slices.Values(want))

	if !slices.Equal(got, want) {
		h.Errorf("runs: %v, want %v", got, want)
	}
}

// ordered demands that these messages ran in this order. Others may have run between them.
func (h *harness) ordered(want ...string) {
	h.Helper()

	got := slices.DeleteFunc(h.runs.all(), func(id string) bool { return !slices.Contains(want, id) })
	if !slices.Equal(got, want) {
		h.Errorf("in order: %v, want %v", got, want)
	}
}

// logs demands that the log has each of these texts.
func (h *harness) logs(texts ...string) {
	h.Helper()

	for _, want := range texts {
		if !strings.Contains(h.log.String(), want) {
			h.Errorf("the log lacks %q: %s", want, h.log)
		}
	}
}

// oneLine demands that the log has one line for each of these messages.
func (h *harness) oneLine(ids ...string) {
	h.Helper()

	for _, id := range ids {
		h.equal("lines for "+id, strings.Count(h.log.String(), "messageId="+id+" "), 1)
	}
}

// parking sets a dead-letter hook that takes each message, and notes its id.
func (h *harness) parking() *journal {
	dead := &journal{}
	h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
		dead.add(m.MessageId)

		return nil
	}

	return dead
}

// parkingBecauseOf sets a dead-letter hook that takes each message, and notes its id and whether this is the cause.
func (h *harness) parkingBecauseOf(cause error) *journal {
	dead := &journal{}
	h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, err error) error {
		dead.add(fmt.Sprint(m.MessageId, " ", errors.Is(err, cause)))

		return nil
	}

	return dead
}

// fails demands an error.
func (h *harness) fails(err, want error) {
	h.Helper()

	if !errors.Is(err, want) {
		h.Errorf("error: got %v, want %v", err, want)
	}
}

// errs demands an error with each of these texts.
func (h *harness) errs(what string, err error, texts ...string) {
	h.Helper()

	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			h.Errorf("%s: got error %v, want one with %q", what, err, text)
		}
	}
}

// limited is a context with a time limit.
func (h *harness) limited(limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(h.Context(), limit)
	h.Cleanup(cancel)

	return ctx
}

func (h *harness) equal(what string, got, want any) {
	h.Helper()
	same(h, what, got, want)
}

// same demands that two values are equal.
func same(t testing.TB, what string, got, want any) {
	t.Helper()

	if !cmp.Equal(got, want) {
		t.Errorf("%s: got %v, want %v (-want +got):\n%s", what, got, want, cmp.Diff(want, got))
	}
}

// journal is a list of lines that handlers write, even those for which the wrapper no longer waits.
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

// lockedWriter writes one piece at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.w.Write(b)
}

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }
