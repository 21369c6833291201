package idemddbtest

import (
	"slices"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

// InFlight returns the transactions that hold items and can be committed, in the order in which they began.
func (db *DB) InFlight() []*Transaction {
	db.mu.Lock()
	defer db.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(db.inFlight), func(tx *Transaction) bool { return tx.canceled != nil })
}

// holds reports whether a transaction in flight holds this item.
func (db *DB) holds(t *storage.Table, id string) bool {
	for _, tx := range db.inFlight {
		for i, w := range tx.writes {
			if !tx.committed[i] && w.Table == t && w.ID == id {
				return true
			}
		}
	}

	return false
}
