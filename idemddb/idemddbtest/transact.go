package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/storage"
)

// TransactWriteItems does all of its writes or none. If it does none, the TransactionCanceledException has a reason for each
// item, in the order of the items. A ClientRequestToken counts for ten minutes after its transaction was done: in that time a
// repetition is a success that writes nothing. Unlike the SDK's client, a DB does not generate a token.
func (db *DB) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return call[dynamodb.TransactWriteItemsOutput](ctx, db, in)
}

// transactWrite is the name of the operation.
const transactWrite = "TransactWriteItems"

func (db *DB) transactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, r *Request) (*dynamodb.TransactWriteItemsOutput, error) {
	tx, err := db.attempt(in, r)
	if err != nil {
		return nil, err
	}

	if db.transactionTime != nil && tx.isInFlight() {
		tx.takeTime(ctx)
	} else {
		tx.finish()
	}

	if tx.canceled != nil {
		return nil, tx.canceled
	}

	return tx.output(in.ReturnConsumedCapacity), nil
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
