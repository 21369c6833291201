package idemddbtest

// HoldIndexes keeps the indexes of all tables as they are until release is called. DynamoDB writes an index some time after its
// table, and promises no limit for that time. Reads of the tables themselves show each write at once. The indexes of a table that
// is made later are not held. A second call does not change the indexes that are held already, and each release releases all
// indexes.
func (db *DB) HoldIndexes() (release func()) {
	db.mu.Lock()
	defer db.mu.Unlock()

	for _, t := range db.tables {
		t.HoldIndexes()
	}

	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()

		for _, t := range db.tables {
			t.ReleaseIndexes()
		}
	}
}
