package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Numbers of the model's world. Clocks differ by less than the skew.
const (
	modelLease     = 10 * time.Second
	modelRetention = time.Minute
	modelSkew      = time.Second
)

// TestNoHistoryBreaksThePromise lets workers with differing clocks claim, settle, pause, lose requests and replies in random
// order, with late twins arriving at any time, and checks after each step what doc.go promises.
func TestNoHistoryBreaksThePromise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noDeadline := struct{ rapid.TB }{t} // a bubble has none to ask for
		rapid.Check(noDeadline, func(rt *rapid.T) {
			w := newWorld(t, rt)
			rt.Repeat(map[string]func(*rapid.T){
				"claim":    w.claim,
				"together": w.claimTogether,
				"complete": w.settle("complete"),
				"release":  w.settle("release"),
				"unused":   w.settle("unused"),
				"fail":     w.settle("fail"),
				"extend":   w.settle("extend"),
				"advance":  w.advance,
				"deliver":  w.deliver,
				"expire":   func(*rapid.T) { w.expire() },
				"":         w.check,
			})
		})
	})
}

type world struct {
	*rapid.T

	ctx     context.Context
	db      *idemddbtest.DB
	clock   *idemddbtest.Clock
	workers []*worker

	statements []idemddbtest.Fault // of the key, in groups, to come
	company    int                 // other keys that were claimed with it

	fence     int64 // the highest that was won
	completed *life // the accepted completion of the record's present life, as the last check saw it
}

type worker struct {
	store   *idemddb.Store
	now     func() time.Time
	claim   *idemddb.Claim
	company *idemddb.Claim // of the same Group, nil if there is none
	ended   bool           // a write of the claim was accepted or refused, or its outcome is unknown: it holds no more
}

// life is a completed record.
type life struct {
	result  string
	expires int64 // epoch seconds
}

func newWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()

	clock := idemddbtest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	db := idemddbtest.New(&idemddbtest.Options{Now: clock.Now})

	if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
		t.Fatal(err)
	}

	w := &world{T: rt, ctx: t.Context(), db: db, clock: clock}

	for i := range 4 {
		behind := rapid.SampledFrom([]time.Duration{0, modelSkew / 2, modelSkew * 3 / 4, modelSkew - time.Millisecond}).Draw(rt, fmt.Sprint("behind", i))
		now := func() time.Time { return clock.Now().Add(-behind) }

		w.workers = append(w.workers, &worker{store: w.store(now), now: now, ended: true})
	}

	db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if textOf(r.Key, "pk") != modelKey || len(w.statements) == 0 {
			return idemddbtest.None
		}

		fault := w.statements[0]
		w.statements = w.statements[1:]

		return fault
	})

	return w
}

func (w *world) store(now func() time.Time) *idemddb.Store {
	s, err := idemddb.New(w.db, "records", "model", &idemddb.Options{
		Lease: modelLease, Retention: modelRetention, ClockSkew: modelSkew, Now: now,
	})
	if err != nil {
		w.Fatal(err)
	}

	return s
}

const modelKey = "model#k"

// record is the record of the one key that it is about, nil if there is none.
func (w *world) record() map[string]types.AttributeValue {
	return w.db.Item("records", map[string]types.AttributeValue{"pk": text(modelKey)})
}

var statementFaults = []idemddbtest.Fault{
	idemddbtest.None, idemddbtest.None, idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.ServerErrorApplied,
	idemddbtest.TransactionConflict, idemddbtest.ConditionWithoutItem, idemddbtest.LostRequest, // the last is refused as not valid
}

var modelFaults = []idemddbtest.Fault{
	idemddbtest.None, idemddbtest.None, idemddbtest.LostReply, idemddbtest.LostRequest, idemddbtest.LateRequest,
	idemddbtest.ServerErrorApplied, idemddbtest.TruncatedBody, idemddbtest.ConditionWithoutItem, idemddbtest.AccessDenied,
}

func (w *world) faults(t *rapid.T) {
	w.db.Inject(rapid.SliceOfN(rapid.SampledFrom(modelFaults), 0, 3).Draw(t, "faults")...)
	w.statements = rapid.SliceOfN(rapid.SampledFrom(statementFaults), 0, 3).Draw(t, "statements")
}

func (w *world) one(t *rapid.T) *worker { return rapid.SampledFrom(w.workers).Draw(t, "worker") }

func (w *world) claim(t *rapid.T) {
	worker := w.one(t)

	w.faults(t)

	var a idemddb.ClaimAnswer

	a.Claim, a.Record, a.Err = worker.store.Claim(w.ctx, "k", nil)
	w.answered(t, worker, a, nil)
}

// claimTogether claims the key in a group with others, somewhere among them.
func (w *world) claimTogether(t *rapid.T) {
	worker := w.one(t)
	if !worker.store.Grouped() { // denied before: the process is started anew
		worker.store = w.store(worker.now)
	}

	w.faults(t)

	requests := make([]idemddb.ClaimRequest, rapid.IntRange(1, 4).Draw(t, "keys"))
	for i := range requests {
		w.company++
		requests[i].Key = fmt.Sprint("other", w.company)
	}

	at := rapid.IntRange(0, len(requests)-1).Draw(t, "at")
	requests[at] = idemddb.ClaimRequest{Key: "k", Redelivered: rapid.Bool().Draw(t, "redelivered")}

	answers := worker.store.Group().Claim(w.ctx, requests)

	var company *idemddb.Claim

	for i, a := range answers {
		if i != at && a.Claim != nil {
			company = a.Claim
		}
	}

	w.answered(t, worker, answers[at], company)
}

