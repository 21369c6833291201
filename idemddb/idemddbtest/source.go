package idemddbtest

import (
	"maps"
	"slices"
)

// source is what a Query or a Scan reads: a table, or one of its indexes.
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

// key returns the key by which a Query finds entries.
func (s source) key() []keyAttribute {
	if s.index == nil {
		return s.table.key
	}

	return s.index.key
}

// position returns the attributes of LastEvaluatedKey, which name one entry. For an index they include the table's key, because
// several items can have the same key of the index.
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

// entries returns the entries that match, in the order of their positions. They are not copies.
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

// checkStart adopts an ExclusiveStartKey. There need not be an entry at that position.
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

// HoldIndexes keeps the indexes of all tables as they are until release is called. DynamoDB writes an index some time after its
// table, and promises no limit for that time. Reads of the tables themselves show each write at once. The indexes of a table that
// is made later are not held. A second call does not change the indexes that are held already, and each release releases all
// indexes.
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
