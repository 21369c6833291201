package main

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type payment struct {
	PaymentID string `json:"paymentId"`
}

func pay(_ context.Context, p payment) error {
	log.Print("paying ", p.PaymentID) // your work; an error brings the message back
	return nil
}

func main() {
	records := &idemddb.Options{Retention: 30 * 24 * time.Hour} // longer than any standard queue brings a message back
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTPClient = idemddb.HTTPClient() // keeps more connections open than the SDK's own client
	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", records)
	key, errKey := lambdawrap.Body("paymentId") // messages with the same paymentId are one payment
	if err = errors.Join(err, errKey); err != nil {
		log.Fatal(err)
	}
	lambda.Start(lambdawrap.SQS(store, lambdawrap.JSON(pay), &lambdawrap.Options{Key: key, Timeout: 5 * time.Second})) // 5 s for each
}
