package idemddb_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// TestNoHistoryRepeatsAnEffect is TestNoHistoryBreaksThePromise with effects: workers complete with effects, commit and reject,
// alone and in batches, and transactions arrive late, stay in flight, are committed item by item, and meet each other. After each
// request it is checked that an effect has happened exactly if the record says that its call completed the key, and that a sum,
// to which some of the calls add, is the number of those that have happened.
func TestNoHistoryRepeatsAnEffect(t *testing.T) {
	t.Parallel()

	var (
		seen    sights
		effects effectSights
	)

	synctest.Test(t, func(t *testing.T) {
		noDeadline := struct{ rapid.TB }{t} // a bubble has none to ask for
		rapid.Check(noDeadline, func(rt *rapid.T) {
			w := newEffectWorld(t, rt, &seen, &effects)
			rt.Repeat(map[string]func(*rapid.T){
				"claim":        w.claim,
				"together":     w.claimTogether,
				"completeWith": w.completeWith,
				"commit":       w.commit,
				"group":        w.commitTogether,
				"abandoned":    w.abandoned,
				"reject":       w.reject,
				"complete":     w.settle("complete"),
				"release":      w.settle("release"),
				"fail":         w.settle("fail"),
				"extend":       w.settle("extend"),
				"advance":      w.advanceAll,
				"deliver":      w.deliverAll,
				"half":         w.half,
				"expire":       w.expireAll,
				"":             w.checkAll,
			})
		})
	})

	if !testing.Short() && (effects.late == 0 || effects.own == 0 || effects.lives == 0 || effects.added == 0 || effects.found == 0) {
		t.Errorf("the model proves less than it says: %+v", effects)
	}

	t.Logf("%+v, %+v", seen, effects)
}

// effectSights counts what must happen now and then for the model to prove anything.
type effectSights struct {
	late  int // effects that a late request brought
	own   int // calls that were successful
	lives int // records that began anew after an effect
	added int // calls that were successful and added to the sum
	found int // reads before a transaction that found the record completed
}

type effectWorld struct {
	*world

	seen *effectSights

	look   sync.Mutex
	calls  int
	done   map[string]bool // effects that have happened
	life   string          // the record's life
	effect string          // of this life
	never  map[string]bool // effects of calls that were refused for good
	wrong  string          // the first thing
}

func newEffectWorld(t *testing.T, rt *rapid.T, seen *sights, effects *effectSights) *effectWorld {
	t.Helper()

	w := &effectWorld{world: &world{T: rt, ctx: t.Context(), seen: seen}, seen: effects, done: map[string]bool{}, never: map[string]bool{}}
	w.world.inspect = w.inspectAfter
	w.possible = append([]idemddbtest.Fault{
		idemddbtest.LateCommit, idemddbtest.LateCommit, idemddbtest.LateRequest, idemddbtest.LostReply, idemddbtest.TransactionConflict,
		idemddbtest.ThrottleReason, idemddbtest.CanceledWithoutReasons, idemddbtest.TransactionInProgress,
	}, modelFaults...)
	w.begin(t, time.Hour)

	return w
}

// inspectAfter is called behind each request.
func (w *effectWorld) inspectAfter(in, out any) {
	w.inspect()

	batch, isBatch := in.(*dynamodb.BatchExecuteStatementInput)
	answer, _ := out.(*dynamodb.BatchExecuteStatementOutput)

	if !isBatch || answer == nil || !strings.HasPrefix(*batch.Statements[0].Statement, "SELECT") {
		return
	}

	for _, r := range answer.Responses {
		if textOf(r.Item, "pk") == modelKey && textOf(r.Item, "st") == "COMPLETED" {
			w.seen.found++
		}
	}
}

const (
	effectKey = "effect "
	sum       = "sum" // the effect to which the calls add whose names end in adding
	adding    = "+"
)

