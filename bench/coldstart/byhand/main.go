// Byhand is the function of bench/coldstart/library without this library.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/bench/handwritten"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	handle := func(context.Context, events.SQSMessage) error { return nil }
	lambda.Start(handwritten.SQS(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), handle, nil))
}
