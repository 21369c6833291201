// Package target stages messages to targets without an entry.
package target

import (
	"context"

	"example.com/shop/target/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
)

func open(sender idemddb.Sender) (*idemddb.Store, error) {
	senders := map[string]idemddb.Sender{"receipts": sender} // want `these Senders have no entry "captured", which a message of the work names \(ledger.go:\d+\)`
	senders["audit"] = nil

	return idemddb.New(nil, "records", "payments", &idemddb.Options{Senders: senders})
}

func stage(ctx context.Context, id string) error {
	receipt := idemddb.Message{Body: id}
	receipt.To = "reciepts" // want `no entry of Senders has the target "reciepts", so Stage refuses the message; the entries are "audit", "receipts"`

	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{
		receipt,
		{To: "audit", Body: id},
		{To: "mail", Body: id}, // want `no entry of Senders has the target "mail"`
	}})
}

func pay(ctx context.Context, id string) error { return ledger.Pay(ctx, id) }
