// Package auditing holds the changes of a table of records against the specification of the record, package idemddb/audit. The
// tests that run whole functions end with it.
package auditing

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// timeLimit is for one change of a table. DynamoDB takes seconds, DynamoDB Local none.
const timeLimit = 2 * time.Minute

// Stream is the specification of the stream that Table reads.
func Stream() *types.StreamSpecification {
	return &types.StreamSpecification{StreamEnabled: new(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
}

// Enable enables the stream of a table, and waits until it is. Changes that were made before are not in it. It leaves such a
// stream as it is if the table has one.
func Enable(ctx context.Context, client *dynamodb.Client, table string) error {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("describe the table %s: %w", table, err)
	}

	if s := out.Table.StreamSpecification; s != nil && *s.StreamEnabled && s.StreamViewType == types.StreamViewTypeNewAndOldImages {
		return nil
	}

	return update(ctx, client, table, Stream())
}

// disable ends a stream. What it has can still be read.
func disable(ctx context.Context, client *dynamodb.Client, table string) error {
	return update(ctx, client, table, &types.StreamSpecification{StreamEnabled: new(false)})
}

func update(ctx context.Context, client *dynamodb.Client, table string, stream *types.StreamSpecification) error {
	_, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &table, StreamSpecification: stream})
	if err == nil {
		err = dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, timeLimit)
	}

	if err != nil {
		return fmt.Errorf("change the stream of the table %s: %w", table, err)
	}

	return nil
}

// streamsOf returns a client for the streams of the tables of another client.
func streamsOf(client *dynamodb.Client) *dynamodbstreams.Client {
	o := client.Options()

	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient,
	})
}
