package idemddbtest

import (
	"maps"
	"slices"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
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
		return source{}, exception.Validation("The table does not have the specified index: %s", *indexName)
	case consistent != nil && *consistent:
		return source{}, exception.Validation("Consistent reads are not supported on global secondary indexes")
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
func (s source) entries(match func(attribute.Item) bool) []attribute.Item {
	items := s.table.items
	if s.index != nil && s.table.indexed != nil {
		items = s.table.indexed
	}

	var found []attribute.Item

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

func (s source) compare(a, b attribute.Item) int {
	for _, k := range s.position() {
		if order, _ := attribute.Compare(a[k.name], b[k.name]); order != 0 {
			return order
		}
	}

	return 0
}

// checkStart adopts an ExclusiveStartKey. There need not be an entry at that position.
func (s source) checkStart(in attribute.Item) (attribute.Item, error) {
	if in == nil {
		return nil, nil
	}

	start, err := attribute.Adopt(in)
	if err != nil {
		return nil, err
	}

	for _, k := range s.position() {
		if attribute.TypeOf(start[k.name]) != k.typ {
			return nil, errStart()
		}
	}

	if len(start) != len(s.position()) {
		return nil, errStart()
	}

	return start, nil
}

func errStart() error { return exception.Validation("The provided starting key is invalid") }

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
