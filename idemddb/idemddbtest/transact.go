package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

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
