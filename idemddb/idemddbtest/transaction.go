package idemddbtest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A Transaction is in flight: DynamoDB has found that all of its writes are possible, has not committed them all yet, and holds their
// items until then. While an item is held, reads see it as it is, another transaction that names it is canceled with the reason
// TransactionConflict for that item, and a plain write or a statement gets a TransactionConflictException. The items of its
// ConditionChecks are held, too. Another request with its ClientRequestToken gets a TransactionInProgressException.
//
// A Transaction comes from [DB.Begin], or from [DB.InFlight] after a [LateCommit]. Its methods are safe for concurrent use.
type Transaction struct {
	db       *DB
	sent     *sentTransaction // nil if it has no ClientRequestToken
	writes   []*write
	repeated bool // it was done before with the same token, so that it writes nothing

	outcomes  []outcome // of the writes; they stay true, because the items are held
	committed []bool    // of the writes
}

// Begin starts somebody else's transaction and leaves it in flight, so that a test says where in an interleaving a conflict is. It fails
// as [DB.TransactWriteItems] does if the transaction cannot be done. It is not a request: it meets no fault and is not logged.
func (db *DB) Begin(in *dynamodb.TransactWriteItemsInput) (*Transaction, error) {
	db.mu.Lock()
	defer db.mu.Unlock()

	r := db.describe(in)

	return db.begin(in, &r)
}

// InFlight returns the transactions that hold items, in the order in which they began.
func (db *DB) InFlight() []*Transaction {
	db.mu.Lock()
	defer db.mu.Unlock()

	return slices.Clone(db.inFlight)
}

// Commit writes what is not written yet and ends the transaction: its items are free, and its ClientRequestToken is remembered. It has
// no effect on a transaction that has ended.
func (tx *Transaction) Commit() {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()

	tx.commit()
}

// CommitItem writes the item with this index and lets go of it; the others stay in flight. DynamoDB commits item by item, too, so that
// another request can meet a conflict at one item and the new value of another. The last item ends the transaction. CommitItem has
// no effect on an item that is committed, nor on a transaction that has ended, and it panics if there is no such index.
func (tx *Transaction) CommitItem(index int) {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()

	if !tx.isInFlight() || tx.committed[index] {
		return
	}

	tx.commitItem(index)

	if !slices.Contains(tx.committed, false) {
		tx.commit()
	}
}

// Cancel ends the transaction without writing anything: its items are free, and its ClientRequestToken is not remembered. It has no
// effect on a transaction that has ended, nor after the first CommitItem, because a transaction that DynamoDB has begun to commit is
// committed in the end.
func (tx *Transaction) Cancel() {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()

	if !slices.Contains(tx.committed, true) {
		tx.end()
	}
}

func (tx *Transaction) commit() {
	if !tx.isInFlight() {
		return
	}

	for i, done := range tx.committed {
		if !done {
			tx.commitItem(i)
		}
	}

	tx.end()
	tx.db.remember(tx.sent)
}

func (tx *Transaction) commitItem(index int) {
	tx.committed[index] = true
	tx.writes[index].store(tx.outcomes[index])
}

func (tx *Transaction) isInFlight() bool { return slices.Contains(tx.db.inFlight, tx) }

func (tx *Transaction) end() {
	tx.db.inFlight = slices.DeleteFunc(tx.db.inFlight, func(other *Transaction) bool { return other == tx })
}

// holds reports whether a transaction in flight holds this item.
func (db *DB) holds(t *table, id string) bool {
	for _, tx := range db.inFlight {
		for i, w := range tx.writes {
			if !tx.committed[i] && w.table == t && w.id == id {
				return true
			}
		}
	}

	return false
}

// output returns the answer to the transaction.
func (tx *Transaction) output(want types.ReturnConsumedCapacity) *dynamodb.TransactWriteItemsOutput {
	var (
		tables []*table
		costs  = map[*table]*consumption{}
	)

	for i, w := range tx.writes {
		if costs[w.table] == nil {
			tables, costs[w.table] = append(tables, w.table), &consumption{}
		}

		costs[w.table].add(tx.cost(i))
	}

	out := &dynamodb.TransactWriteItemsOutput{}

	for _, t := range tables {
		if c := costs[t].report(want, t); c != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, tx.kind(*c))
		}
	}

	return out
}

// cost returns the price of one write. A repeated transaction reads its items and writes nothing.
func (tx *Transaction) cost(index int) consumption {
	if !tx.repeated {
		return tx.outcomes[index].cost.transactional()
	}

	w := tx.writes[index]

	return consumption{table: float64(2 * units(itemSize(w.table.items[w.id]), readUnit))}
}

// kind adds for what the units were consumed, as the service does and DynamoDB Local does not.
func (tx *Transaction) kind(c types.ConsumedCapacity) types.ConsumedCapacity {
	if tx.repeated {
		c.ReadCapacityUnits = new(*c.CapacityUnits)
	} else {
		c.WriteCapacityUnits = new(*c.CapacityUnits)
	}

	return c
}
