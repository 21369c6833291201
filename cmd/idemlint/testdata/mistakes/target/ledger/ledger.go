// Package ledger stages messages for other packages.
package ledger

import (
	"context"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Captured is the target of receipts.
const Captured = "captured"

// Pay stages a receipt.
func Pay(ctx context.Context, id string) error {
	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: Captured, Body: id}}})
}

// Refund stages a message to a target that the program of package target does not know, and it is not called there.
func Refund(ctx context.Context, id string) error {
	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "refunds", Body: id}}})
}
