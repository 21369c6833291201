package main

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// retention is longer than the longest way to a redelivery: 4 days in the queue, the rest of 14 days as a dead letter, and, once
// that is sent back, 4 days more. template_test.go compares it with template.yaml.
const retention = 30 * 24 * time.Hour

// wire puts the function together from its environment: the ledger stages the effects of a payment, the wrapper commits them
// once, the sender announces the payment, and a line for each batch tells CloudWatch how it went.
func wire(ctx context.Context) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	env, errEnv := ledger.ReadEnv()
	logger := lambdacontext.NewLogger()
	cfg, errConfig := config.LoadDefaultConfig(ctx, config.WithLogger(lambdawrap.SDKLogger(logger)))
	cfg.HTTPClient = idemddb.HTTPClient()
	client := dynamodb.NewFromConfig(cfg)
	queues := sqs.NewFromConfig(cfg)
	accounts, errLedger := ledger.New(env.LedgerTable, &ledger.Options{Pause: env.Pause})
	name, version := cmp.Or(lambdacontext.FunctionName, "payments"), cmp.Or(lambdacontext.FunctionVersion, "none")
	metrics := lambdawrap.NewMetrics(os.Stdout, "Payments",
		map[string]string{"Function": name}, map[string]string{"Function": name, "Version": version})

	store, errStore := idemddb.New(client, env.Table, "payments", &idemddb.Options{
		Retention: retention, Observe: metrics.Observe,
		Senders: map[string]idemddb.Sender{ledger.Captured: outbox.SQS(queues, env.CapturedQueue)},
	})
	if err := cmp.Or(errEnv, errConfig, errLedger, errStore); err != nil {
		return nil, err //nolint:wrapcheck // says where it comes from
	}

	idemddb.Warm(ctx, client)

	opts := accounts.Options()
	opts.Logger = logger
	opts.Visibility = queues
	opts.Workers = env.Workers

	return lambdawrap.Measure(metrics, lambdawrap.SQS(store, accounts.Pay, opts)), nil
}
