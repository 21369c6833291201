// Func is a function that EventBridge invokes. docs/func.md shows it.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type result struct{ Receipt string }

func sendReceipt(_ context.Context, e events.EventBridgeEvent) (result, error) {
	log.Print("receipt for ", e.ID) // your work; an error brings the event back
	return result{Receipt: "r-" + e.ID}, nil
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTPClient = idemddb.HTTPClient()
	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "receipts", nil)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(lambdawrap.Func(store, sendReceipt, &lambdawrap.FuncOptions[events.EventBridgeEvent]{
		Key:     lambdawrap.EventBridgeID,
		Timeout: 5 * time.Second,
	}))
}
