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
)

// engine is a DynamoDB for the length of the story, behind the SDK's own client either way.
type engine struct {
	name    string
	client  *dynamodb.Client
	records string // the tables' names; a running engine may have others from earlier runs
	ledger  string
	stop    func() error
}

// open starts the engine that ENGINE asks for and makes the two tables on it.
func open(ctx context.Context, name string) (*engine, error) {
	e := &engine{stop: func() error { return nil }}

	switch name {
	case "", "memory":
		e.name, e.client = "in memory", idemddbtest.New(nil).Client()
	case "dynamodb-local":
		endpoint := os.Getenv("DYNAMODB_LOCAL_ENDPOINT")
		if endpoint == "" {
			var err error
			if endpoint, e.stop, err = dynamodblocal.Start(ctx, ".", os.Stderr); err != nil {
				return nil, err //nolint:wrapcheck // says where it comes from
			}
		}

		e.name, e.client = "DynamoDB Local", localClient(endpoint)
	default:
		return nil, fmt.Errorf("ENGINE: must be memory or dynamodb-local, is %q", name)
	}

	run := rand.Text()
	e.records, e.ledger = "demo-records-"+run, "demo-ledger-"+run

	for _, table := range []string{e.records, e.ledger} {
		if _, err := e.client.CreateTable(ctx, idemddb.Table(table)); err != nil {
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
