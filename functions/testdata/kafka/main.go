// Kafka is a function that reads a topic of payments. docs/kafka.md shows it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type payment struct{ PaymentID string }

func pay(_ context.Context, r lambdawrap.KafkaRecord) error {
	if len(r.Value) == 0 {
		return nil // a tombstone: nothing is paid
	}
	var p payment
	if err := json.Unmarshal(r.Value, &p); err != nil || p.PaymentID == "" {
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

func (p parking) park(ctx context.Context, r lambdawrap.KafkaRecord, cause error) error {
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

	// Kafka does not count deliveries. After five attempts a payment is parked, and the payments behind it go on.
	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", &idemddb.Options{MaxAttempts: 5})
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(lambdawrap.Kafka(store, pay, &lambdawrap.KafkaOptions{
		DeadLetter: parking{sqs.NewFromConfig(cfg), os.Getenv("PARKED_QUEUE_URL")}.park,
		Timeout:    5 * time.Second,
		Workers:    10, // of different topic-partitions
	}))
}
