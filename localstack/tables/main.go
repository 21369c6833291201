// Tables creates the two tables of the payments sample on a local engine: the records, with their TTL, and the ledger. On AWS
// template.yaml does that.
//
//	eval "$(localstack/dynamodb-local.sh up)"
//	go run ./localstack/tables -records records -ledger ledger
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/idemddb"
)

func main() {
	records := flag.String("records", "records", "the table of idempotency records, the function's TABLE_NAME")
	ledger := flag.String("ledger", "ledger", "the table of accounts, the function's LEDGER_TABLE")

	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if err := run(ctx, os.Stdout, *records, *ledger); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and its signals with it
	}
}

func run(ctx context.Context, out io.Writer, records, ledger string) error {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // DynamoDB Local's errors have no checksum, the SDK says so
	if err != nil {
		return fmt.Errorf("the SDK's configuration: %w", err)
	}

	client := dynamodb.NewFromConfig(cfg)
	if client.Options().BaseEndpoint == nil {
		return errors.New("AWS_ENDPOINT_URL_DYNAMODB: must name a local engine; on AWS, deploy template.yaml")
	}

	return errors.Join(
		create(ctx, client, out, records, "exp"),
		create(ctx, client, out, ledger, ""),
	)
}

// create makes a table with the key that records and accounts share, unless it is there. An expiry attribute is optional.
func create(ctx context.Context, client *dynamodb.Client, out io.Writer, table, expiry string) error {
	_, err := client.CreateTable(ctx, idemddb.Table(table))
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		fmt.Fprintf(out, "table %s is there\n", table)

		return nil
	}

	if err != nil {
		return fmt.Errorf("create table %s: %w", table, err)
	}

	if expiry != "" {
		_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName:               aws.String(table),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(expiry), Enabled: aws.Bool(true)},
		})
		if err != nil {
			return fmt.Errorf("time to live of table %s: %w", table, err)
		}
	}

	fmt.Fprintf(out, "table %s created\n", table)

	return nil
}
