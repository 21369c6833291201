package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Each of these methods is one request, with the name that DynamoDB gives to the operation.

// UpdateItem changes an item, or makes it if there is none.
func (db *DB) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return call[dynamodb.UpdateItemOutput](ctx, db, in)
}

// PutItem writes a whole item, in place of the one with its key.
func (db *DB) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return call[dynamodb.PutItemOutput](ctx, db, in)
}

// DeleteItem deletes an item. If there is none, that is no error.
func (db *DB) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return call[dynamodb.DeleteItemOutput](ctx, db, in)
}

// GetItem reads an item. Reads are always consistent here. ProjectionExpression is not supported.
func (db *DB) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return call[dynamodb.GetItemOutput](ctx, db, in)
}

// Query returns the items of a table or of a global secondary index that have one partition key, in the order of their sort keys.
// It supports KeyConditionExpression, FilterExpression, Limit, ExclusiveStartKey, ScanIndexForward, ConsistentRead, and Select
// without SPECIFIC_ATTRIBUTES. It does not support ProjectionExpression. Entries with the same key of an index are in the order
// of the table's key, for which the service promises no order.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return call[dynamodb.QueryOutput](ctx, db, in)
}

// Scan returns the items of a table or of a global secondary index in the order of their keys; the service promises no order. It
// supports FilterExpression, Limit, ExclusiveStartKey, Segment, TotalSegments, ConsistentRead, and Select without
// SPECIFIC_ATTRIBUTES. It does not support ProjectionExpression.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return call[dynamodb.ScanOutput](ctx, db, in)
}

// TransactWriteItems does all of its writes or none. If it does none, the TransactionCanceledException has a reason for each
// item, in the order of the items. A ClientRequestToken counts for ten minutes after its transaction was done: in that time a
// repetition is a success that writes nothing. Unlike the SDK's client, a DB does not generate a token.
func (db *DB) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return call[dynamodb.TransactWriteItemsOutput](ctx, db, in)
}

// BatchExecuteStatement does writes or reads in PartiQL. Each statement has a response of its own, and its error keeps no other
// from being applied. Statements are INSERT, UPDATE with SET, REMOVE, a WHERE with an equality for each key attribute, and
// RETURNING ALL OLD *, and SELECT * with a WHERE that has only these equalities. Values are parameters, integers or 'strings'.
// Conditions have comparisons, AND, OR, NOT, parentheses, IS [NOT] MISSING, attribute_exists, attribute_not_exists and
// begins_with; right sides have + and -. A name that is a reserved word needs double quotes. The answer has no ConsumedCapacity.
func (db *DB) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	return call[dynamodb.BatchExecuteStatementOutput](ctx, db, in)
}

// CreateTable makes a table with its global secondary indexes, which are ACTIVE at once. Local secondary indexes and provisioned
// capacity are accepted and ignored.
func (db *DB) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	return call[dynamodb.CreateTableOutput](ctx, db, in)
}

// UpdateTimeToLive sets the attribute by which [DB.Expire] deletes items.
func (db *DB) UpdateTimeToLive(
	ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return call[dynamodb.UpdateTimeToLiveOutput](ctx, db, in)
}
