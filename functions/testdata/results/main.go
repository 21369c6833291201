// Results keeps the large results of a function in S3, as docs/results.md shows.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/results"
)

type report struct {
	ID   string
	Rows []string
}

func build(_ context.Context, id string) (report, error) { return report{ID: id}, nil }

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	objects := s3.NewFromConfig(cfg)
	cfg.HTTPClient = idemddb.HTTPClient() // for the client of DynamoDB
	opts := &idemddb.Options{Results: results.S3(objects, os.Getenv("RESULTS_BUCKET"))}

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "reports", opts)
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(func(ctx context.Context, id string) (report, error) {
		return idemddb.Do(ctx, store, idemddb.TextKey(id), nil, func(ctx context.Context) (report, error) {
			return build(ctx, id)
		})
	})
}
