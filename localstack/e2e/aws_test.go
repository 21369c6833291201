//go:build aws

package e2e_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// The scenarios that need nothing but the deployed stack. `make aws` runs them in the user's own account, on the stack that
// IDEMDDB_ACCEPTANCE names.
func TestOnAWS(t *testing.T) {
	stack := os.Getenv("IDEMDDB_ACCEPTANCE")
	if stack == "" {
		t.Fatal("IDEMDDB_ACCEPTANCE is not set: make aws sets it and runs this test")
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	p, err := pipeline.Open(ctx, os.Getenv("SAM"), stack)
	if err != nil {
		t.Fatal(err)
	}

	watch(t, p.DynamoDB, p.RecordTableName)

	t.Run("200 payments, each sent twice, are counted once", func(t *testing.T) { testLoad(t, p, nil) })
	t.Run("a payment that is posted twice is accepted once", func(t *testing.T) { testAPI(t, p) })
	t.Run("poison becomes a dead letter, and a redrive mends what was mended", func(t *testing.T) { testPoison(t, p) })
	t.Run("each change of each record is one that the page of the record allows", testAudit)
}
