package audited_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/audited"
)

// Numbers of a history. Clocks differ by less than the skew.
const (
	lease     = 4 * time.Second
	retention = time.Hour // the shortest for commits
	skew      = time.Second
	steps     = 30
)

// history is what random workers, senders and operators do to one key, in a bubble, where only pauses take time. While a request of one of
// them is on its way, others act, and time passes.
type history struct {
	*testing.T

	db      *idemddbtest.DB
	changes *audited.Changes
	workers []*worker
	serial  int
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
	view    operate.View // what its operator has seen

	claim     *idemddb.Claim
	companion *idemddb.Claim // of the same Batch, nil if there is none
}

func newHistory(t *testing.T, seed uint64, isSingle bool) *history {
	t.Helper()

	h := &history{T: t, random: mathrand.New(mathrand.NewPCG(seed, 0)), db: idemddbtest.New(nil), seen: map[string]bool{}}

	if _, err := h.db.CreateTable(t.Context(), idemddb.TableWithIndex("records", "unsent")); err != nil {
		t.Fatal(err)
	}

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
		opts.Trace = func(context.Context) string { return strconv.Itoa(h.serial) }
	}

	for _, behind := range []time.Duration{0, skew / 2, skew - time.Millisecond} {
		opts.Now = func() time.Time { return time.Now().Add(-behind) }

		store, err := idemddb.New(client{h.db, h}, "records", "n", &opts)
		if err != nil {
			t.Fatal(err)
		}

		records, err := operate.New(store, client{h.db, h})
		if err != nil {
			t.Fatal(err)
		}

		h.workers = append(h.workers, &worker{store: store, records: records})
	}

	return h
}

func one[V any](h *history, all ...V) V { return all[h.draw(len(all))] }

// Send is the sender: it accepts some messages, and has no answer for others or refuses them for ever.
func (h *history) Send(_ context.Context, _ string, ms []idemddb.StoredMessage) []error {
	answers := make([]error, len(ms))
	for i := range answers {
		answers[i] = one(h, nil, nil, errors.New("no answer"), idemddb.ErrUnsendable)
	}

	return answers
}

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

// act is one thing that somebody does. Whether it succeeds does not matter: what it writes is judged.
func (h *history) act() {
	ctx, cancel := context.WithTimeout(h.Context(), 3*lease)
	defer cancel()

	h.serial++
	w := one(h, h.workers...)

	one(h,
		h.claim, h.claim, h.claim, h.claim, h.settle, h.settle, h.settle, h.settle, h.commit, h.commit, h.reject, h.reopen, h.sweep, h.operate,
		h.operate, h.pass, h.pass, h.pass, h.later, h.later,
	)(ctx, w)
}

// actAsHolder settles or extends the claim that was won last.
func (h *history) actAsHolder() {
	ctx, cancel := context.WithTimeout(h.Context(), 3*lease)
	defer cancel()

	h.settle(ctx, slices.MaxFunc(h.workers, func(a, b *worker) int { return cmp.Compare(a.fence(), b.fence()) }))
}

func (h *history) actAsOperator() {
	ctx, cancel := context.WithTimeout(h.Context(), 3*lease)
	defer cancel()

	h.operate(ctx, one(h, h.workers...))
}

func (w *worker) fence() int64 {
	if w.claim == nil {
		return 0
	}

	return w.claim.Fence()
}

func (h *history) options() *idemddb.ClaimOptions {
	return &idemddb.ClaimOptions{Fingerprint: one(h, "", "", "a", "b"), Redelivered: one(h, false, true)}
}

func (h *history) claim(ctx context.Context, w *worker) {
	if !w.store.Options().Single && one(h, false, true, true, true) {
		h.claimTogether(ctx, w)
	} else if c, _, _ := w.store.Claim(ctx, "k", h.options()); c != nil {
		w.claim, w.companion = c, nil
	}
}

// claimTogether claims another key beside it, so that the two share a request.
func (h *history) claimTogether(ctx context.Context, w *worker) {
	var c, companion *idemddb.Claim

	batch, opts, key := w.store.Batch(), h.options(), "other"+strconv.Itoa(h.serial)
	batch.Expect(2)
	together(
		func() { c, _, _ = batch.Claim(ctx, "k", opts) },
		func() { companion, _, _ = batch.Claim(ctx, key, nil) },
	)

	if c != nil {
		w.claim, w.companion = c, companion
	}
}

func (h *history) settle(ctx context.Context, w *worker) {
	c, companion := w.claim, w.companion

	switch {
	case c == nil:
	case companion == nil:
		h.settleOne(ctx, c)
	case one(h, false, true):
		together(func() { h.settleOne(ctx, c) }, func() { _ = companion.Extend(ctx) })
	default: // the removals of what they send may share a request, too
		complete := func(c *idemddb.Claim) func() { return func() { _ = c.CompleteWith(ctx, nil, h.effects()) } }
		together(complete(c), complete(companion))
	}
}

