package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// newStore returns a Store on an in-memory table of its own.
func newStore(t testing.TB, opts *idemddb.Options) (*idemddb.Store, *idemddbtest.DB) {
	t.Helper()

	db := newDB(t)
	store := storeOn(t, db, opts)
	judge(t, db, opts)

	return store, db
}

// newDB returns an engine with an empty table.
func newDB(t testing.TB) *idemddbtest.DB {
	t.Helper()

	return newDBWith(t, nil)
}

// newDBWith is newDB with options.
func newDBWith(t testing.TB, opts *idemddbtest.Options) *idemddbtest.DB {
	t.Helper()

	db := idemddbtest.New(opts)
	if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
		t.Fatal(err)
	}

	db.ResetRequests()

	return db
}

// judge has every change of a test judged, with the clock of its Store as the service's.
func judge(t testing.TB, db *idemddbtest.DB, opts *idemddb.Options) {
	t.Helper()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	audited.DB(t, db, o.Now, audit.Options{PartitionKey: o.PartitionKey, SortKey: o.SortKey, TTLAttribute: o.TTLAttribute, ClockSkew: o.ClockSkew})
}

// put writes an item by hand, as no worker does.
func put(t testing.TB, db *idemddbtest.DB, it map[string]types.AttributeValue) {
	t.Helper()

	audited.ByHand(db, func() {
		// The context is not one of a test's requests, so that no interceptor takes it for one.
		if _, err := db.PutItem(context.WithValue(context.Background(), secondWorker{}, 1), &dynamodb.PutItemInput{
			TableName: new("records"), Item: it,
		}); err != nil {
			t.Error(err)
		}
	})
}

// erase deletes the record of a key by hand.
func erase(t testing.TB, db *idemddbtest.DB, key string) {
	t.Helper()

	audited.ByHand(db, func() {
		if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: new("records"), Key: map[string]types.AttributeValue{"pk": text("test#" + key)},
		}); err != nil {
			t.Error(err)
		}
	})
}

// storeOn returns another Store for the records of newStore. Without Senders, another process sends to the targets of the tests.
func storeOn(t testing.TB, api idemddb.DynamoDB, opts *idemddb.Options) *idemddb.Store {
	t.Helper()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	if _, canTransact := api.(idemddb.Transactor); o.Senders == nil && canTransact {
		o.Senders = map[string]idemddb.Sender{"bank": nil, "nobody": nil}
	}

	if db, isEngine := api.(*idemddbtest.DB); isEngine && o.Now != nil {
		audited.OtherClocks(db)
	}

	s, err := idemddb.New(api, "records", "test", &o)
	if err != nil {
		t.Fatal(err)
	}

	return s
}

// observed is newStore with a log of the events.
func observed(t testing.TB, opts *idemddb.Options) (*idemddb.Store, *idemddbtest.DB, *eventLog) {
	t.Helper()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	log := &eventLog{}
	o.Observe = log.observe
	s, db := newStore(t, &o)

	return s, db, log
}

// beginWork demands work.
func beginWork(t testing.TB, s *idemddb.Store, key string, opts *idemddb.ClaimOptions) *idemddb.Work {
	t.Helper()

	w, e := s.Begin(t.Context(), key, opts)
	if w == nil {
		t.Fatalf("got %+v, want work", e)
	}

	return w
}

// claim demands a claim.
func claim(t testing.TB, s *idemddb.Store, key string) *idemddb.Claim {
	t.Helper()

	return granted(t)(s.Claim(t.Context(), key, nil))
}

// granted demands that what Claim returned is a claim.
func granted(t testing.TB) func(*idemddb.Claim, *idemddb.Record, error) *idemddb.Claim {
	t.Helper()

	return func(c *idemddb.Claim, rec *idemddb.Record, err error) *idemddb.Claim {
		t.Helper()

		if c == nil {
			t.Fatalf("got record %v, error %v, want a claim", rec, err)
		}

		return c
	}
}

// within returns a context that ends when d has passed.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)

	return ctx
}

// replay demands a record.
func replay(t testing.TB, s *idemddb.Store, key string) *idemddb.Record {
	t.Helper()

	_, rec, err := s.Claim(t.Context(), key, nil)
	if rec == nil {
		t.Fatalf("got error %v, want a record", err)
	}

	return rec
}

// must demands success.
func must(t testing.TB, errs ...error) {
	t.Helper()

	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// is demands an error that wraps this one.
func is(t testing.TB, err, want error) {
	t.Helper()

	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// ahead returns a Store for the same records whose clock is an hour ahead, so that it takes every key over.
func ahead(t testing.TB, db *idemddbtest.DB) *idemddb.Store {
	t.Helper()

	return storeOn(t, db, &idemddb.Options{Now: anHourAhead})
}

func anHourAhead() time.Time { return time.Now().Add(time.Hour) }

// faultUntil returns an interceptor: the first request has the fault first, and later ones have the fault then until d has
// passed.
func faultUntil(d time.Duration, first, then idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	var (
		begun = time.Now()
		once  sync.Once
	)

	return func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		fault := idemddbtest.None
		if time.Since(begun) < d {
			fault = then
		}

		once.Do(func() { fault = first })

		return fault
	}
}

// always returns an interceptor with the same fault for each request.
func always(fault idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault }
}

