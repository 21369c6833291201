package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// Numbers of the model's world. Clocks differ by less than the skew. A claim that DynamoDB does not answer can be sent again for
// longer than its lease lasts.
const (
	modelLease     = 4 * time.Second
	modelRetention = time.Minute
	modelSkew      = time.Second
	modelRetryTime = 5 * time.Second
)

// TestNoHistoryBreaksThePromise lets workers with differing clocks claim, settle, pause, lose requests and replies in random
// order, with late requests arriving at any time, and checks after each step what doc.go promises.
func TestNoHistoryBreaksThePromise(t *testing.T) {
	t.Parallel()

	var seen sights

	synctest.Test(t, func(t *testing.T) {
		noDeadline := struct{ rapid.TB }{t} // a bubble has none to ask for
		rapid.Check(noDeadline, func(rt *rapid.T) {
			w := newWorld(t, rt, &seen)
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
				"expire":   w.expire,
				"":         w.check,
			})
		})
	})

	if !testing.Short() && (seen.deleted == 0 || seen.overtaken == 0 || seen.ended == 0) { // -short: a fifth of the histories
		t.Errorf("the model proves less than it says: %+v", seen)
	}

	t.Logf("%+v", seen)
}

// sights counts what must happen now and then for the model to prove anything.
type sights struct {
	deleted   int // records that Time to Live deleted
	overtaken int // claims that were won while another claim of the key waited for its answer
	ended     int // keys that a claimant ended as FAILED, for Options.MaxAttempts or Options.NoTakeover
}

type world struct {
	*rapid.T

	ctx     context.Context
	seen    *sights
	db      *idemddbtest.DB
	changes *audited.Changes // of the DB
	options idemddb.Options
	inspect func(in, out any) // called behind each request, nil for none
	ahead   atomic.Int64      // by how much the fastest clock is ahead of the bubble's time
	workers []*worker

	possible   []idemddbtest.Fault // of requests
	mu         sync.Mutex
	statements []idemddbtest.Fault // of the key, in shared requests, to come
	pauses     []pause             // of the requests to come
	inPause    bool                // another worker is at work
	answers    []claimAnswer       // of the calls that have returned, in this order

	companions int   // other keys that were claimed with it
	fence      int64 // the highest fencing token that a claim has won
	final      *life // how the record's present life ended, as the last check saw it
}

type worker struct {
	store     *idemddb.Store
	now       func() time.Time
	claim     *idemddb.Claim
	companion *idemddb.Claim // of the same Batch, nil if there is none
	settling  bool           // its first settlement has begun
	ended     bool           // a write of the claim was accepted or refused, or its outcome is unknown: it holds no more
}

// life is a record whose key has ended.
type life struct {
	state   string
	result  string
	expires int64 // epoch seconds
}

// pause is the time that passes around a request, whatever its context says: in a network, or because the process is frozen.
// Another worker may claim the key meanwhile.
type pause struct {
	before, after time.Duration
	other         *worker // nil for none
}

func newWorld(t *testing.T, rt *rapid.T, seen *sights) *world {
	t.Helper()

	w := &world{T: rt, ctx: t.Context(), seen: seen, possible: modelFaults}
	w.begin(t, modelRetention)

	return w
}

// begin makes the table and the workers.
func (w *world) begin(t *testing.T, retention time.Duration) {
	t.Helper()

	rt := w.T
	w.db = audited.Tables(t, &idemddbtest.Options{Now: w.clock(0)}, idemddbtest.CreateTable("records", ""))

	if _, err := w.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	}); err != nil {
		t.Fatal(err)
	}

	// A request arrives as late as a history wants.
	w.changes = audited.DB(w, w.db, nil, audit.Options{ClockSkew: modelSkew, Lease: modelLease, Lifetime: 24 * time.Hour})

	w.options = idemddb.Options{
		Lease: modelLease, Retention: retention, ClockSkew: modelSkew, ClaimPatience: modelRetryTime,
		MaxAttempts: rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(rt, "attempts"),
		NoTakeover:  rapid.SampledFrom([]bool{false, false, false, true}).Draw(rt, "without takeover"),
	}

	for i := range 4 {
		behind := rapid.SampledFrom([]time.Duration{0, modelSkew / 2, modelSkew * 3 / 4, modelSkew - time.Millisecond}).Draw(rt, fmt.Sprint("behind", i))
		now := w.clock(behind)
		w.workers = append(w.workers, &worker{store: w.store(now), now: now, ended: true})
	}

	w.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		w.mu.Lock()
		defer w.mu.Unlock()

		if textOf(r.Key, "pk") != modelKey || len(w.statements) == 0 {
			return idemddbtest.None
		}

		fault := w.statements[0]
		w.statements = w.statements[1:]

		return fault
	})
}

