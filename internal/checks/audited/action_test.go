package audited_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/engine"
)

// act is one thing that somebody does. Whether it succeeds does not matter: what it writes is judged.
func (h *history) act() {
	ctx, cancel := context.WithTimeout(h.Context(), 3*lease)
	defer cancel()

	h.serial.Add(1)
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
	if c, _ := w.held(); c != nil {
		return c.Fence()
	}

	return 0
}

func (h *history) options() *idemddb.ClaimOptions {
	return &idemddb.ClaimOptions{Fingerprint: one(h, "", "", "a", "b"), Redelivered: one(h, false, true)}
}

func (h *history) claim(ctx context.Context, w *worker) {
	if !w.store.Options().Single && one(h, false, true, true, true) {
		h.claimTogether(ctx, w)
	} else if c, _, _ := w.store.Claim(ctx, "k", h.options()); c != nil {
		w.hold(c, nil)
	}
}

// claimTogether claims another key beside it, so that the two share a request.
func (h *history) claimTogether(ctx context.Context, w *worker) {
	var c, companion *idemddb.Claim

	group, opts, key := w.store.Engine().NewGroup(), h.options(), "other"+strconv.FormatInt(h.serial.Load(), 10)
	group.Expect(2)

	ctx = engine.With(ctx, &engine.Invocation{Group: group})

	together(
		func() { c, _, _ = w.store.Claim(ctx, "k", opts) },
		func() { companion, _, _ = w.store.Claim(ctx, key, nil) },
	)

	if c != nil {
		w.hold(c, companion)
	}
}

func (h *history) settle(ctx context.Context, w *worker) {
	c, companion := w.held()

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
		TableName: new("records"), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "effect" + strconv.FormatInt(h.serial.Load(), 10)}},
	}}}}

	for i := range h.draw(4) {
		e.Messages = append(e.Messages, idemddb.Message{To: "bank", Body: strconv.FormatInt(h.serial.Load(), 10) + " " + strconv.Itoa(i)})
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
	_, _ = outbox.Sweep(ctx, w.store, h.client())
}

// operate changes the record as an operator has seen it, now or earlier.
func (h *history) operate(ctx context.Context, w *worker) {
	seen := w.look(ctx, one(h, true, true, false))
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

	h.serial.Add(1)
	w := one(h, h.workers...)

	if seen, err := w.records.Look(ctx, "k"); err == nil && seen.Status == operate.Completed {
		_ = w.records.ForgetUnsent(ctx, seen, "anna", "again")
		h.commit(ctx, w)
	}
}

// pass lets time pass, often to where something is about to change. DynamoDB accepts a request for some minutes, so none is on
// its way for hours.
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
