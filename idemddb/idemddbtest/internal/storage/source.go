package storage

import (
	"slices"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// Source is what a Query or a Scan reads: a table, or one of its indexes.
type Source struct {
	Table *Table
	index *index // nil: the table itself
}

// Source returns a table, or its index if the request names one.
func (ts Tables) Source(tableName, indexName *string, consistent *bool) (Source, error) {
	t, err := ts.Find(tableName)
	if err != nil || indexName == nil {
		return Source{Table: t}, err
	}

	i := slices.IndexFunc(t.indexes, func(ix *index) bool { return ix.name == *indexName })

	switch {
	case i < 0:
		return Source{}, exception.Validation("The table does not have the specified index: %s", *indexName)
	case consistent != nil && *consistent:
		return Source{}, exception.Validation("Consistent reads are not supported on global secondary indexes")
	}

	return Source{t, t.indexes[i]}, nil
}

// key returns the key by which a Query finds entries.
func (s Source) key() Key {
	if s.index == nil {
		return s.Table.Key
	}

	return s.index.key
}

// position returns the attributes of LastEvaluatedKey, which name one entry. For an index they include the table's key, because
// several items can have the same key of the index.
func (s Source) position() Key {
	if s.index == nil {
		return s.Table.Key
	}

	position := slices.Clone(s.index.key)

	for _, k := range s.Table.Key {
		if !position.Has(k.name) {
			position = append(position, k)
		}
	}

	return position
}

// entries returns the entries that match, in the order of their positions. They are not copies.
func (s Source) entries(match func(attribute.Item) bool) []attribute.Item {
	items := s.Table.Items
	if s.index != nil && s.Table.indexed != nil {
		items = s.Table.indexed
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

	slices.SortFunc(found, s.position().compare)

	return found
}

// checkStart adopts an ExclusiveStartKey. There need not be an entry at that position.
func (s Source) checkStart(in attribute.Item) (attribute.Item, error) {
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
