package idemddbtest

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

// Change is what a request or Time to Live has done to one item, as a stream with NEW_AND_OLD_IMAGES has it.
type Change struct {
	Table         string                          // its name
	Before, After map[string]types.AttributeValue // copies; nil where there was or is no item
	Time          time.Time                       // by Options.Now
	ByTimeToLive  bool                            // Expire has deleted the item
}

// OnChange sets the function that is called for each change of an item; nil removes it. As in a stream of DynamoDB, a write that
// leaves the item as it was is no change, and the changes of one item come in their order. The parts of a transaction are one
// change each.
//
// The DB calls see while it applies the request, so no change is ever late. see must not call the DB.
//
// Package [github.com/idemddb/go-idemddb/idemddb/audit] judges such changes.
func (db *DB) OnChange(see func(Change)) {
	db.mu.Lock()
	defer db.mu.Unlock()

	db.onChange = see
}

// store replaces an item, and reports the change. A nil item deletes it.
func (db *DB) store(t *storage.Table, id string, after attribute.Item, byTimeToLive bool) {
	before, changed := t.Store(id, after)
	if db.onChange == nil || !changed {
		return
	}

	db.onChange(Change{
		Table: t.Name, Before: attribute.CopyItem(before), After: attribute.CopyItem(after), Time: db.now(), ByTimeToLive: byTimeToLive,
	})
}
