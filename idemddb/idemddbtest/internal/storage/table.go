// Package storage keeps the tables of package idemddbtest with their global secondary indexes, and does what one request asks of
// them: it evaluates writes, reads pages, and counts the units that both take from the partitions. It knows neither faults nor
// transactions in flight, and nothing in it waits.
package storage

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

// Table is a schema and the items, by the ids of their keys.
type Table struct {
	Name    string
	Key     Key
	input   *dynamodb.CreateTableInput // a copy; only its schema is read
	created time.Time
	TTL     string // attribute, "" when off
	Items   map[string]attribute.Item
	indexes []*index
	indexed map[string]attribute.Item // the items that the indexes show while they are held; nil: items
}

// Tables are all tables, by name.
type Tables map[string]*Table

// Find returns the table with a name or ARN.
func (ts Tables) Find(name *string) (*Table, error) {
	t, ok := ts[TableName(name)]
	if !ok {
		return nil, exception.TableNotFound()
	}

	return t, nil
}

// Create makes a table.
func (ts Tables) Create(in *dynamodb.CreateTableInput, now time.Time) (*Table, error) {
	name := TableName(in.TableName)
	if !validName(name) {
		return nil, errName()
	}

	if ts[name] != nil {
		return nil, &types.ResourceInUseException{Message: new("Cannot create preexisting table")}
	}

	key, err := newKey(in.AttributeDefinitions, in.KeySchema)
	if err != nil {
		return nil, err
	}

	indexes, err := indexesOf(in, key)
	if err != nil {
		return nil, err
	}

	if err := checkDefinitions(in, key, indexes); err != nil {
		return nil, err
	}

	copied := *in
	t := &Table{
		Name: name, Key: key, input: &copied, created: now, Items: map[string]attribute.Item{}, indexes: indexes,
	}

	copied.KeySchema = slices.Clone(in.KeySchema)
	copied.AttributeDefinitions = slices.Clone(in.AttributeDefinitions)
	copied.GlobalSecondaryIndexes = slices.Clone(in.GlobalSecondaryIndexes)
	ts[name] = t

	return t, nil
}

// checkDefinitions refuses attributes that belong to no key. It does not check a table with local indexes, whose keys are not
// kept.
func checkDefinitions(in *dynamodb.CreateTableInput, key Key, indexes []*index) error {
	used := map[string]bool{}
	for _, k := range key {
		used[k.name] = true
	}

	for _, ix := range indexes {
		for _, k := range ix.key {
			used[k.name] = true
		}
	}

	if len(used) != len(in.AttributeDefinitions) && in.LocalSecondaryIndexes == nil {
		return exception.Validation("The number of attributes in key schema must match the number of attributes defined in attribute definitions.")
	}

	return nil
}

// All returns copies of all items, in the order of their keys.
func (t *Table) All() []attribute.Item {
	all := make([]attribute.Item, 0, len(t.Items))
	for _, it := range t.Items {
		all = append(all, attribute.CopyItem(it))
	}

	slices.SortFunc(all, t.Key.compare)

	return all
}

// Store replaces an item, and returns the one before. It also returns whether the two differ. A nil item deletes it.
func (t *Table) Store(id string, after attribute.Item) (before attribute.Item, changed bool) {
	before = t.Items[id]

	if after == nil {
		delete(t.Items, id)
	} else {
		t.Items[id] = after
	}

	return before, (before == nil) != (after == nil) || !maps.EqualFunc(before, after, attribute.Equal)
}

// HoldIndexes keeps the indexes as they are, if they are not held already.
func (t *Table) HoldIndexes() {
	if t.indexed == nil {
		t.indexed = maps.Clone(t.Items)
	}
}

// ReleaseIndexes lets the indexes show the items again.
func (t *Table) ReleaseIndexes() { t.indexed = nil }

// checkDocuments refuses expressions that read in a key attribute of the table or of an index, because that is never a document.
func (t *Table) checkDocuments(b *expression.Binding) error {
	for _, name := range b.Documents {
		if t.Key.Has(name) || slices.ContainsFunc(t.indexes, func(ix *index) bool { return ix.key.Has(name) }) {
			return exception.Validation("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", name)
		}
	}

	return nil
}

func (t *Table) arn() string { return "arn:aws:dynamodb:us-east-1:000000000000:table/" + t.Name }
