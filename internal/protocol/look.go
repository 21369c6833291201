package protocol

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Look returns the statement that reads the record of a key.
//
// A record that is read can answer a write in place of the write's own condition, because the read is consistent: a write that
// had arrived at that moment would have been refused by this record, and would have shown it. That is so only of a record whose
// key has ended. Of any other record, and of none, a read proves nothing: it may be another one when the write arrives, so the
// write is sent, and its condition decides.
func (t *Table) Look(partition string) types.BatchStatementRequest {
	return types.BatchStatementRequest{Statement: &t.look.text, Parameters: parametersOf(t.look, partition, nil), ConsistentRead: new(true)}
}

// HasEnded reports whether an item answers a claim or a commit for good: it is the record of its key, which was completed or
// failed before, within its retention and for the same input. A record with the claimant's own token and id shows that an earlier
// try was applied.
func (t *Table) HasEnded(try Try, found Item) bool {
	if !t.isOf(try.Partition, found) {
		return false
	}

	switch t.ReadFound(try, found).Verdict {
	case Completed, Committed, Failed:
		return true
	default:
		return false
	}
}

// HasEndedSince reports whether an item shows that the key of a claim has ended since: it is the record of the key, and it is
// completed or failed. No such record has the fencing token of a claim that is held, now or later: one that an operator reopens
// has a higher one.
func (t *Table) HasEndedSince(h *Held, found Item) bool {
	if !t.isOf(h.Partition, found) {
		return false
	}

	rec, err := record.Read(found, t.TTLAttribute)

	return err == nil && rec.State != record.InProgress
}

// isOf reports whether an item has this key. The answer to a shared request could belong to another one of its statements.
func (t *Table) isOf(partition string, found Item) bool {
	return record.TextOf(found[t.PartitionKey]) == partition
}
