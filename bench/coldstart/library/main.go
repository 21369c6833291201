// Library is a Lambda function with the library, for the benchmark's cold starts and binary sizes.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err) //nolint:forbidigo // a program that cannot start says why and ends
	}

	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.HTTPClient = idemddb.HTTPClient() })

	store, err := idemddb.New(client, os.Getenv("TABLE_NAME"), "bench", nil)
	if err != nil {
		log.Fatal(err) //nolint:forbidigo // as above
	}

	lambda.Start(lambdawrap.SQS(store, work, nil))
}

func work(context.Context, events.SQSMessage) error { return nil }
