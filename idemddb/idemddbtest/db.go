package idemddbtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/expression"
)

var _ interface {
	idemddb.DynamoDB
	idemddb.Batcher
	idemddb.Transactor
} = (*DB)(nil)

// DB is an in-memory DynamoDB. Its methods are safe for concurrent use. It applies one request at a time, keeps no reference to
// an input, and returns copies.
type DB struct {
	now             func() time.Time
	transactionTime func() time.Duration // nil: transactions take no time
	limits          Limits

	mu                 sync.Mutex // guards all fields below
	tables             map[string]*table
	parsed             expression.Cache
	statements         expression.StatementCache
	tokens             map[string]*sentTransaction
	inFlight           []*Transaction
	requests           []Request
	faults             []Fault
	intercept          func(context.Context, Request) Fault
	interceptStatement func(context.Context, Request) Fault
	interceptPart      func(context.Context, Request) Fault
	held               []heldRequest
	onChange           func(Change)
	partitions         map[partitionID]*partition // of all tables, which Limits make
}

// Options are the settings of a DB; nil means the defaults.
type Options struct {
	// Now is the clock of the service, for [DB.Expire] and for the ten minutes for which a ClientRequestToken counts. Conditions do
	// not depend on it. Defaults to time.Now.
	Now func() time.Time

	// TransactionTime returns for how long a TransactWriteItems is in flight. The DB evaluates the conditions when the request
	// arrives. Then the transaction holds its items for this time, see [Transaction], so that other writes of these items conflict
	// with it, while all other requests are answered. After this time the DB writes the items and answers. A sender that leaves
	// earlier does not stop that. A transaction that is canceled takes half of the time, because DynamoDB prepares all items before
	// it writes them, and a canceled transaction ends in between. Until then it holds the items whose reason is None. DynamoDB takes
	// some milliseconds. The function is called once for each of these requests, without a lock, maybe from several goroutines at
	// once. Defaults to nil: transactions take no time, so that they conflict only where a test begins one.
	TransactionTime func() time.Duration

	// Limits throttle writes and reads, and let requests take their time, as DynamoDB does. Defaults to none.
	Limits Limits
}

// New returns a DynamoDB without tables.
func New(opts *Options) *DB {
	db := &DB{now: time.Now, tables: map[string]*table{}, parsed: expression.Cache{}, statements: expression.StatementCache{}, tokens: map[string]*sentTransaction{}, partitions: map[partitionID]*partition{}}
	if opts == nil {
		return db
	}

	if opts.Now != nil {
		db.now = opts.Now
	}

	db.transactionTime, db.limits = opts.TransactionTime, opts.Limits

	return db
}

// Item returns a copy of the item with this key, or nil if there is no such item or table, or if the key does not fit the table.
// It is for assertions: it is not a request, so that no fault happens to it and [DB.Requests] does not list it.
func (db *DB) Item(table string, key map[string]types.AttributeValue) map[string]types.AttributeValue {
	db.mu.Lock()
	defer db.mu.Unlock()

	t, err := db.table(&table)
	if err != nil {
		return nil
	}

	k, err := t.keyOf(key)
	if err != nil || t.checkTypes(k) != nil {
		return nil
	}

	return attribute.CopyItem(t.items[t.id(k)])
}

// Items returns copies of all items of a table in the order of their keys, or nil if there is no such table. Like [DB.Item] it is
// not a request.
func (db *DB) Items(table string) []map[string]types.AttributeValue {
	db.mu.Lock()
	defer db.mu.Unlock()

	t, err := db.table(&table)
	if err != nil {
		return nil
	}

	return t.all()
}

func (t *table) all() []attribute.Item {
	all := make([]attribute.Item, 0, len(t.items))
	for _, it := range t.items {
		all = append(all, attribute.CopyItem(it))
	}

	slices.SortFunc(all, t.compareKeys)

	return all
}
