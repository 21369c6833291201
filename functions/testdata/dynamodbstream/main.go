// Dynamodbstream is a function that reads the stream of a table. docs/dynamodb-stream.md shows it.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// countOrder counts the orders of each customer. The count is staged: it is written in one transaction with the record of the change,
// so each order counts once, whatever fails.
func countOrder(ctx context.Context, r events.DynamoDBEventRecord) error {
	customer := r.Change.NewImage["customer"]
	if r.EventName != "INSERT" || customer.DataType() != events.DataTypeString || customer.String() == "" {
		return nil // DynamoDB takes no empty key, so a change without a customer would never succeed
	}
	return idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{{Update: &types.Update{
		TableName:                 aws.String(os.Getenv("COUNTS_TABLE_NAME")),
		Key:                       map[string]types.AttributeValue{"customer": &types.AttributeValueMemberS{Value: customer.String()}},
		UpdateExpression:          aws.String("ADD orders :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}}}})
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTPClient = idemddb.HTTPClient()
	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "order-counts", nil)
	if err != nil {
		log.Fatal(err)
	}
	opts := &lambdawrap.StreamOptions[events.DynamoDBEventRecord]{Timeout: 5 * time.Second, Workers: 25}
	lambda.Start(lambdawrap.DynamoDBStream(store, countOrder, opts))
}
