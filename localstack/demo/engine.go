package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/localstack/dynamodblocal"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// engine is a DynamoDB with the two tables of the payments function. The pipeline reads them.
type engine struct {
	*pipeline.Pipeline

	name string
	stop func() error
}

// open starts the engine that the variable ENGINE names and creates both tables on it. An engine that runs already may have the
// tables of earlier demos, so the names are new each time.
func open(ctx context.Context, name string) (*engine, error) {
	e := &engine{stop: func() error { return nil }}

	var client *dynamodb.Client

	switch name {
	case "", "memory":
		e.name, client = "in memory", idemddbtest.New(nil).Client()
	case "dynamodb-local":
		endpoint := os.Getenv("DYNAMODB_LOCAL_ENDPOINT")
		if endpoint == "" {
			var err error
			if endpoint, e.stop, err = dynamodblocal.Start(ctx, ".", os.Stderr); err != nil {
				return nil, err
			}
		}

		e.name, client = "DynamoDB Local", localClient(endpoint)
	default:
		return nil, fmt.Errorf("ENGINE: must be memory or dynamodb-local, is %q", name)
	}

	id := rand.Text()
	names := pipeline.Names{RecordTableName: "demo-records-" + id, LedgerTableName: "demo-ledger-" + id}
	e.Pipeline = &pipeline.Pipeline{Names: names, DynamoDB: client}

	for _, table := range []*dynamodb.CreateTableInput{
		idemddbtest.CreateTable(names.RecordTableName, "unsent"), idemddbtest.CreateTable(names.LedgerTableName, ""),
	} {
		if _, err := client.CreateTable(ctx, table); err != nil {
			return nil, errors.Join(fmt.Errorf("create a table on %s: %w", e.name, err), e.stop())
		}
	}

	return e, nil
}

func localClient(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: &endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:   idemddb.HTTPClient(),
	})
}
