package idemddb_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The HTTP client is set after the configuration is loaded.
func ExampleHTTPClient() {
	ctx := context.Background()
	_, aws := inMemory(nil)
	server := httptest.NewServer(aws.Handler()) // the connection to this DynamoDB is real
	defer server.Close()

	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion("eu-west-1"), config.WithBaseEndpoint(server.URL),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("id", "secret", "")),
		config.WithSharedConfigFiles(nil), config.WithSharedCredentialsFiles(nil))
	if err != nil {
		fmt.Println(err)

		return
	}

	cfg.HTTPClient = idemddb.HTTPClient()

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), "records", "payments", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	// Output:
	// charging 12.50
	// receipt 1
}
