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
	server := httptest.NewServer(aws.Handler()) // DynamoDB over a real connection
	defer server.Close()

	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion("eu-west-1"), config.WithBaseEndpoint(server.URL),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("id", "secret", "")),
		config.WithSharedConfigFiles(nil), config.WithSharedCredentialsFiles(nil))
	cfg.HTTPClient = idemddb.HTTPClient()
	store, errStore := idemddb.New(dynamodb.NewFromConfig(cfg), "records", "payments", nil)
	fmt.Println(err, errStore)

	fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
	// Output:
	// <nil> <nil>
	// charging 12.50
	// receipt 1 <nil>
}
