// Relay sends the receipts that were not sent at once. A schedule calls it each minute. docs/outbox.md shows it.
package main

import (
	"context"
	"errors"
	"fmt"
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

// metrics is a line in CloudWatch's embedded metric format: CloudWatch makes metrics of it.
const metrics = `{"_aws":{"Timestamp":%d,"CloudWatchMetrics":[{"Namespace":"Payments","Dimensions":[[]],"Metrics":[` +
	`{"Name":"OldestUnsentSeconds","Unit":"Seconds"},{"Name":"Parked","Unit":"Count"}]}]},"OldestUnsentSeconds":%g,"Parked":%d}` + "\n"

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	cfg, err := config.LoadDefaultConfig(context.Background(), config.WithLogger(lambdawrap.SDKLogger(slog.Default())))
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTPClient = idemddb.HTTPClient() // keeps more connections open than the SDK's own client
	receipts := outbox.SQS(sqs.NewFromConfig(cfg), os.Getenv("RECEIPTS_QUEUE_URL"))
	client := dynamodb.NewFromConfig(cfg)
	store, err := idemddb.New(client, os.Getenv("TABLE_NAME"), "payments", &idemddb.Options{ // the namespace of the payments function
		Observe: func(ctx context.Context, e idemddb.Event) {
			if e.Kind == idemddb.KindParked {
				slog.ErrorContext(ctx, "a message is parked", "error", e.Err)
			}
		},
		Senders:     map[string]idemddb.Sender{"receipts": receipts},
		UnsentIndex: "unsent",
	})
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		sweeping, cancel := context.WithDeadline(ctx, deadline.Add(-4*time.Second)) // the record that it is at takes 2 s more
		defer cancel()

		report, err := outbox.Sweep(sweeping, store, client)
		if err != nil {
			slog.ErrorContext(ctx, "not all messages are sent", "left", report.Left, "error", fmt.Sprintf("%.4000v", err))
		}
		if report.Incomplete { // there may be older messages than it has seen
			return errors.New("the sweep is incomplete: the time was over, or a read failed")
		}
		fmt.Printf(metrics, time.Now().UnixMilli(), report.Oldest.Seconds(), report.Parked)
		return nil
	})
}
