// Payments takes payments from a queue and sends a receipt for each. docs/outbox.md shows it.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type payment struct {
	PaymentID string `json:"paymentId"`
}

// pay makes no request. What it stages is written together with the record that says that the payment is done.
func pay(ctx context.Context, p payment) error {
	return idemddb.Stage(ctx, idemddb.Effects{ // its field Items takes your own writes to DynamoDB
		Messages: []idemddb.Message{{To: "receipts", Body: "receipt for " + p.PaymentID}},
	})
}

func main() {
	slog.SetDefault(lambdacontext.NewLogger()) // lines of JSON, with the request id
	cfg, err := config.LoadDefaultConfig(context.Background(), config.WithLogger(lambdawrap.SDKLogger(slog.Default())))
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTPClient = idemddb.HTTPClient() // keeps more connections open than the SDK's own client
	receipts := outbox.SQS(sqs.NewFromConfig(cfg), os.Getenv("RECEIPTS_QUEUE_URL"))
	metrics := lambdawrap.NewMetrics(os.Stdout, "Payments")
	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", &idemddb.Options{
		Observe:     metrics.Observe,
		Retention:   30 * 24 * time.Hour,                             // longer than a message stays in its queue and as a dead letter
		Senders:     map[string]idemddb.Sender{"receipts": receipts}, // by Message.To
		UnsentIndex: "unsent",                                        // of the table, as in the template
	})
	if err != nil {
		log.Fatal(err)
	}
	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		log.Fatal(err)
	}
	opts := &lambdawrap.Options{Key: key, Optimistic: true, Timeout: 5 * time.Second}
	lambda.Start(lambdawrap.Measure(metrics, lambdawrap.SQS(store, lambdawrap.JSON(pay), opts)))
}