// inspect compares the effects with the record.
func (w *effectWorld) inspect() {
	w.look.Lock()
	defer w.look.Unlock()

	if len(w.db.InFlight()) > 0 {
		return // some of its items may be committed, and others not yet
	}

	record := w.record()

	if life := fmt.Sprint(textOf(record, "pk"), everything(record["born"])); life != w.life {
		if w.effect != "" {
			w.seen.lives++
		}

		w.life, w.effect = life, ""
	}

	var got, want int64 // of the sum

	for _, it := range w.db.Items("records") {
		name, ok := strings.CutPrefix(textOf(it, "pk"), effectKey)
		if !ok || w.number(it, "n") == 0 {
			continue
		}

		if name == sum {
			got = w.number(it, "n")

			continue
		}

		if strings.HasSuffix(name, adding) {
			want++
		}

		if n := w.number(it, "n"); n != 1 {
			w.failf("effect %s happened %d times%s", name, n, w.history())
		}

		if w.never[name] {
			w.failf("effect %s happened although its call was refused%s", name, w.history())
		}

		if w.done[name] || strings.HasPrefix(name, "other") {
			continue
		}

		w.done[name] = true

		if w.effect != "" {
			w.failf("effects %s and %s happened in one life%s", w.effect, name, w.history())
		}

		w.effect = name
	}

	if got != want {
		w.failf("the sum is %d after %d calls that added 1%s", got, want, w.history())
	}

	w.compare(record)
}

