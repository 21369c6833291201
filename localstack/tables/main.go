// Tables creates the two tables of the payments sample on a local engine: the records, with their TTL and their index, and the
// ledger. On AWS template.yaml does that.
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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
	"github.com/idemddb/go-idemddb/localstack/program"
)

func main() {
	records := flag.String("records", "records", "the table of idempotency records, the function's TABLE_NAME")
	ledger := flag.String("ledger", "ledger", "the table of accounts, the function's LEDGER_TABLE")

	flag.Parse()

	program.Main("tables", func(ctx context.Context) error { return run(ctx, os.Stdout, *records, *ledger) })
}

func run(ctx context.Context, out io.Writer, records, ledger string) error {
	p, err := pipeline.New(ctx, pipeline.Names{RecordTableName: records, LedgerTableName: ledger})
	if err != nil {
		return err
	}

	if p.DynamoDB.Options().BaseEndpoint == nil {
		return errors.New("AWS_ENDPOINT_URL_DYNAMODB: must name a local engine; on AWS, deploy template.yaml")
	}

	e := engine{client: p.DynamoDB, out: out}

	return errors.Join(e.create(ctx, idemddbtest.CreateTable(records, "unsent"), "exp"), e.create(ctx, idemddbtest.CreateTable(ledger, ""), ""))
}

// engine is where the tables are created; out says what was done.
type engine struct {
	client *dynamodb.Client
	out    io.Writer
}

// create makes a table, unless it exists. An empty ttlAttribute means that items do not expire.
func (e engine) create(ctx context.Context, schema *dynamodb.CreateTableInput, ttlAttribute string) error {
	table := *schema.TableName

	_, err := e.client.CreateTable(ctx, schema)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		fmt.Fprintf(e.out, "table %s is there\n", table)

		return nil
	}

	if err != nil {
		return fmt.Errorf("create table %s: %w", table, err)
	}

	if ttlAttribute != "" {
		_, err = e.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName:               aws.String(table),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(ttlAttribute), Enabled: aws.Bool(true)},
		})
		if err != nil {
			return fmt.Errorf("time to live of table %s: %w", table, err)
		}
	}

	fmt.Fprintf(e.out, "table %s created\n", table)

	return nil
}
