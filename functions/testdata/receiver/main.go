// Receiver is a function that gets messages which another function staged. docs/outbox.md shows it.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func sendReceipt(_ context.Context, m events.SQSMessage) error {
	log.Print("receipt for ", m.Body) // your work
	return nil
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "receipts", nil)
	if err != nil {
		log.Fatal(err)
	}

	// A message that is sent again has a new message id and the same id of the outbox.
	opts := &lambdawrap.Options{Key: lambdawrap.SentMessageID}
	lambda.Start(lambdawrap.SQS(store, sendReceipt, opts))
}
