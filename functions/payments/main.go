// Payments is the sample consumer: an SQS queue of payments, each added to its account once.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	handler, err := wire(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(handler)
}