// clock returns a clock that goes on with the bubble's time, also during a call.
func (w *world) clock(behind time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load()) - behind) }
}

func (w *world) store(now func() time.Time) *idemddb.Store {
	o := w.options
	o.Now = now

	s, err := idemddb.New(&around.Client{DB: w.db, Do: w.onTheWay}, "records", "model", &o)
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

// onTheWay sends a request on a way on which time passes.
func (w *world) onTheWay(ctx context.Context, in any, send around.Send) (any, error) {
	after := w.pause()
	out, err := send(ctx, in)

	after()

	if w.inspect != nil {
		w.inspect(in, out)
	}

	return out, err
}

// pause lets the time before a request pass. The function that it returns lets the time after it pass.
func (w *world) pause() (after func()) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.inPause || len(w.pauses) == 0 {
		return func() {}
	}

	p := w.pauses[0]
	w.pauses = w.pauses[1:]
	w.mu.Unlock()

	time.Sleep(p.before) //nolint:forbidigo // this moves the bubble's clock
	w.mu.Lock()

	return func() {
		time.Sleep(p.after) //nolint:forbidigo // this moves the bubble's clock

		if p.other != nil {
			w.overtake(p.other)
		}
	}
}

// overtake lets another worker claim the key while a request of the first one waits for its answer.
func (w *world) overtake(other *worker) {
	w.mu.Lock()
	busy := w.inPause
	w.inPause = true
	w.mu.Unlock()

	if busy {
		return
	}

	if w.claimBy(other, other.store.Claim, nil) {
		w.seen.overtaken++
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	w.inPause = false
}

var statementFaults = []idemddbtest.Fault{
	idemddbtest.None, idemddbtest.None, idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.ServerErrorApplied,
	idemddbtest.TransactionConflict, idemddbtest.ConditionWithoutItem, idemddbtest.LostRequest, // DynamoDB refuses the last one as not valid
}

var modelFaults = []idemddbtest.Fault{
	idemddbtest.None, idemddbtest.None, idemddbtest.LostReply, idemddbtest.LostRequest, idemddbtest.LateRequest,
	idemddbtest.ServerErrorApplied, idemddbtest.TruncatedBody, idemddbtest.ConditionWithoutItem, idemddbtest.AccessDenied,
	idemddbtest.LateReply, idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied,
}

var modelPauses = []time.Duration{0, 0, 0, modelLease / 4, modelLease * 3 / 4, modelLease + 2*modelSkew + time.Millisecond}

// faults draws what happens to the requests of a worker's next call.
func (w *world) faults(t *rapid.T, of *worker) {
	w.db.Inject(rapid.SliceOfN(rapid.SampledFrom(w.possible), 0, 3).Draw(t, "faults")...)

	w.mu.Lock()
	defer w.mu.Unlock()

	w.statements = rapid.SliceOfN(rapid.SampledFrom(statementFaults), 0, 3).Draw(t, "statements")
	w.pauses = nil

	for range rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "pauses") {
		w.pauses = append(w.pauses, pause{
			before: rapid.SampledFrom(modelPauses).Draw(t, "before"), after: rapid.SampledFrom(modelPauses).Draw(t, "after"),
		})
	}

	if len(w.pauses) > 0 && rapid.Bool().Draw(t, "overtaken") {
		if other := w.one(t); other != of {
			w.pauses[rapid.IntRange(0, len(w.pauses)-1).Draw(t, "at")].other = other
		}
	}
}

func (w *world) one(t *rapid.T) *worker { return rapid.SampledFrom(w.workers).Draw(t, "worker") }

// claimAnswer is what Claim returned, and what was true then.
type claimAnswer struct {
	worker *worker
	claim  *idemddb.Claim
	record *idemddb.Record
	err    error
	isOver bool  // its lease, by the worker's clock
	found  *life // in the table
}

// claimFunc is Store.Claim or Batch.Claim.
type claimFunc func(ctx context.Context, key string, opts *idemddb.ClaimOptions) (*idemddb.Claim, *idemddb.Record, error)

