// Library is a Lambda function on this library, as small as one can be. Bench/coldstart measures how it starts.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func main() {
	ctx := context.Background()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		end(err)
	}

	cfg.HTTPClient = idemddb.HTTPClient()
	client := dynamodb.NewFromConfig(cfg)

	store, err := idemddb.New(client, os.Getenv("TABLE_NAME"), "bench", nil)
	if err != nil {
		end(err)
	}

	if os.Getenv("WARM") != "" {
		idemddb.Warm(ctx, client)
	}

	lambda.Start(lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error { return nil }, nil))
}

func end(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
