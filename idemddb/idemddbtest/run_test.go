package idemddbtest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestContractInMemory(t *testing.T) {
	t.Parallel()

	idemddbtest.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) idemddbtest.Engine {
		t.Helper()

		return inMemory(t, schema)
	})
}

func TestContractOverTheWire(t *testing.T) {
	t.Parallel()

	idemddbtest.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) idemddbtest.Engine {
		t.Helper()

		return inMemory(t, schema).Client()
	})
}

func TestContractOnDynamoDBLocal(t *testing.T) {
	t.Parallel()

	idemddbtest.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) idemddbtest.Engine {
		t.Helper()

		client := realEngine(t)
		if _, err := client.CreateTable(t.Context(), schema); err != nil {
			t.Fatal(err)
		}

		return client
	})
}

// inMemory returns an in-memory engine with one table.
func inMemory(t *testing.T, schema *dynamodb.CreateTableInput) *idemddbtest.DB {
	t.Helper()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), schema); err != nil {
		t.Fatal(err)
	}

	return db
}