// claimBy lets a worker claim the key. It returns whether there is a claim.
func (w *world) claimBy(worker *worker, claim claimFunc, opts *idemddb.ClaimOptions) bool {
	a := claimAnswer{worker: worker}
	a.claim, a.record, a.err = claim(w.ctx, "k", opts)
	a.isOver = a.claim != nil && !worker.now().Before(a.claim.Deadline())
	a.found = w.look()

	w.mu.Lock()
	defer w.mu.Unlock()

	w.answers = append(w.answers, a)

	return a.claim != nil
}

func (w *world) claim(t *rapid.T) {
	worker := w.one(t)

	w.faults(t, worker)
	w.claimBy(worker, worker.store.Claim, nil)
	w.checkAnswers(t)
}

// claimTogether claims the key in a batch with others, somewhere among them, in a process that has just started.
func (w *world) claimTogether(t *rapid.T) {
	worker := w.one(t)
	worker.store = w.store(worker.now)

	w.faults(t, worker)

	batch := worker.store.Batch()
	companions := make([]*idemddb.Claim, rapid.IntRange(0, 3).Draw(t, "others"))
	opts := &idemddb.ClaimOptions{Redelivered: rapid.Bool().Draw(t, "redelivered")}

	batch.Expect(len(companions) + 1)

	var (
		calls sync.WaitGroup
		won   bool
	)

	calls.Go(func() { won = w.claimBy(worker, batch.Claim, opts) })

	for i := range companions {
		w.companions++
		key := fmt.Sprint("other", w.companions)

		calls.Go(func() { companions[i], _, _ = batch.Claim(w.ctx, key, nil) })
	}

	calls.Wait()
	w.checkAnswers(t)

	if won && len(companions) > 0 {
		worker.companion = companions[0]
	}
}

// checkAnswers checks what has been answered, in the order of the answers.
func (w *world) checkAnswers(t *rapid.T) {
	for _, a := range w.answers {
		w.checkAnswer(t, a)
	}

	w.answers = nil
}

func (w *world) checkAnswer(t *rapid.T, a claimAnswer) {
	switch claim, rec := a.claim, a.record; {
	case claim != nil:
		if claim.Fence() <= w.fence {
			t.Fatalf("fencing token %d after %d", claim.Fence(), w.fence)
		}

		if a.isOver {
			t.Fatalf("the lease of the claim with fencing token %d was over when it was returned", claim.Fence())
		}

		if claim.Takeover() && w.options.NoTakeover {
			t.Fatalf("the key was taken over in spite of Options.NoTakeover")
		}

		w.fence = claim.Fence()
		a.worker.claim, a.worker.companion, a.worker.settling, a.worker.ended = claim, nil, false, false
	case rec != nil:
		w.wasFound(t, a, life{state: "COMPLETED", result: string(rec.Result), expires: rec.ExpiresAt.Unix()})
	case errors.Is(a.err, idemddb.ErrCorrupt), errors.Is(a.err, idemddb.ErrFenced):
		t.Fatal(a.err)
	case errors.Is(a.err, idemddb.ErrFailed):
		w.seen.ended++
		w.wasFound(t, a, life{state: "FAILED"})
	case a.err == nil:
		t.Fatal("no answer")
	}
}

// wasFound demands that the key had ended like that when the call began or when it returned.
func (w *world) wasFound(t *rapid.T, a claimAnswer, want life) {
	for _, found := range []*life{a.found, w.final} {
		if found != nil && found.state == want.state && found.result == want.result && (want.expires == 0 || want.expires == found.expires) {
			return
		}
	}

	t.Fatalf("answered %v, %v: the key was %v, then %v", a.record, a.err, w.final, a.found)
}

func (w *world) settle(verb string) func(*rapid.T) {
	return func(t *rapid.T) {
		worker := w.one(t)
		if worker.claim == nil {
			t.Skip("holds nothing")
		}

		w.faults(t, worker)

		c, highest, sent := worker.claim, w.fence, w.sent()

		var (
			err  error
			with sync.WaitGroup
		)

		companion := worker.companion
		if companion != nil { // the extension of another claim shares a request with the settlement
			with.Go(func() { _ = companion.Extend(w.ctx) })
		}

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
			err = c.Extend(w.ctx)
		}

		with.Wait()
		defer w.checkAnswers(t) // others may have claimed the key since

		isRelease := verb == "release" || verb == "unused"
		isSent := w.sent() > sent // it counts the requests of others, too, if a companion writes at the same time

		switch {
		case verb == "extend" && err == nil:
			return
		case isRelease && worker.settling:
			if companion == nil && isSent || err != nil && !errors.Is(err, idemddb.ErrFenced) {
				t.Fatalf("%s of a claim that is settled: %v, requests %d after %d", verb, err, w.sent(), sent)
			}
		case err == nil && c.Fence() != highest && isSent && companion == nil:
			t.Fatalf("%s of fencing token %d was accepted, after %d\n%s", verb, c.Fence(), highest, w.history())
		}

		worker.settling = worker.settling || verb == "complete" || verb == "fail" || isRelease && isSent && companion == nil
		worker.ended = true
	}
}

