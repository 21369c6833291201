// Kinesis is a function that reads a stream of payments. docs/kinesis.md shows it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type payment struct{ PaymentID string }

func pay(_ context.Context, r events.KinesisEventRecord) error {
	var p payment
	if err := json.Unmarshal(r.Kinesis.Data, &p); err != nil || p.PaymentID == "" {
		return lambdawrap.Permanent(errors.New("the record is not a payment"))
	}
	log.Print("paying ", p.PaymentID) // your work; an error brings the record back
	return nil
}

// parking sends a record that can never succeed to a queue, with all that the event said about it.
type parking struct {
	client *sqs.Client
	queue  string
}

func (p parking) park(ctx context.Context, r events.KinesisEventRecord, cause error) error {
	body, err := json.Marshal(map[string]any{"record": r, "cause": cause.Error()})
	if err != nil {
		return err
	}
	_, err = p.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &p.queue, MessageBody: aws.String(string(body))})
	return err
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTPClient = idemddb.HTTPClient()

	// A stream does not count deliveries. After five attempts a payment is parked, and the payments behind it go on.
	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", &idemddb.Options{MaxAttempts: 5})
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(lambdawrap.Kinesis(store, pay, &lambdawrap.StreamOptions[events.KinesisEventRecord]{
		DeadLetter: parking{sqs.NewFromConfig(cfg), os.Getenv("PARKED_QUEUE_URL")}.park,
		Timeout:    5 * time.Second,
		Workers:    25, // of different partition keys; their claims share requests
	}))
}