// failf keeps the first thing that is wrong, for the goroutine of the test.
func (w *effectWorld) failf(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// compare demands that the record is completed by the call whose effect has happened, and by no other one. (A plain completion
// after a CompleteWith whose outcome is unknown writes the same effects, with a result of its own.)
func (w *effectWorld) compare(record map[string]types.AttributeValue) {
	result, _ := record["res"].(*types.AttributeValueMemberB)

	switch isCompleted := textOf(record, "st") == "COMPLETED" && textOf(record, "tx") != ""; {
	case isCompleted && w.effect == "", isCompleted && strings.HasPrefix(string(result.Value), "call") && string(result.Value) != w.effect:
		w.failf("the record is completed by %s, its effect is %q%s", result.Value, w.effect, w.history())
	case !isCompleted && w.effect != "":
		w.failf("effect %s happened, the record is%s%s", w.effect, show(record), w.history())
	}
}

// call names a call and its effect. Some calls also add to the sum.
func (w *effectWorld) call(t *rapid.T, of string) (name string, e idemddb.Effects) {
	w.calls++
	name = fmt.Sprint(of, w.calls)

	if !rapid.Bool().Draw(t, "adds") {
		return name, items(counted(name))
	}

	name += adding
	e = items(counted(name))
	e.Adds = []idemddb.Add{plus(sum, "1")}

	return name, e
}

// ended checks what a call says of its effect.
func (w *effectWorld) ended(t *rapid.T, name string, isDone, isRefused bool) {
	w.inspect()

	if w.wrong != "" {
		t.Fatal(w.wrong)
	}

	if len(w.db.InFlight()) > 0 {
		return
	}

	if isDone {
		w.seen.own++
	}

	if isDone && strings.HasSuffix(name, adding) {
		w.seen.added++
	}

	if isDone && !w.done[name] {
		t.Fatalf("call %s says that it is done, and its effect has not happened%s", name, w.history())
	}

	if isRefused && w.done[name] {
		t.Fatalf("call %s says that it was refused, and its effect has happened%s", name, w.history())
	}
}

func (w *effectWorld) completeWith(t *rapid.T) {
	worker := w.one(t)
	if worker.claim == nil {
		t.Skip("holds nothing")
	}

	w.faults(t, worker)

	name, e := w.call(t, "call")
	err := worker.claim.CompleteWith(w.ctx, []byte(name), e)
	worker.settling, worker.ended = true, true

	isFenced := errors.Is(err, idemddb.ErrFenced)
	w.ended(t, name, err == nil, isFenced)
	w.never[name] = isFenced
	w.checkAnswers(t)
}

func (w *effectWorld) commit(t *rapid.T) {
	worker := w.one(t)
	w.faults(t, worker)

	name, e := w.call(t, "call")
	rec, err := worker.store.Commit(w.ctx, "k", nil, []byte(name), e)
	w.committed(t, name, rec, err)
}

// abandoned is a call of a process that dies: its first request is on its way, and no other one follows.
func (w *effectWorld) abandoned(t *rapid.T) {
	worker := w.one(t)
	fault := rapid.SampledFrom([]idemddbtest.Fault{idemddbtest.LateRequest, idemddbtest.LateCommit}).Draw(t, "late")
	name, e := w.call(t, "call")

	w.db.Inject(fault)
	w.db.Intercept(always(idemddbtest.LostRequest))

	ctx := idemddb.WithInvocation(w.ctx, time.Time{}, time.Now().Add(time.Second))

	if worker.claim != nil && rapid.Bool().Draw(t, "claimed") {
		err := worker.claim.CompleteWith(ctx, []byte(name), e)
		worker.settling, worker.ended = !errors.Is(err, idemddb.ErrEffectRefused), true // a fault of an earlier step can deny it
	} else {
		_, _ = worker.store.Commit(ctx, "k", nil, []byte(name), e)
	}

	w.db.Intercept(nil)
}

func (w *effectWorld) committed(t *rapid.T, name string, rec *idemddb.Record, err error) {
	if rec != nil && string(rec.Result) == name {
		t.Fatalf("the own commit is taken for another's%s", w.history())
	}

	w.ended(t, name, rec == nil && err == nil, rec != nil || errors.Is(err, idemddb.ErrFailed))
	w.checkAnswers(t) // others have claimed the key meanwhile

	if it := w.record(); it != nil && rec == nil && err == nil {
		w.fence = max(w.fence, w.number(it, "fence"))
	}
}

// commitTogether commits the key in batches of one worker, who reads before the later ones if the first has met a completed key.
func (w *effectWorld) commitTogether(t *rapid.T) {
	worker := w.one(t)

	for range rapid.IntRange(1, 3).Draw(t, "batches") {
		w.commitBatch(t, worker)
	}
}

// commitBatch commits the key in a batch, somewhere among others.
func (w *effectWorld) commitBatch(t *rapid.T, worker *worker) {
	w.faults(t, worker)

	batch := worker.store.Batch()
	others := rapid.IntRange(1, 3).Draw(t, "others")
	at := rapid.IntRange(0, others).Draw(t, "at")

	var (
		waits []func() (*idemddb.Record, error)
		names []string
	)

	for i := range others + 1 {
		of := map[bool]string{true: "call", false: "other"}[i == at]
		name, e := w.call(t, of)

		key := "k"
		if i != at {
			key = name
		}

		names = append(names, name)
		waits = append(waits, batch.Commit(w.ctx, key, nil, []byte(name), e))
	}

	batch.FlushCommits()

	for i, wait := range waits {
		rec, err := wait()
		if i == at {
			w.committed(t, names[i], rec, err)
		}
	}
}

func (w *effectWorld) reject(t *rapid.T) {
	worker := w.one(t)
	w.faults(t, worker)

	cause := errors.New("closed")
	if rapid.Bool().Draw(t, "final") {
		cause = permanentError{cause}
	}

	_, err := worker.store.Reject(w.ctx, "k", nil, cause)
	if errors.Is(err, idemddb.ErrFenced) {
		t.Fatal(err)
	}

	w.checkAnswers(t)

	if it := w.record(); it != nil && err == nil {
		w.fence = max(w.fence, w.number(it, "fence"))
	}
}

// advanceAll does not let a request wait for minutes: DynamoDB refuses one that was signed too long ago.
func (w *effectWorld) advanceAll(t *rapid.T) {
	w.deliverAll(t)
	w.advance(t)
}

func (w *effectWorld) deliverAll(t *rapid.T) {
	before := len(w.done)

	for _, tx := range w.db.InFlight() {
		tx.Commit()
		w.inspect()
	}

	if rapid.Bool().Draw(t, "tokens forgotten") {
		w.db.ForgetTokens()
	}

	w.deliver(t)
	w.inspect()
	w.seen.late += len(w.done) - before
}

// half commits one item of a transaction in flight.
func (w *effectWorld) half(t *rapid.T) {
	all := w.db.InFlight()
	if len(all) == 0 {
		t.Skip("nothing is in flight")
	}

	all[0].CommitItem(rapid.IntRange(0, 1).Draw(t, "item"))
	w.inspect()
}

func (w *effectWorld) expireAll(t *rapid.T) {
	w.expire(t)
	w.inspect()
}

func (w *effectWorld) checkAll(t *rapid.T) {
	if w.wrong != "" {
		t.Fatal(w.wrong)
	}

	if len(w.db.InFlight()) > 0 {
		return
	}

	w.inspect()
	w.check(t)
}