// forOperation returns an interceptor for the requests of an operation: the first has the first fault, and so on, and each later
// one has the last.
func forOperation(operation string, faults ...idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if r.Operation != operation {
			return idemddbtest.None
		}

		fault := faults[0]
		if len(faults) > 1 {
			faults = faults[1:]
		}

		return fault
	}
}

// forTransactions is forOperation for transactions.
func forTransactions(faults ...idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return forOperation("TransactWriteItems", faults...)
}

// forKey returns an interceptor with a fault for the requests and statements of one key.
func forKey(key string, fault idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if textOf(r.Key, "pk") == "test#"+key {
			return fault
		}

		return idemddbtest.None
	}
}

// eventLog keeps the kinds of events.
type eventLog struct {
	mu     sync.Mutex
	events []idemddb.Event
}

func (l *eventLog) observe(_ context.Context, e idemddb.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.events = append(l.events, e)
}

// kinds returns what happened, in order, without the retries.
func (l *eventLog) kinds() []idemddb.Kind {
	l.mu.Lock()
	defer l.mu.Unlock()

	var kinds []idemddb.Kind

	for _, e := range l.events {
		if e.Kind != idemddb.KindRetried {
			kinds = append(kinds, e.Kind)
		}
	}

	return kinds
}

// all returns the events of a kind.
func (l *eventLog) all(kind idemddb.Kind) []idemddb.Event {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(l.events), func(e idemddb.Event) bool { return e.Kind != kind })
}

func (l *eventLog) count(kind idemddb.Kind) int { return len(l.all(kind)) }

// only demands one event of a kind and returns it.
func (l *eventLog) only(t testing.TB, kind idemddb.Kind) idemddb.Event {
	t.Helper()

	found := l.all(kind)
	if len(found) != 1 {
		t.Fatalf("%d events %q, want one", len(found), kind)
	}

	return found[0]
}

// want demands these events, in order, without the retries.
func (l *eventLog) want(t testing.TB, kinds ...idemddb.Kind) {
	t.Helper()

	if got := l.kinds(); !slices.Equal(got, kinds) {
		t.Errorf("events: got %q, want %q", got, kinds)
	}
}

// fixture is a Store and a Batch of it in a bubble.
type fixture struct {
	*testing.T

	store  *idemddb.Store
	batch  *idemddb.Batch
	db     *idemddbtest.DB
	events *eventLog
}

// bubble runs check in a bubble of its own.
func bubble(t *testing.T, opts *idemddb.Options, check func(*fixture)) {
	t.Helper()
	bubbleOn(t, opts, nil, check)
}

// bubbleOn is bubble with a client around the engine.
func bubbleOn(t *testing.T, opts *idemddb.Options, wrap func(*idemddbtest.DB) idemddb.DynamoDB, check func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t)
		f := &fixture{T: t, db: db, events: &eventLog{}}

		o := idemddb.Options{}
		if opts != nil {
			o = *opts
		}

		o.Observe = f.events.observe

		var api idemddb.DynamoDB = db
		if wrap != nil {
			api = wrap(db)
		}

		f.store = storeOn(t, api, &o)
		f.batch = f.store.Batch()
		judge(t, db, &o)

		check(f)
		f.noKeyTwice()
	})
}

// bubbleAround is bubble with a function in place of each request.
func bubbleAround(t *testing.T, opts *idemddb.Options, do around.Func, check func(*fixture)) {
	t.Helper()
	bubbleOn(t, opts, func(db *idemddbtest.DB) idemddb.DynamoDB { return &around.Client{DB: db, Do: do} }, check)
}

// slow makes each request take this long.
func (f *fixture) slow(d time.Duration) {
	f.db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}

		return idemddbtest.None
	})
}

// requests returns what was sent since it was last called, such as "INSERT×10" for a shared request and "UpdateItem" for a single
// one.
func (f *fixture) requests() []string {
	f.Helper()
	f.noKeyTwice()

	defer f.db.ResetRequests()

	all := []string{}
	for _, r := range f.db.Requests() {
		all = append(all, shape(r))
	}

	return all
}

func shape(r idemddbtest.Request) string {
	if r.Operation != "BatchExecuteStatement" {
		return r.Operation
	}

	verbs := map[string]int{}
	for _, s := range r.Items {
		verbs[s.Operation]++
	}

	var parts []string
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		parts = append(parts, fmt.Sprintf("%s×%d", verb, verbs[verb]))
	}

	return strings.Join(parts, " ")
}

