// Unguarded is functions/payments without the entries that refuse a payment which is already in the ledger: what counts a payment
// once is the library alone. With CLAIMED set, each payment is claimed before its handler runs; otherwise first deliveries are
// optimistic.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func main() {
	handler, err := wire(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(handler)
}

func wire(ctx context.Context) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	env, errEnv := ledger.ReadEnv()
	cfg, errConfig := config.LoadDefaultConfig(ctx)

	key, errKey := lambdawrap.Body("paymentId")
	if err := errors.Join(errEnv, errConfig, errKey); err != nil {
		return nil, err
	}

	cfg.HTTPClient = idemddb.HTTPClient()
	queues := sqs.NewFromConfig(cfg)

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), env.Table, "payments", &idemddb.Options{
		Senders: map[string]idemddb.Sender{ledger.Captured: outbox.SQS(queues, env.CapturedQueue)},
	})
	if err != nil {
		return nil, err
	}

	pay := func(ctx context.Context, m events.SQSMessage) error { return stage(ctx, env, m.Body) }

	return lambdawrap.SQS(store, pay, &lambdawrap.Options{Key: key, Optimistic: os.Getenv("CLAIMED") == "", Visibility: queues}), nil
}

// stage adds a payment to its account, and is not afraid of doing so twice.
func stage(ctx context.Context, env ledger.Env, body string) error {
	var payment ledger.Payment
	if err := json.Unmarshal([]byte(body), &payment); err != nil {
		return lambdawrap.Permanent(err)
	}

	select {
	case <-time.After(env.Pause):
	case <-ctx.Done():
		return context.Cause(ctx) //nolint:wrapcheck // nothing is staged
	}

	expression := "ADD balance :amount, payments :one"

	return idemddb.Stage(ctx, idemddb.Effects{
		Items: []types.TransactWriteItem{{Update: &types.Update{
			TableName:        &env.LedgerTable,
			Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "account#" + payment.Account}},
			UpdateExpression: &expression,
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":amount": &types.AttributeValueMemberN{Value: strconv.FormatInt(payment.Amount, 10)},
				":one":    &types.AttributeValueMemberN{Value: "1"},
			},
		}}},
		Messages: []idemddb.Message{{To: ledger.Captured, Body: body}},
	})
}
