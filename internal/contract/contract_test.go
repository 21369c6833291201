package contract_test

import (
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/contract"
	"github.com/idemddb/go-idemddb/internal/realengine"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }

func TestContractInMemory(t *testing.T) {
	t.Parallel()

	contract.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) contract.Engine {
		t.Helper()

		return inMemory(t, schema)
	})
}

func TestContractOverTheWire(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("the same cases run in memory; the whole run has them over HTTP, too")
	}

	contract.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) contract.Engine {
		t.Helper()

		db := inMemory(t, schema)

		return wire{db.Client(), db}
	})
}

// wire is a client of an engine whose changes are judged, too.
type wire struct {
	*dynamodb.Client

	db *idemddbtest.DB
}

func (w wire) OnChange(see func(idemddbtest.Change)) { w.db.OnChange(see) }

func TestContractOnDynamoDBLocal(t *testing.T) {
	t.Parallel()
	contract.Run(t, func(t *testing.T, schema *dynamodb.CreateTableInput) contract.Engine {
		t.Helper()

		client := realengine.Client(t)
		if _, err := client.CreateTable(t.Context(), schema); err != nil {
			t.Fatal(err)
		}

		return client
	})
}

// inMemory returns an in-memory engine with one table.
func inMemory(t *testing.T, schema *dynamodb.CreateTableInput) *idemddbtest.DB {
	t.Helper()

	db := audited.Tables(t, nil, schema)

	return db
}
