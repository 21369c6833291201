package idemddbtest

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
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
	tables             storage.Tables
	parsed             expression.Cache
	statements         expression.StatementCache
	tokens             tokens
	inFlight           []*Transaction
	requests           []Request
	faults             []Fault
	intercept          func(context.Context, Request) Fault
	interceptStatement func(context.Context, Request) Fault
	interceptPart      func(context.Context, Request) Fault
	held               []heldRequest
	onChange           func(Change)
	throughput         *storage.Throughput // of all tables, which Limits make
}

// heldRequest is a request that Deliver applies.
type heldRequest struct {
	input any
	begun *Transaction // of a LateCommit, nil for a request that has not arrived
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
	db := &DB{now: time.Now, tables: storage.Tables{}, parsed: expression.Cache{}, statements: expression.StatementCache{}, tokens: tokens{}}
	if opts == nil {
		opts = &Options{}
	}

	if opts.Now != nil {
		db.now = opts.Now
	}

	db.transactionTime, db.limits, db.throughput = opts.TransactionTime, opts.Limits, opts.Limits.throughput(db.now)

	return db
}

// Item returns a copy of the item with this key, or nil if there is no such item or table, or if the key does not fit the table.
// It is for assertions: it is not a request, so that no fault happens to it and [DB.Requests] does not list it.
func (db *DB) Item(table string, key map[string]types.AttributeValue) map[string]types.AttributeValue {
	db.mu.Lock()
	defer db.mu.Unlock()

	t, err := db.tables.Find(&table)
	if err != nil {
		return nil
	}

	k, err := t.Key.Adopt(key)
	if err != nil || t.Key.CheckTypes(k) != nil {
		return nil
	}

	return attribute.CopyItem(t.Items[t.Key.ID(k)])
}

// Items returns copies of all items of a table in the order of their keys, or nil if there is no such table. Like [DB.Item] it is
// not a request.
func (db *DB) Items(table string) []map[string]types.AttributeValue {
	db.mu.Lock()
	defer db.mu.Unlock()

	t, err := db.tables.Find(&table)
	if err != nil {
		return nil
	}

	return t.All()
}
