// Byhand is a Lambda function without the library, for the benchmark's cold starts and binary sizes.
package main

import (
	"context"
	"log"
	"os"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/bench/byhand"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err) //nolint:forbidigo // a program that cannot start says why and ends
	}

	workers, err := strconv.Atoi(os.Getenv("WORKERS"))
	if err != nil {
		log.Fatal(err) //nolint:forbidigo // as above
	}

	lambda.Start(byhand.SQS(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), work, &byhand.Options{Workers: workers}))
}

func work(context.Context, events.SQSMessage) error { return nil }
