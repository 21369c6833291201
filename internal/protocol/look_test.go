package protocol_test

import (
	"maps"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// found is a record of the key "p" that another call has completed, within its retention.
func found(changed protocol.Item) protocol.Item {
	it := protocol.Item{
		"id": record.Text("p"), "v": record.Number(record.FormatVersion), "st": record.Text(record.Completed), "own": record.Text("another"),
		"fence": record.Number(7), "lease": record.Number(1), "ttl": record.Number(lookedAt.Add(time.Hour).Unix()),
	}
	maps.Copy(it, changed)

	return it
}

var lookedAt = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// What a read finds answers a write only if the write would be refused by it, now and later.
func TestWhichRecordsEndAWriteThatIsNotSent(t *testing.T) {
	t.Parallel()

	records := protocol.NewTable(protocol.Config{Table: "records", PartitionKey: "id", TTLAttribute: "ttl", Retention: time.Hour})
	try := protocol.Try{
		Claimant: &protocol.Claimant{Partition: "p", Token: "mine", Fingerprint: record.FingerprintOf("this input")}, Tx: "this call",
		Stamp: protocol.Stamp{Now: lookedAt, Lease: lookedAt},
	}
	held := &protocol.Held{Partition: "p", Token: "mine", Fence: 6}

	for name, c := range map[string]struct {
		item               protocol.Item
		commit, completion bool
	}{
		"completed by another call":       {found(nil), true, true},
		"completed, the same input":       {found(protocol.Item{"fp": record.Text(record.FingerprintOf("this input"))}), true, true},
		"completed, another input":        {found(protocol.Item{"fp": record.Text(record.FingerprintOf("another"))}), false, true},
		"completed, past its retention":   {found(protocol.Item{"ttl": record.Number(lookedAt.Unix())}), false, true},
		"failed":                          {found(protocol.Item{"st": record.Text(record.Failed)}), true, true},
		"in progress":                     {found(protocol.Item{"st": record.Text(record.InProgress), "lease": record.Number(lookedAt.Add(time.Minute).UnixMilli())}), false, false},
		"its lease is over":               {found(protocol.Item{"st": record.Text(record.InProgress)}), false, false},
		"released":                        {found(protocol.Item{"st": record.Text(record.InProgress), "lease": record.Number(0)}), false, false},
		"an earlier try of the same call": {found(protocol.Item{"own": record.Text("mine"), "fence": record.Number(6), "tx": record.Text("this call")}), true, true},
		"another call of the same claim":  {found(protocol.Item{"own": record.Text("mine"), "fence": record.Number(6), "tx": record.Text("another")}), false, true},
		"the record of another key":       {found(protocol.Item{"id": record.Text("q")}), false, false},
		"another format":                  {found(protocol.Item{"v": record.Number(9)}), false, false},
		"nothing":                         {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := records.HasEnded(try, c.item); got != c.commit {
				t.Errorf("a commit has its answer: %t, want %t", got, c.commit)
			}

			if got := records.HasEndedSince(held, c.item); got != c.completion {
				t.Errorf("a completion has its answer: %t, want %t", got, c.completion)
			}
		})
	}
}
