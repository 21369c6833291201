package idemddbtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The contract as the test of another engine: one that a client reaches by AWS_ENDPOINT_URL_DYNAMODB. Run needs the test's own t, so
// the example only shows the function that a test file would hold.
func ExampleRun() {
	testContract := func(t *testing.T) { //nolint:thelper // it is the test
		cfg, err := config.LoadDefaultConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		client := dynamodb.NewFromConfig(cfg)

		idemddbtest.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) idemddbtest.Engine {
			t.Helper()

			if _, err := client.CreateTable(t.Context(), schema); err != nil {
				t.Fatal(err)
			}

			return client
		})
	}
	fmt.Printf("%T\n", testContract)
	// Output: func(*testing.T)
}

// An Engine is what the contract asks; both a client of the SDK and the in-memory DynamoDB are one.
func ExampleEngine() {
	engines := []idemddbtest.Engine{withTable(), withTable().Client()}
	for _, engine := range engines {
		out, err := engine.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: new("records"), Key: recordKey("p-1")})
		fmt.Println(len(out.Item), err)
	}
	// Output:
	// 0 <nil>
	// 0 <nil>
}
