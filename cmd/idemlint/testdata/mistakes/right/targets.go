package right

import (
	"context"

	"github.com/idemddb/go-idemddb/idemddb"
)

// 15. Senders with each target, and one that another process sends.
func withSenders(sender idemddb.Sender) (*idemddb.Store, error) {
	senders := map[string]idemddb.Sender{"receipts": sender}
	senders["audit"] = nil

	return idemddb.New(nil, "records", "payments", &idemddb.Options{Senders: senders})
}

// 16. Targets that are entries, or are known only when the program runs.
func announce(ctx context.Context, queue string) error {
	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts"}, {To: "audit"}, {To: queue}}})
}