// noKeyTwice demands that no shared request has two statements for one key. DynamoDB would refuse it.
func (f *fixture) noKeyTwice() {
	f.Helper()

	for _, r := range f.db.Requests() {
		seen := map[string]bool{}

		for _, s := range r.Items {
			key := textOf(s.Key, "pk")
			if seen[key] && key != "" { // the engine does not know the key if the table is missing
				f.Errorf("%s stands twice in a request", key)
			}

			seen[key] = true
		}
	}
}

// want demands these requests since the last look at them.
func (f *fixture) want(shapes ...string) {
	f.Helper()

	if got := f.requests(); !slices.Equal(got, shapes) {
		f.Errorf("requests: got %q, want %q", got, shapes)
	}
}

// wantInAnyOrder is want for requests that are under way at the same time.
func (f *fixture) wantInAnyOrder(shapes ...string) {
	f.Helper()

	got := f.requests()
	slices.Sort(got)
	slices.Sort(shapes)

	if !slices.Equal(got, shapes) {
		f.Errorf("requests: got %q, want %q", got, shapes)
	}
}

// answer is what a claim returned.
type answer struct {
	claim  *idemddb.Claim
	record *idemddb.Record
	err    error
}

// claimAll claims the keys 0 to n-1 at once in the fixture's batch.
func (f *fixture) claimAll(n int, redelivered bool) []answer {
	return claimIn(f.Context(), f.batch, numbered(n), redelivered)
}

// claimIn claims keys at once in a batch.
func claimIn(ctx context.Context, b *idemddb.Batch, keys []string, redelivered bool) []answer {
	var all sync.WaitGroup

	answers := make([]answer, len(keys))
	b.Expect(len(keys))

	for i, key := range keys {
		all.Go(func() {
			a := &answers[i]
			a.claim, a.record, a.err = b.Claim(ctx, key, &idemddb.ClaimOptions{Redelivered: redelivered})
		})
	}

	all.Wait()

	return answers
}

// numbered returns the keys 0 to n-1.
func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}

	return keys
}

// claims demands claims of n keys, and forgets their requests.
func (f *fixture) claims(n int) []*idemddb.Claim {
	f.Helper()

	claims := won(f.T, f.claimAll(n, false))
	f.requests()

	return claims
}

// won demands that all answers are claims.
func won(t testing.TB, answers []answer) []*idemddb.Claim {
	t.Helper()

	claims := make([]*idemddb.Claim, len(answers))

	for i, a := range answers {
		if claims[i] = a.claim; a.claim == nil || a.record != nil || a.err != nil {
			t.Fatalf("key %d: got claim %v, record %v, error %v, want a claim", i, a.claim, a.record, a.err)
		}
	}

	return claims
}

// complete completes claims at once, and demands success.
func (f *fixture) complete(claims ...*idemddb.Claim) {
	f.Helper()
	f.succeed(claims, func(c *idemddb.Claim) error { return c.Complete(f.Context(), []byte("done")) })
}

// succeed settles claims at once, and demands success.
func (f *fixture) succeed(claims []*idemddb.Claim, settle func(*idemddb.Claim) error) {
	f.Helper()

	for i, err := range atOnce(claims, settle) {
		if err != nil {
			f.Errorf("key %s: %v", claims[i].Key(), err)
		}
	}
}

// atOnce settles claims at once, and returns an error for each.
func atOnce(claims []*idemddb.Claim, settle func(*idemddb.Claim) error) []error {
	var all sync.WaitGroup

	errs := make([]error, len(claims))
	for i, c := range claims {
		all.Go(func() { errs[i] = settle(c) })
	}

	all.Wait()

	return errs
}

// replayed demands that the keys 0 to n-1 are completed.
func (f *fixture) replayed(n int) {
	f.Helper()

	for _, key := range numbered(n) {
		replay(f.T, f.store, key)
	}
}

// takes demands that code takes exactly this long, by the clock of the bubble.
func (f *fixture) takes(want time.Duration, code func()) {
	f.Helper()

	begun := time.Now()
	code()

	if took := time.Since(begun); took != want {
		f.Errorf("took %v, want %v", took, want)
	}
}

// isIdle demands that the batch waits for no write any more: a claim whose write is the only one is settled without a wait.
func (f *fixture) isIdle() {
	f.Helper()
	f.db.Intercept(nil)
	f.db.InterceptStatements(nil)

	last := won(f.T, claimIn(f.Context(), f.batch, []string{"last"}, false))
	f.takes(0, func() { f.complete(last...) })
}

// numberOf returns a whole number of an item.
func numberOf(t testing.TB, it map[string]types.AttributeValue, name string) int64 {
	t.Helper()

	value, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("attribute %s of%s is not a number", name, show(it))
	}

	n, err := strconv.ParseInt(value.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}

	return n
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// isDone is [idemddb.Claim.IsDone], which looks at the error alone.
func isDone(err error) bool { return new(idemddb.Claim).IsDone(err) }
