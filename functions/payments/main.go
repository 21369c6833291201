// Payments is the sample consumer: an SQS queue of payments, each added to its account once.
package main

import (
	"cmp"
	"context"
	"log"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
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
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.HTTPClient = idemddb.HTTPClient() })
	accounts, errLedger := ledger.New(client, env.LedgerTable, &ledger.Options{Pause: env.Pause})

	store, errStore := idemddb.New(client, env.Table, "payments", nil)
	if err := cmp.Or(errEnv, errConfig, errLedger, errStore); err != nil {
		return nil, err //nolint:wrapcheck // says where it comes from
	}

	return lambdawrap.SQS(store, accounts.Pay, accounts.Options()), nil
}
