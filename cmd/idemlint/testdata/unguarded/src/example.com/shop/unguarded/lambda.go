// Package unguarded has handlers whose work happens again with each delivery.
package unguarded

import (
	"context"
	"database/sql"
	"net/http"
	"strings"

	"example.com/shop/ledger"
	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/paymentintent"
)

type handler struct {
	ledger *ledger.Ledger
	db     *sql.DB
	queue  *sqs.Client
	bank   bank
}

type bank interface {
	Charge(ctx context.Context, id string) error
}

// A write in another package, behind a method and an interface.
func (h *handler) sqs(ctx context.Context, e events.SQSEvent) error {
	for _, m := range e.Records {
		if err := h.ledger.Book(ctx, m.Body); err != nil {
			return err
		}
	}

	return nil
}

func queue(h *handler) {
	lambda.Start(h.sqs) // want `SQS delivers at least once, and this handler reaches a write, dynamodb.PutItem \(ledger.go:\d+\) without a guard.*lambdawrap.SQS`
}

// A handler that a tracer is wrapped around.
func wrapped(h *handler) {
	traced := trace(func(ctx context.Context, e events.SNSEvent) error { return h.bank.Charge(ctx, "p-1") })
	lambda.Start(traced) // want `SNS delivers at least once, and this handler reaches a payment, bank.Charge`
}

func trace[E any](h func(context.Context, E) error) func(context.Context, E) error {
	return func(ctx context.Context, e E) error { return h(ctx, e) }
}

// A handler that a constructor makes.
func stream(h *handler) {
	handle, err := newStream(h)
	if err != nil {
		panic(err)
	}

	lambda.Start(handle) // want `Kinesis delivers at least once, and this handler reaches a write, SQL INSERT`
}

func newStream(h *handler) (func(context.Context, events.KinesisEvent) error, error) {
	return func(ctx context.Context, _ events.KinesisEvent) error {
		_, err := h.db.ExecContext(ctx, `INSERT INTO payments (id) VALUES ($1)`, "p-1")

		return err
	}, nil
}

// A guard that comes after the effect is none.
func changes(h *handler) {
	lambda.Start(func(ctx context.Context, _ events.DynamoDBEvent) error { // want `a DynamoDB stream delivers at least once, and this handler reaches a send, sqs.SendMessage`
		if _, err := h.queue.SendMessage(ctx, &sqs.SendMessageInput{}); err != nil {
			return err
		}

		_, err := h.ledger.Mark(ctx, "p-1")

		return err
	})
}

func event(ctx context.Context, _ events.EventBridgeEvent) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank.example/payments", strings.NewReader("{}"))
	if err != nil {
		return err
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}

	return answer.Body.Close()
}

func bridge() {
	lambda.Start(event) // want `EventBridge delivers at least once, and this handler reaches a request, http POST \(lambda.go:\d+\).*EventBridgeID`
}

func kafka() {
	lambda.Start(func(_ context.Context, _ events.KafkaEvent) error { // want `Kafka delivers at least once, and this handler reaches a payment, stripe New.*lambdawrap.Kafka`
		_, err := paymentintent.New(&stripe.PaymentIntentParams{Amount: 1})

		return err
	})
}
