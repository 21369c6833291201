package lambdawrap_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func recordKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payments#" + key}}
}

// keyOf returns the key of a request or statement without its namespace, or "" for a request of several statements.
func keyOf(r idemddbtest.Request) string {
	pk, ok := r.Key["pk"].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}

	return strings.TrimPrefix(pk.Value, "payments#")
}

// put writes an item by hand, as no worker does.
func (h *harness) put(it map[string]types.AttributeValue) {
	h.Helper()

	audited.ByHand(h.db, func() {
		_, err := h.db.PutItem(h.Context(), &dynamodb.PutItemInput{TableName: new("records"), Item: it})
		h.equal("error", err, nil)
	})
}

// drop deletes the record of a key by hand.
func (h *harness) drop(key string) {
	h.Helper()

	audited.ByHand(h.db, func() {
		_, err := h.db.DeleteItem(h.Context(), &dynamodb.DeleteItemInput{TableName: new("records"), Key: recordKey(key)})
		h.equal("error", err, nil)
	})
}

// state returns the state of a record: none, INPROGRESS, INPROGRESS released, COMPLETED or FAILED.
func (h *harness) state(key string) string { return h.stateOf(h.db.Item("records", recordKey(key))) }

func (h *harness) stateOf(it map[string]types.AttributeValue) string {
	if it == nil {
		return "none"
	}

	state, _ := it["st"].(*types.AttributeValueMemberS)
	lease, _ := it["lease"].(*types.AttributeValueMemberN)

	if state == nil || lease == nil {
		h.Fatalf("a record is %v", it)
	}

	if state.Value == "INPROGRESS" && lease.Value == "0" {
		return "INPROGRESS released"
	}

	return state.Value
}

// attempts returns how many claims of a key began work, or "" if there is no record.
func (h *harness) attempts(key string) string {
	n, _ := h.db.Item("records", recordKey(key))["att"].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}

	return n.Value
}

// held returns how many records are claimed and not settled.
func (h *harness) held() int {
	n := 0

	for _, it := range h.db.Items("records") {
		if h.stateOf(it) == "INPROGRESS" {
			n++
		}
	}

	return n
}

// settled demands that so many keys are completed, and that requests which arrive late, after they were given up, change nothing.
func (h *harness) settled(keys int) {
	h.Helper()

	before := h.db.Items("records")
	h.equal("records", len(before), keys)

	for _, it := range before {
		h.equal("record", h.stateOf(it), "COMPLETED")
	}

	h.db.Intercept(nil)
	h.db.InterceptStatements(nil)

	for range 2 {
		h.db.Deliver()

		if after := h.db.Items("records"); !reflect.DeepEqual(before, after) {
			h.Errorf("late requests changed records: %s", cmp.Diff(before, after, ignoreUnexported))
		}

		time.Sleep(time.Minute)
	}
}

// noRenewals demands that nothing renews a lease any more: the store sends no request for a day.
func (h *harness) noRenewals() {
	h.Helper()
	h.db.ResetRequests()
	time.Sleep(24 * time.Hour)
	h.equal("requests within a day", len(h.db.Requests()), 0)
}

// ignoreUnexported makes cmp compare attribute values by their exported fields.
var ignoreUnexported = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{})

// costs returns how many requests there were since the last call, and their WCUs.
func (h *harness) costs() (requests, units int) {
	for _, r := range h.db.Requests() {
		units += r.WriteUnits
	}

	requests = len(h.db.Requests())
	h.db.ResetRequests()

	return requests, units
}

// isClaim reports whether a write claims a key.
func isClaim(r idemddbtest.Request) bool {
	return r.Operation == "INSERT" || strings.Contains(r.Update, "own")
}

// isCompletion reports whether a write completes a key, perhaps without a claim before it.
func isCompletion(r idemddbtest.Request) bool {
	completes := strings.HasPrefix(strings.TrimLeft(r.Update, `SET "`), "st") || strings.HasPrefix(r.Update, "SET v = :v, st = :completed")

	return strings.Contains(r.Update, "done") && completes
}

