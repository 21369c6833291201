package storage

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// index is a global secondary index. It has an entry for each item that has all of its key attributes.
type index struct {
	name      string
	key       Key
	all       bool     // the projection is ALL
	projected []string // the attributes of an entry, if it is not: the keys of the index and of the table, and those of an INCLUDE
}

func indexesOf(in *dynamodb.CreateTableInput, tableKey Key) ([]*index, error) {
	if in.GlobalSecondaryIndexes != nil && len(in.GlobalSecondaryIndexes) == 0 {
		return nil, exception.Validation("One or more parameter values were invalid: List of GlobalSecondaryIndexes is empty")
	}

	indexes := make([]*index, 0, len(in.GlobalSecondaryIndexes))

	for _, definition := range in.GlobalSecondaryIndexes {
		ix := &index{name: aws.ToString(definition.IndexName)}
		if !validName(ix.name) {
			return nil, errName()
		}

		if slices.ContainsFunc(indexes, func(other *index) bool { return other.name == ix.name }) {
			return nil, exception.Validation("One or more parameter values were invalid: Duplicate index name: %s", ix.name)
		}

		var err error
		if ix.key, err = newKey(in.AttributeDefinitions, definition.KeySchema); err != nil {
			return nil, err
		}

		if err := ix.project(definition.Projection, tableKey); err != nil {
			return nil, err
		}

		indexes = append(indexes, ix)
	}

	return indexes, nil
}

var projectionTypes = []types.ProjectionType{types.ProjectionTypeAll, types.ProjectionTypeKeysOnly, types.ProjectionTypeInclude}

func (ix *index) project(p *types.Projection, tableKey Key) error {
	if p == nil || !slices.Contains(projectionTypes, p.ProjectionType) {
		return exception.Validation("One or more parameter values were invalid: Unknown ProjectionType")
	}

	if includes := p.ProjectionType == types.ProjectionTypeInclude; includes != (len(p.NonKeyAttributes) > 0) {
		return exception.Validation("One or more parameter values were invalid: NonKeyAttributes are those of an INCLUDE")
	}

	ix.all = p.ProjectionType == types.ProjectionTypeAll
	ix.projected = slices.Clone(p.NonKeyAttributes)

	for _, k := range slices.Concat(ix.key, tableKey) {
		ix.projected = append(ix.projected, k.name)
	}

	return nil
}

// entry returns what the index has of an item, nil if the item lacks a key attribute of the index.
func (ix *index) entry(it attribute.Item) attribute.Item {
	for _, k := range ix.key {
		if it[k.name] == nil {
			return nil
		}
	}

	if ix.all {
		return it
	}

	entry := make(attribute.Item, len(ix.projected))

	for _, name := range ix.projected {
		if v, ok := it[name]; ok {
			entry[name] = v
		}
	}

	return entry
}

// units returns the price of a write in the index. A change of the index's key is a deletion and a write of an entry.
func (ix *index) units(before, after attribute.Item) int {
	old, changed := ix.entry(before), ix.entry(after)

	switch {
	case old == nil && changed == nil:
		return 0
	case old == nil:
		return writeUnits(changed)
	case changed == nil:
		return writeUnits(old)
	case !ix.sameKey(old, changed):
		return writeUnits(old) + writeUnits(changed)
	case attribute.Equal(&types.AttributeValueMemberM{Value: old}, &types.AttributeValueMemberM{Value: changed}):
		return 0
	}

	return max(writeUnits(old), writeUnits(changed))
}

func (ix *index) sameKey(a, b attribute.Item) bool {
	return !slices.ContainsFunc(ix.key, func(k keyAttribute) bool { return !attribute.Equal(a[k.name], b[k.name]) })
}

// checkTypes checks the key attributes that an item has. It does so also for an item that lacks one, and is therefore not in the
// index.
func (ix *index) checkTypes(it attribute.Item) error {
	for _, k := range ix.key {
		if v := it[k.name]; v != nil && attribute.TypeOf(v) != k.typ {
			return exception.Validation("One or more parameter values were invalid: Type mismatch for Index Key")
		}
	}

	return nil
}

func (ix *index) checkSizes(it attribute.Item) error {
	for _, k := range ix.key {
		switch n := len(keyText(it[k.name])); {
		case it[k.name] == nil:
		case n == 0:
			return exception.Validation(
				"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s",
				ix.name, k.name,
			)
		case n > k.max:
			return exception.Validation("One or more parameter values were invalid: Size limit exceeded")
		}
	}

	return nil
}
