package audited_test

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// Numbers of a history. Clocks differ by less than the skew.
const (
	lease     = 4 * time.Second
	retention = time.Hour // the shortest for commits
	skew      = time.Second
	steps     = 30
)

// history is what random workers, senders and operators do to one key, in a bubble, where only pauses take time. While a request
// of one of them is on its way, others act, and time passes.
type history struct {
	*testing.T

	db      *idemddbtest.DB
	changes *audited.Changes
	workers []*worker
	serial  atomic.Int64
	alter   func(request) request // changes what is sent; nil: nothing

	mu     sync.Mutex
	random *mathrand.Rand
	depth  int             // of requests that are on their way
	seen   map[string]bool // every condition that was sent, with the operation
}

// worker is one process and its operator.
type worker struct {
	store   *idemddb.Store
	records *operate.Records

	mu        sync.Mutex
	view      operate.View // what its operator has seen
	claim     *idemddb.Claim
	companion *idemddb.Claim // of the same Batch, nil if there is none
}

// hold notes a claim that was won.
func (w *worker) hold(claim, companion *idemddb.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.claim, w.companion = claim, companion
}

func (w *worker) held() (claim, companion *idemddb.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.claim, w.companion
}

// look returns what the operator sees, now or earlier.
func (w *worker) look(ctx context.Context, isNow bool) operate.View {
	var seen operate.View
	if isNow {
		seen, _ = w.records.Look(ctx, "k")
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	if isNow {
		w.view = seen
	}

	return w.view
}

func newHistory(t *testing.T, seed uint64, isSingle bool) *history {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", "unsent"))
	h := &history{T: t, random: mathrand.New(mathrand.NewPCG(seed, 0)), db: db, seen: map[string]bool{}}

	if _, err := h.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	}); err != nil {
		t.Fatal(err)
	}

	opts := idemddb.Options{
		Lease: lease, Retention: retention, ClockSkew: skew, ClaimPatience: 2 * lease, Single: isSingle, UnsentIndex: "unsent",
		MaxAttempts: one(h, 0, 0, 2), NoTakeover: one(h, false, false, true), Senders: map[string]idemddb.Sender{"bank": h},
	}
	if one(h, false, true) {
		opts.Trace = func(context.Context) string { return strconv.FormatInt(h.serial.Load(), 10) }
	}

	for _, behind := range []time.Duration{0, skew / 2, skew - time.Millisecond} {
		opts.Now = func() time.Time { return time.Now().Add(-behind) }

		store, err := idemddb.New(h.client(), "records", "n", &opts)
		if err != nil {
			t.Fatal(err)
		}

		records, err := operate.New(store, h.client())
		if err != nil {
			t.Fatal(err)
		}

		h.workers = append(h.workers, &worker{store: store, records: records})
	}

	return h
}

// Send is the sender: it accepts some messages, and has no answer for others or refuses them for ever.
func (h *history) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	answers := make([]error, len(ms))
	for i := range answers {
		answers[i] = one(h, nil, nil, errors.New("no answer"), idemddb.ErrUnsendable)
	}

	return answers
}

// judge has the changes judged.
func (h *history) judge(t audited.TB) {
	h.changes = audited.New(t, audit.Options{ClockSkew: skew, Lease: lease})
	h.db.OnChange(h.changes.See)
}

func (h *history) draw(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.random.IntN(n)
}

func one[V any](h *history, all ...V) V { return all[h.draw(len(all))] }

var faults = []idemddbtest.Fault{
	idemddbtest.LostReply, idemddbtest.LostRequest, idemddbtest.LateRequest, idemddbtest.LateCommit, idemddbtest.ServerErrorApplied,
	idemddbtest.TruncatedBody, idemddbtest.ConditionWithoutItem, idemddbtest.TransactionConflict, idemddbtest.TransactionInProgress,
}

// run is a history from its beginning. It ends as soon as a rule is broken.
func (h *history) run() {
	for range steps {
		if h.draw(3) == 0 {
			h.db.Inject(one(h, faults...))
		}

		if h.act(); h.changes.Err() != nil {
			break
		}
	}
}
