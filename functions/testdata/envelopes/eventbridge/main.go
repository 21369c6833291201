// Eventbridge is a consumer behind a rule of EventBridge. docs/envelopes.md shows its last line.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type payment struct {
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"`
}

func charge(_ context.Context, p payment) error {
	log.Println("charging", p.Amount, "for", p.PaymentID)

	return nil
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(idemddb.HTTPClient()))
	if err != nil {
		log.Fatal(err)
	}

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", nil)
	if err != nil {
		log.Fatal(err)
	}

	// The key is the event's id, because there is no Options.Key.
	lambda.Start(lambdawrap.SQS(store, lambdawrap.JSON(charge), &lambdawrap.Options{Envelope: lambdawrap.EventBridge}))
}
