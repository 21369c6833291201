package idemddbtest

import (
	"maps"
	"slices"
)

// A source is what a Query or a Scan reads: a table, or one of its indexes.
type source struct {
	table *table
	index *index // nil: the table itself
}

func (db *DB) source(tableName, indexName *string, consistent *bool) (source, error) {
	t, err := db.table(tableName)
	if err != nil || indexName == nil {
		return source{table: t}, err
	}

	i := slices.IndexFunc(t.indexes, func(ix *index) bool { return ix.name == *indexName })

	switch {
	case i < 0:
		return source{}, invalid("The table does not have the specified index: %s", *indexName)
	case consistent != nil && *consistent:
		return source{}, invalid("Consistent reads are not supported on global secondary indexes")
	}

	return source{t, t.indexes[i]}, nil
}

// key is what a Query finds entries by.
func (s source) key() []keyAttribute {
	if s.index == nil {
		return s.table.key
	}

	return s.index.key
}

// position is what names one entry, as LastEvaluatedKey does: several items can have the same key of an index.
func (s source) position() []keyAttribute {
	if s.index == nil {
		return s.table.key
	}

	position := slices.Clone(s.index.key)

	for _, k := range s.table.key {
		if !slices.ContainsFunc(position, func(other keyAttribute) bool { return other.name == k.name }) {
			position = append(position, k)
		}
	}

	return position
}

// entries are those that the source has and that match, in the order of their positions. They belong to the table.
func (s source) entries(match func(item) bool) []item {
	items := s.table.items
	if s.index != nil && s.table.indexed != nil {
		items = s.table.indexed
	}

	var found []item

	for _, it := range items {
		entry := it
		if s.index != nil {
			entry = s.index.entry(it)
		}

		if entry != nil && match(entry) {
			found = append(found, entry)
		}
	}

	slices.SortFunc(found, s.compare)

	return found
}

func (s source) compare(a, b item) int {
	for _, k := range s.position() {
		if order, _ := compare(a[k.name], b[k.name]); order != 0 {
			return order
		}
	}

	return 0
}

// checkStart checks an ExclusiveStartKey and returns its adopted form. It need not be the position of an entry that is there.
func (s source) checkStart(in item) (item, error) {
	if in == nil {
		return nil, nil
	}

	start, err := adopt(in)
	if err != nil {
		return nil, err
	}

	for _, k := range s.position() {
		if typeOf(start[k.name]) != k.typ {
			return nil, errStart()
		}
	}

	if len(start) != len(s.position()) {
		return nil, errStart()
	}

	return start, nil
}

func errStart() error { return invalid("The provided starting key is invalid") }

// HoldIndexes lets the indexes of all tables stay as they are until release is called, however long that is: DynamoDB writes an index
// some time after its table, and promises no limit for that. Reads of the tables themselves see each write at once. A table that is
// made meanwhile is not affected. Indexes that are held already stay as they are, and any release lets go of all.
func (db *DB) HoldIndexes() (release func()) {
	db.mu.Lock()
	defer db.mu.Unlock()

	for _, t := range db.tables {
		if t.indexed == nil {
			t.indexed = maps.Clone(t.items)
		}
	}

	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()

		for _, t := range db.tables {
			t.indexed = nil
		}
	}
}