// sent is how many requests and statements the key has got.
func (w *world) sent() (n int) {
	for _, r := range w.db.Requests() {
		for _, one := range append(r.Items, r) {
			if textOf(one.Key, "pk") == modelKey {
				n++
			}
		}
	}

	return n
}

// advance moves the clocks on a little, or to where something is about to change: the ends of the record's lease and retention,
// plus or minus the difference of the clocks.
func (w *world) advance(t *rapid.T) {
	now := w.clock(0)()
	to := now

	if it := w.record(); it != nil {
		ends := []time.Time{to, time.UnixMilli(w.number(it, "lease")), time.Unix(w.number(it, "exp"), 0)}
		to = rapid.SampledFrom(ends).Draw(t, "to")
	}

	to = to.Add(rapid.SampledFrom([]time.Duration{
		-modelSkew / 2, -time.Millisecond, 0, time.Millisecond, modelSkew / 2, modelSkew, modelSkew + time.Millisecond, 2 * modelSkew,
	}).Draw(t, "and"))

	w.ahead.Add(int64(max(0, to.Sub(now))))
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

// deliver lets the late requests arrive. One never revives what its own claim released, nor shortens its lease. (Of several, one
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

	if limit := w.options.MaxAttempts; limit > 0 && w.number(before, "att") >= int64(limit) && textOf(after, "st") == "FAILED" {
		return // a claimant may end such a key whenever it is free
	}

	from, to := w.number(before, "lease"), w.number(after, "lease")
	if from <= 0 && (to > 0 || textOf(before, "st") != textOf(after, "st")) {
		t.Fatalf("a late request revived the released %s: %s\nafter %s", show(before), show(after), w.history())
	}

	if to > 0 && to < from {
		t.Fatalf("a late request shortened the lease of %s: %s\nafter %s", show(before), show(after), w.history())
	}
}

// expire is Time to Live, by the fastest clock. After a deletion, the fencing token may fall by the difference of the clocks.
func (w *world) expire(*rapid.T) {
	before := w.record()
	w.seen.deleted += w.db.Expire()

	if before != nil && w.record() == nil {
		w.fence -= modelSkew.Milliseconds()
	}
}

// check is what is true at any time.
func (w *world) check(t *rapid.T) {
	if err := w.changes.Err(); err != nil {
		t.Fatal(err)
	}

	var holder *worker

	for _, worker := range w.workers {
		if worker.ended || !worker.now().Before(worker.claim.Deadline()) {
			continue
		}

		if holder != nil {
			t.Fatalf("the claims with fencing tokens %d and %d are held, each by its own clock", holder.claim.Fence(), worker.claim.Fence())
		}

		holder = worker
	}

	if holder != nil {
		w.isHeld(t, holder.claim)
	}

	found := w.look()

	switch was := w.final; {
	case was == nil, found != nil && *found == *was:
	case w.clock(0)().Unix() < was.expires: // no clock is faster than one that is 0 behind
		t.Fatalf("the record %+v became %+v in its retention", *was, found)
	}

	w.final = found
}

// isHeld demands that the record says of a claim what its holder believes.
func (w *world) isHeld(t *rapid.T, c *idemddb.Claim) {
	it := w.record()
	if it == nil {
		t.Fatalf("the record of the claim with fencing token %d is gone, and its lease is not over", c.Fence())
	}

	if textOf(it, "st") != "INPROGRESS" || w.number(it, "fence") != c.Fence() || w.number(it, "lease") < c.Deadline().UnixMilli() {
		t.Fatalf("the claim with fencing token %d is held until %d, the record is %s", c.Fence(), c.Deadline().UnixMilli(), show(it))
	}
}

// look reads from the record how the key ended, whoever wrote it; a late request may have. It returns nil if the key has not
// ended.
func (w *world) look() *life {
	it := w.record()
	ended := &life{state: textOf(it, "st")}

	switch ended.state {
	case "COMPLETED":
		result, _ := it["res"].(*types.AttributeValueMemberB)
		ended.result = string(result.Value)
	case "FAILED":
	default:
		return nil
	}

	ended.expires = w.number(it, "exp")

	return ended
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
