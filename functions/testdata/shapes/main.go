// Shapes shows how the library wraps each shape of handler that a function may have already. docs/getting-started.md shows its lines.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type Payment struct {
	PaymentID string `json:"paymentId"`
	Account   string `json:"account"`
	Amount    int64  `json:"amount"`
}

func handleMessage(context.Context, events.SQSMessage) error { return nil }

func handlePayment(context.Context, Payment) error { return nil }

func handleEvent(context.Context, events.SQSEvent) error { return nil }

func handleBatch(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return events.SQSEventResponse{}, nil
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	cfg.HTTPClient = idemddb.HTTPClient()

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", nil)
	if err != nil {
		log.Fatal(err)
	}

	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		log.Fatal(err)
	}

	queue := sqs.NewFromConfig(cfg)
	opts := &lambdawrap.Options{
		Key:        key,
		Workers:    5,
		Timeout:    5 * time.Second,
		Visibility: queue,
		DeadLetter: lambdawrap.DeadLetterQueue(queue, os.Getenv("DEAD_LETTER_QUEUE_URL")),
	}

	switch os.Getenv("SHAPE") {
	case "message":
		lambda.Start(lambdawrap.SQS(store, handleMessage, opts))
	case "payment":
		lambda.Start(lambdawrap.SQS(store, lambdawrap.JSON(handlePayment), opts))
	case "event":
		lambda.Start(lambdawrap.SQS(store, lambdawrap.Whole(handleEvent), opts))
	default:
		lambda.Start(lambdawrap.Batch(store, handleBatch, opts))
	}
}