// isTransaction reports whether a request commits what was staged.
func isTransaction(r idemddbtest.Request) bool { return r.Operation == "TransactWriteItems" }

// isSettlement reports whether a request ends work. With Optimistic each request of a first delivery does.
func (h *harness) isSettlement(r idemddbtest.Request) bool {
	return h.opts.Optimistic || !isCallOf(isClaim)(r)
}

// isCallOf reports whether a request is, or has among its statements, a write of this kind.
func isCallOf(is func(idemddbtest.Request) bool) func(idemddbtest.Request) bool {
	return func(r idemddbtest.Request) bool { return is(r) || slices.ContainsFunc(r.Items, is) }
}

// broken lets the next requests of a kind fail with a fault, so many times. It returns the number of such requests.
func (h *harness) broken(fault idemddbtest.Fault, is func(idemddbtest.Request) bool, times int) *atomic.Int64 {
	var n atomic.Int64

	h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return is(r) && n.Add(1) <= int64(times) }, fault))

	return &n
}

// throttled throttles the requests and statements for one key while on returns true.
func (h *harness) throttled(key string, on func() bool) {
	decide := faultFor(func(r idemddbtest.Request) bool { return keyOf(r) == key && on() }, idemddbtest.Throttle)
	h.db.Intercept(decide)
	h.db.InterceptStatements(decide)
}

// before returns a client that calls f before each request.
func (h *harness) before(f func()) *around.Client {
	return &around.Client{DB: h.db, Do: func(ctx context.Context, in any, send around.Send) (any, error) {
		f()

		return send(ctx, in)
	}}
}

// ledger counts the effects of messages whose records are not written.
type ledger struct {
	harness *harness

	mu    sync.Mutex
	open  []string  // keys of effects without a record
	worst int       // the most of them
	known time.Time // when the wrapper knows that records do not get through; zero: not yet
	until time.Time // when they get through again
	after int       // effects between the two
}

// work is a handler whose effect happens at its end.
func (g *ledger) work(takes time.Duration) lambdawrap.Handler {
	return func(_ context.Context, m events.SQSMessage) error {
		time.Sleep(takes)

		g.mu.Lock()
		defer g.mu.Unlock()

		g.open = append(slices.DeleteFunc(g.open, func(key string) bool { return g.harness.state(key) == "COMPLETED" }), m.Body)
		g.worst = max(g.worst, len(g.open))

		if now := time.Now(); !g.known.IsZero() && now.After(g.known) && now.Before(g.until) {
			g.after++
		}

		return nil
	}
}

// refused notes that a completion has met a fault, which is known after a while and lasts for some time.
func (g *ledger) refused(after, limit time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.known.IsZero() {
		g.known, g.until = time.Now().Add(after+moment), time.Now().Add(limit)
	}
}

// bound demands that work did not run ahead of its records: at most so many effects may follow the first refusal.
func (g *ledger) bound(limit int) {
	g.harness.Helper()

	g.mu.Lock()
	defer g.mu.Unlock()

	if g.known.IsZero() {
		g.harness.Error("no completion was refused")
	}

	if g.after > limit {
		g.harness.Errorf("%d effects after the first refusal was known, want at most %d", g.after, limit)
	}
}

// warnings is how many lines say that records do not get through.
func (h *harness) warnings() int {
	return strings.Count(h.log.String(), "records of finished work do not get through")
}

// during gives the requests of a kind a fault for some time, once the first n of them have passed.
func (g *ledger) during(limit time.Duration, n int, is func(idemddbtest.Request) bool, fault idemddbtest.Fault, after time.Duration) {
	var (
		mu    sync.Mutex
		seen  int
		begun time.Time
	)

	g.harness.db.Intercept(faultFor(func(r idemddbtest.Request) bool {
		mu.Lock()
		defer mu.Unlock()

		if !is(r) {
			return false
		}

		if seen++; seen == n+1 {
			begun = time.Now()
			g.refused(after, limit)
		}

		return seen > n && time.Since(begun) <= limit
	}, fault))
}
