package idemddbtest

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

// Transaction is a transaction in flight. DynamoDB has found that all of its writes are possible and has not committed all of
// them yet. Until it has committed an item, it holds the item, also for a ConditionCheck. Reads return a held item as it is.
// Another transaction with a held item is canceled with the reason TransactionConflict for that item. A PutItem, UpdateItem,
// DeleteItem or statement for a held item gets a TransactionConflictException. Another request with the same ClientRequestToken
// gets a TransactionInProgressException.
//
// [DB.Begin] returns a Transaction, and [DB.InFlight] returns those that are in flight after a [LateCommit] or for their
// [Options.TransactionTime]. The methods are safe for concurrent use.
type Transaction struct {
	db       *DB
	sent     *sentTransaction // nil if it has no ClientRequestToken
	writes   []*storage.Write
	repeated bool  // it was done before with the same token, so that it writes nothing
	canceled error // not nil: writes are only those that were possible, and none of them will be done
	timed    bool  // it ends by itself, and its sender waits for that

	outcomes  []storage.Outcome // of the writes; they stay true, because the items are held
	committed []bool            // of the writes
}

// Commit writes the items that are not written yet and ends the transaction. It holds no item any more, and its
// ClientRequestToken counts from now on. Commit has no effect on a transaction that has ended.
func (tx *Transaction) Commit() {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()

	tx.commit()
}

// CommitItem writes the item with this index and does not hold it any more. DynamoDB commits one item after another, too, so that
// another request can conflict at one item and find the new value of another one. The last item ends the transaction. CommitItem
// has no effect on an item that is committed and on a transaction that has ended. It panics if there is no such index.
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

// Cancel ends the transaction and writes nothing. It holds no item any more, and its ClientRequestToken is free. Cancel has no
// effect on a transaction that has ended, nor after the first CommitItem, because DynamoDB commits every transaction that it has
// begun to commit, nor on one that takes its [Options.TransactionTime], because its sender waits for its end.
func (tx *Transaction) Cancel() {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()

	if !tx.timed && !slices.Contains(tx.committed, true) {
		tx.end()
	}
}

// takeTime finishes the transaction after the time that it takes. It unlocks the DB meanwhile. If ctx ends before, takeTime
// returns, and the transaction is finished all the same.
func (tx *Transaction) takeTime(ctx context.Context) {
	tx.timed = true

	tx.db.mu.Unlock()
	defer tx.db.mu.Lock()

	finished := make(chan struct{})

	d := tx.db.transactionTime()
	if tx.canceled != nil {
		d /= 2 // it is prepared, and not committed
	}

	time.AfterFunc(d, func() {
		defer close(finished)

		tx.db.mu.Lock()
		defer tx.db.mu.Unlock()

		tx.finish()
	})

	select {
	case <-finished:
	case <-ctx.Done():
	}
}

// finish commits the transaction, or lets go of the items that a canceled one holds.
func (tx *Transaction) finish() {
	if tx.canceled != nil {
		tx.end()
	} else {
		tx.commit()
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

	if tx.sent != nil {
		tx.db.tokens.remember(tx.sent, tx.db.now())
	}
}

func (tx *Transaction) commitItem(index int) {
	tx.committed[index] = true
	w := tx.writes[index]
	tx.db.store(w.Table, w.ID, tx.outcomes[index].After, false)
}

func (tx *Transaction) isInFlight() bool { return slices.Contains(tx.db.inFlight, tx) }

func (tx *Transaction) end() {
	tx.db.inFlight = slices.DeleteFunc(tx.db.inFlight, func(other *Transaction) bool { return other == tx })
}

// output returns the answer to the transaction.
func (tx *Transaction) output(want types.ReturnConsumedCapacity) *dynamodb.TransactWriteItemsOutput {
	var (
		tables []*storage.Table
		costs  = map[*storage.Table]*storage.Consumption{}
	)

	for i, w := range tx.writes {
		if costs[w.Table] == nil {
			tables, costs[w.Table] = append(tables, w.Table), &storage.Consumption{}
		}

		costs[w.Table].Add(tx.cost(i))
	}

	out := &dynamodb.TransactWriteItemsOutput{}

	for _, t := range tables {
		if c := costs[t].Report(want, t.Name); c != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, tx.kind(*c))
		}
	}

	return out
}

// cost returns the price of one write. A repeated transaction reads its items and writes nothing.
func (tx *Transaction) cost(index int) storage.Consumption {
	if !tx.repeated {
		return tx.outcomes[index].Cost.Transactional()
	}

	w := tx.writes[index]

	return storage.RepeatCost(w.Table.Items[w.ID])
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