// together calls both, so that what they send shares a request.
func together(f, g func()) {
	var both sync.WaitGroup

	both.Go(f)
	both.Go(g)
	both.Wait()
}

func (h *history) settleOne(ctx context.Context, c *idemddb.Claim) {
	_ = one(h,
		func() error { return c.Complete(ctx, []byte("paid")) },
		func() error { return c.CompleteWith(ctx, nil, h.effects()) },
		func() error { return c.Release(ctx, one(h, nil, errors.New("closed"))) },
		func() error { return c.ReleaseUnused(ctx) },
		func() error { return c.Fail(ctx, errors.New("no such account")) },
		func() error { return c.Extend(ctx) },
		func() error { return c.Extend(ctx) },
	)()
}

func (h *history) effects() idemddb.Effects {
	e := idemddb.Effects{Items: []types.TransactWriteItem{{Put: &types.Put{
		TableName: new("records"), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "effect" + strconv.Itoa(h.serial)}},
	}}}}

	for i := range h.draw(4) {
		e.Messages = append(e.Messages, idemddb.Message{To: "bank", Body: strconv.Itoa(h.serial) + " " + strconv.Itoa(i)})
	}

	return e
}

func (h *history) commit(ctx context.Context, w *worker) {
	_, _ = w.store.Commit(ctx, "k", h.options(), nil, h.effects())
}

func (h *history) reject(ctx context.Context, w *worker) {
	_, _ = idemddb.Do(ctx, w.store, "k", &idemddb.ClaimOptions{Optimistic: true}, func(context.Context) (string, error) {
		return "", errors.New("closed")
	})
}

func (h *history) reopen(ctx context.Context, w *worker) { _ = w.store.Reopen(ctx, "k") }

func (h *history) sweep(ctx context.Context, w *worker) {
	_, _ = outbox.Sweep(ctx, w.store, client{h.db, h})
}

// operate changes the record as an operator has seen it, now or earlier.
func (h *history) operate(ctx context.Context, w *worker) {
	if one(h, true, true, false) {
		w.view, _ = w.records.Look(ctx, "k")
	}

	seen := w.view
	if len(seen.Messages) > 0 && one(h, true, false) {
		_, _ = w.records.Send(ctx, seen, "anna", "mended")

		return
	}

	_ = one(h,
		func() error { return w.records.Release(ctx, seen, "anna", "stuck") },
		func() error { return w.records.Fail(ctx, seen, "anna", "wrong") },
		func() error { return w.records.Reopen(ctx, seen, "anna", "mended") },
		func() error { return w.records.Forget(ctx, seen, "anna", "again") },
		func() error { return w.records.ForgetUnsent(ctx, seen, "anna", "again") },
	)()
}

// beginAgain forgets the record, and commits the key with other messages.
func (h *history) beginAgain() {
	ctx, cancel := context.WithTimeout(h.Context(), 3*lease)
	defer cancel()

	h.serial++
	w := one(h, h.workers...)

	if seen, err := w.records.Look(ctx, "k"); err == nil && seen.Status == operate.Completed {
		_ = w.records.ForgetUnsent(ctx, seen, "anna", "again")
		h.commit(ctx, w)
	}
}

// pass lets time pass, often to where something is about to change. DynamoDB accepts a request for some minutes, so none is on its way for
// hours.
func (h *history) pass(context.Context, *worker) {
	<-time.After(one(h, time.Millisecond, skew, lease/2, lease, lease+skew+time.Millisecond, lease+2*skew))

	if h.isCalm() && one(h, true, false) {
		h.db.Deliver()
		<-time.After(one(h, retention/2, retention, retention+2*skew, 24*time.Hour))
	}
}

// isCalm reports whether no request is on its way.
func (h *history) isCalm() bool {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.depth == 0
}

// later lets late requests arrive, Time to Live delete, or a worker of another version claim the key.
func (h *history) later(context.Context, *worker) {
	switch h.draw(8) {
	case 0, 1, 2, 3:
		h.db.Deliver()
		h.db.ForgetTokens()
	case 4, 5, 6:
		h.db.Expire()
	default:
		h.claimAsNewer()
	}
}

// claimAsNewer claims the key as a worker of the next version may do it.
func (h *history) claimAsNewer() {
	it := h.db.Item("records", map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "n#k"}})
	if st, _ := it["st"].(*types.AttributeValueMemberS); st == nil || st.Value == "COMPLETED" {
		return
	}

	fence, _ := strconv.ParseInt(it["fence"].(*types.AttributeValueMemberN).Value, 10, 64)
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}

	it["v"], it["own"], it["fence"] = number(2), &types.AttributeValueMemberS{Value: rand.Text()}, number(fence+1)
	it["st"], it["lease"] = &types.AttributeValueMemberS{Value: "INPROGRESS"}, number(time.Now().Add(lease).UnixMilli())

	h.changes.ByHand(func() {
		// No fault happens to a transaction that is begun like this.
		if tx, err := h.db.Begin(&dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: new("records"), Item: it}}},
		}); err == nil {
			tx.Commit()
		}
	})
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
