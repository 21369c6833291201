package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// CreateTable makes a table with its global secondary indexes, which are ACTIVE at once. Local secondary indexes and provisioned
// capacity are accepted and ignored.
func (db *DB) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	return call[dynamodb.CreateTableOutput](ctx, db, in)
}

// UpdateTimeToLive sets the attribute by which [DB.Expire] deletes items.
func (db *DB) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return call[dynamodb.UpdateTimeToLiveOutput](ctx, db, in)
}

func (db *DB) createTable(in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	t, err := db.tables.Create(in, db.now())
	if err != nil {
		return nil, err
	}

	return &dynamodb.CreateTableOutput{TableDescription: t.Describe()}, nil
}

func (db *DB) describeTable(in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	t, err := db.tables.Find(in.TableName)
	if err != nil {
		return nil, err
	}

	return &dynamodb.DescribeTableOutput{Table: t.Describe()}, nil
}