func (w *world) answered(t *rapid.T, worker *worker, a idemddb.ClaimAnswer, company *idemddb.Claim) {
	switch claim, rec := a.Claim, a.Record; {
	case claim != nil:
		if claim.Fence() <= w.fence {
			t.Fatalf("fence %d after %d", claim.Fence(), w.fence)
		}

		w.fence = claim.Fence()
		worker.claim, worker.company, worker.ended = claim, company, false
	case rec != nil:
		if w.completed == nil || string(rec.Result) != w.completed.result {
			t.Fatalf("replayed %q, completed was %v", rec.Result, w.completed)
		}
	case errors.Is(a.Err, idemddb.ErrCorrupt):
		t.Fatal(a.Err)
	case a.Err == nil:
		t.Fatal("no answer")
	}
}

func (w *world) settle(verb string) func(*rapid.T) {
	return func(t *rapid.T) {
		worker := w.one(t)
		if worker.claim == nil {
			t.Skip("holds nothing")
		}

		w.faults(t)

		c := worker.claim

		var (
			err  error
			with sync.WaitGroup
		)

		if worker.company != nil { // a write of another claim, to go in one call with it
			with.Go(func() { _ = worker.company.Extend(w.ctx) })
		}

		defer with.Wait()

		switch verb {
		case "complete":
			err = c.Complete(w.ctx, fmt.Append(nil, c.Fence()))
		case "release":
			err = c.Release(w.ctx, nil)
		case "unused":
			err = c.ReleaseUnused(w.ctx)
		case "fail":
			err = c.Fail(w.ctx, nil)
		case "extend":
			if err = c.Extend(w.ctx); err == nil {
				return
			}
		}

		if err == nil && c.Fence() != w.fence {
			t.Fatalf("%s of fence %d was accepted, after fence %d", verb, c.Fence(), w.fence)
		}

		worker.ended = true
	}
}

// advance moves the clock on a little, or to where something is about to change: the ends of the record's lease and retention,
// give or take what clocks may differ.
func (w *world) advance(t *rapid.T) {
	to := w.clock.Now()

	if it := w.record(); it != nil {
		ends := []time.Time{to, time.UnixMilli(w.number(it, "lease")), time.Unix(w.number(it, "exp"), 0)}
		to = rapid.SampledFrom(ends).Draw(t, "to")
	}

	to = to.Add(rapid.SampledFrom([]time.Duration{
		-modelSkew / 2, -time.Millisecond, 0, time.Millisecond, modelSkew / 2, modelSkew, modelSkew + time.Millisecond, 2 * modelSkew,
	}).Draw(t, "and"))

	if by := to.Sub(w.clock.Now()); by > 0 {
		w.clock.Advance(by)
	}
}

func (w *world) number(it map[string]types.AttributeValue, name string) int64 {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		w.Fatalf("no number %s in %v", name, it)
	}

	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		w.Fatal(err)
	}

	return v
}

// deliver lets the late twins arrive. One never revives what its own claim released, nor shortens its lease. (Of several, one
// may find the other's token; see condClaim.)
func (w *world) deliver(t *rapid.T) {
	before := w.record()
	applied := 0

	for _, r := range w.db.Deliver() {
		for _, one := range append(r.Items, r) {
			if one.Err == nil && textOf(one.Key, "pk") == modelKey {
				applied++
			}
		}
	}

	if applied > 1 {
		return
	}

	after := w.record()
	if before == nil || after == nil || textOf(before, "own") != textOf(after, "own") {
		return
	}

	from, to := w.number(before, "lease"), w.number(after, "lease")
	if from <= 0 && (to > 0 || textOf(before, "st") != textOf(after, "st")) {
		t.Fatalf("a late twin revived the released %s: %s\nafter %s", show(before), show(after), w.history())
	}

	if to > 0 && to < from {
		t.Fatalf("a late twin shortened the lease of %s: %s\nafter %s", show(before), show(after), w.history())
	}
}

// expire is Time to Live, by the fastest clock.
func (w *world) expire() { w.db.Expire() }

// check is what is true at any time.
func (w *world) check(t *rapid.T) {
	holders := 0

	for _, worker := range w.workers {
		if !worker.ended && worker.now().Before(worker.claim.Deadline()) {
			holders++
		}
	}

	if holders > 1 {
		t.Fatalf("%d workers hold the key, each by its own clock", holders)
	}

	found := w.look()

	switch was := w.completed; {
	case was == nil, found != nil && *found == *was:
	case w.clock.Now().Unix() < was.expires: // the fastest clock
		t.Fatalf("the completion %v became %v in its retention", was, found)
	}

	w.completed = found
}

// look reads the completion from the record, whoever wrote it; a late twin may have.
func (w *world) look() *life {
	it := w.record()
	if textOf(it, "st") != "COMPLETED" {
		return nil
	}

	result, _ := it["res"].(*types.AttributeValueMemberB)
	if result == nil {
		w.Fatalf("completed without a result: %v", it)
	}

	return &life{string(result.Value), w.number(it, "exp")}
}

func textOf(it map[string]types.AttributeValue, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}

	return s.Value
}

func show(it map[string]types.AttributeValue) string {
	var text strings.Builder

	for _, name := range []string{"st", "own", "fence", "lease", "exp", "att"} {
		var value any
		if err := attributevalue.Unmarshal(it[name], &value); err == nil {
			fmt.Fprintf(&text, " %s=%v", name, value)
		}
	}

	return text.String()
}

// history is what the engine was asked last.
func (w *world) history() string {
	requests := w.db.Requests()

	var text strings.Builder
	for _, r := range requests[max(0, len(requests)-15):] {
		fmt.Fprintf(&text, "\n%+v", r)
	}

	return text.String()
}
