package main

import "context"
import "log"
import "github.com/aws/aws-lambda-go/lambda"
import "github.com/aws/aws-sdk-go-v2/config"
import "github.com/aws/aws-sdk-go-v2/service/dynamodb"
import "github.com/idemddb/go-idemddb/idemddb"
import "github.com/idemddb/go-idemddb/lambdawrap"

func pay(_ context.Context, p map[string]any) error { log.Print("paying ", p["id"]); return nil }
func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	cfg.HTTPClient = idemddb.HTTPClient() // fewer writes and lost connections than the SDK's own
	store, errStore := idemddb.New(dynamodb.NewFromConfig(cfg), "records", "payments", nil)
	if err != nil || errStore != nil {
		log.Fatal(err, errStore)
	}
	lambda.Start(lambdawrap.SQS(store, lambdawrap.JSON(pay), nil)) // each message once
}
