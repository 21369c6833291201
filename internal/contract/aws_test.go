//go:build aws

package contract_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/contract"
)

// The contract on DynamoDB itself, or on what AWS_ENDPOINT_URL names. `make aws` runs it in the user's own account. The names of
// its tables begin with IDEMDDB_ACCEPTANCE, and the test deletes them.
func TestContractOnAWS(t *testing.T) {
	prefix := os.Getenv("IDEMDDB_ACCEPTANCE")
	if prefix == "" {
		t.Fatal("IDEMDDB_ACCEPTANCE is not set: make aws sets it and runs this test")
	}

	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithLogger(logging.Nop{})) // DynamoDB Local's errors have no checksum, which the SDK would log
	if err != nil {
		t.Fatal(err)
	}

	cfg.HTTPClient = idemddb.HTTPClient()
	client := dynamodb.NewFromConfig(cfg)

	contract.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) contract.Engine {
		t.Helper()

		schema.TableName = aws.String(prefix + "-" + *schema.TableName)
		if _, err := client.CreateTable(t.Context(), schema); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() {
			if _, err := client.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: schema.TableName}); err != nil {
				t.Error(err)
			}
		})

		if err := dynamodb.NewTableExistsWaiter(client).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: schema.TableName}, 2*time.Minute); err != nil {
			t.Fatal(err)
		}

		return client
	})
}
