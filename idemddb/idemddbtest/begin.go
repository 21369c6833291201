package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

// Begin starts somebody else's transaction and leaves it in flight, so that a test chooses the point at which another write
// conflicts with it. If the transaction is not possible, Begin returns the error of the service. It is not a request, so that no
// fault happens to it and [DB.Requests] does not list it.
func (db *DB) Begin(in *dynamodb.TransactWriteItemsInput) (*Transaction, error) {
	db.mu.Lock()
	defer db.mu.Unlock()

	r := db.describe(in)

	return db.begin(in, &r)
}

// begin puts a transaction in flight if all of its writes are possible. It sets the parts of r.
func (db *DB) begin(in *dynamodb.TransactWriteItemsInput, r *Request) (*Transaction, error) {
	tx, err := db.attempt(in, r)
	if err != nil {
		return nil, err
	}

	if tx.canceled != nil {
		tx.end()

		return nil, tx.canceled
	}

	return tx, nil
}

// attempt puts a transaction in flight, also one that is canceled: that one holds the items whose own write is possible. It sets
// the parts of r.
func (db *DB) attempt(in *dynamodb.TransactWriteItemsInput, r *Request) (*Transaction, error) {
	writes, err := storage.TransactWrites(in)
	if err != nil {
		return nil, err
	}

	sent, err := withToken(in)
	if err != nil {
		return nil, err
	}

	repeated, err := db.repeats(sent)
	if err != nil {
		return nil, err
	}

	if err := db.tables.PrepareAll(writes, db.parsed); err != nil {
		return nil, err
	}

	tx := &Transaction{db: db, sent: sent, writes: writes, repeated: repeated}
	if repeated {
		return tx, nil
	}

	var reasons []types.CancellationReason
	if tx.outcomes, reasons = db.evaluateAll(writes, r); reasons != nil {
		tx.canceled = exception.Canceled(reasons)
		tx.writes = possible(writes, reasons)
	}

	tx.committed = make([]bool, len(tx.writes))
	db.inFlight = append(db.inFlight, tx)

	return tx, nil
}

// repeats reports whether a transaction with the same token was done in the last ten minutes. It returns an error if the token
// belongs to a transaction with other items, or to one that is in flight. As in DynamoDB Local, other settings than the items may
// differ, and the token of a canceled transaction is free.
func (db *DB) repeats(t *sentTransaction) (bool, error) {
	if t == nil {
		return false, nil
	}

	for _, tx := range db.inFlight {
		if tx.sent == nil || tx.sent.token != t.token {
			continue
		}

		if err := t.checkItems(tx.sent); err != nil {
			return false, err
		}

		return false, exception.TransactionInProgress()
	}

	done, ok := db.tokens[t.token]
	if !ok || !db.now().Before(done.until) {
		return false, nil
	}

	if err := t.checkItems(done); err != nil {
		return false, err
	}

	return true, nil
}

// ForgetTokens makes the DB forget every ClientRequestToken, as the service does ten minutes after the transaction of the token
// was done. A late request with such a token is then applied if its conditions hold.
func (db *DB) ForgetTokens() {
	db.mu.Lock()
	defer db.mu.Unlock()

	clear(db.tokens)
}
