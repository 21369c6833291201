package lambdawrap_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const (
	queue = "arn:aws:sqs:us-east-1:123456789012:payments"
	fifo  = queue + ".fifo"
)

// harness is a store on an in-memory table, and a record of what the handler saw.
type harness struct {
	testing.TB

	db    *idemddbtest.DB
	store *idemddb.Store
	log   *strings.Builder
	opts  *lambdawrap.Options

	runs journal // message ids, in the order in which handlers ended

	mu    sync.Mutex
	heard []idemddb.Event // unless the store's options say who hears them
}

func newHarness(t testing.TB, opts *idemddb.Options) *harness {
	t.Helper()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
		t.Fatal(err)
	}

	db.ResetRequests()

	log := &strings.Builder{}
	h := &harness{TB: t, db: db, log: log, opts: &lambdawrap.Options{
		Key:    func(m events.SQSMessage) (string, error) { return m.Body, nil },
		Logger: slog.New(slog.NewTextHandler(&locked{w: log}, nil)),
	}}
	h.store = h.open(db, opts)

	return h
}

// open opens a store on the harness's table, with another client.
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

			h.heard = append(h.heard, e)
		}
	}

	store, err := idemddb.New(api, "records", "payments", &o)
	if err != nil {
		h.Fatal(err)
	}

	return store
}

// count is how many events of a kind were heard.
func (h *harness) count(kind idemddb.Kind) int {
	h.mu.Lock()
	defer h.mu.Unlock()

	n := 0

	for _, e := range h.heard {
		if e.Kind == kind {
			n++
		}
	}

	return n
}

// handle wraps work, whose runs are noted.
func (h *harness) handle(work lambdawrap.Handler) wrapped {
	return lambdawrap.SQS(h.store, h.noted(work), h.opts)
}

// whole wraps a handler of whole events, which works on one message after the other and reports what failed.
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

// wholeHandler is an existing handler of whole events.
type wholeHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// event wraps a handler of whole events, whose messages are noted: one entry a call.
func (h *harness) event(calls *journal, work wholeHandler) wrapped {
	return lambdawrap.Batch(h.store, func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var given []string
		for _, m := range event.Records {
			given = append(given, m.MessageId)
		}

		calls.add(strings.Join(given, " "))

		return work(ctx, event)
	}, h.opts)
}

// reporting answers with these ids.
func reporting(failed ...string) wholeHandler {
	return func(context.Context, events.SQSEvent) (response events.SQSEventResponse, _ error) {
		for _, id := range failed {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}

		return response, nil
	}
}

// expect sends a batch and compares the failed ids, and the runs since the last time.
func (h *harness) expect(function wrapped, event events.SQSEvent, failed, runs []string) {
	h.Helper()

	h.runs.clear()

	response, err := function(h.Context(), event)
	if err != nil {
		h.Fatal(err)
	}

	if got := ids(response); !cmp.Equal(got, failed) {
		h.Errorf("failed: %v, want %v", got, failed)
	}

	h.equal("runs", h.runs.all(), runs)
}

// check is expect for handlers side by side: runs are compared as a set.
func (h *harness) check(function wrapped, event events.SQSEvent, failed, runs []string) {
	h.Helper()

	h.runs.clear()

	response, err := function(h.Context(), event)
	h.equal("error", err, nil)
	h.equal("failed", ids(response), failed)
	h.ran(runs...)
}

// answered sends a batch and compares the failed ids.
func (h *harness) answered(function wrapped, event events.SQSEvent, failed ...string) {
	h.Helper()

	response, err := function(h.Context(), event)
	h.equal("error", err, nil)
	h.equal("failed", ids(response), failed)
}

// ran compares the messages that were run with these, in whatever order.
func (h *harness) ran(want ...string) {
	h.Helper()

	got := slices.Sorted(slices.Values(h.runs.all()))
	slices.Sort(want)

	if !slices.Equal(got, want) {
		h.Errorf("runs: %v, want %v", got, want)
	}
}

// ordered demands that these ran in this order, whatever ran between them.
func (h *harness) ordered(want ...string) {
	h.Helper()

	got := slices.DeleteFunc(h.runs.all(), func(id string) bool { return !slices.Contains(want, id) })
	if !slices.Equal(got, want) {
		h.Errorf("in order: %v, want %v", got, want)
	}
}

func (*harness) runsOf(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("m%d", i)
	}

	return all
}

func (h *harness) equal(what string, got, want any) {
	h.Helper()

	if !cmp.Equal(got, want) {
		h.Errorf("%s: got %v, want %v", what, got, want)
	}
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

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.w.Write(b)
}
