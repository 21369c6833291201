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

// payer works on payments that no function has completed.
type payer struct {
	earlier earlier
	pay     func(context.Context, payment) error // your work
}

func (p payer) handle(ctx context.Context, payment payment) error {
	done, err := p.earlier.done(ctx, payment.PaymentID)
	if err != nil || done {
		return err
	}

	return p.pay(ctx, payment)
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	cfg.HTTPClient = idemddb.HTTPClient()
	client := dynamodb.NewFromConfig(cfg)
	records := &idemddb.Options{Retention: 30 * 24 * time.Hour}

	store, err := idemddb.New(client, os.Getenv("TABLE_NAME"), "payments", records)
	key, errKey := lambdawrap.Body("paymentId")

	if err = errors.Join(err, errKey); err != nil {
		log.Fatal(err)
	}

	p := payer{
		earlier: earlier{client, os.Getenv("EARLIER_TABLE_NAME"), pythonKey("payments.app.pay"), time.Now},
		pay:     func(_ context.Context, p payment) error { log.Print("paying ", p.PaymentID); return nil },
	}

	lambda.Start(lambdawrap.SQS(store, lambdawrap.JSON(p.handle), &lambdawrap.Options{Key: key, Timeout: 5 * time.Second}))
}
