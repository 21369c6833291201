// Relay sends the messages of the payments sample that were not sent at once. A schedule calls it each minute.
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
