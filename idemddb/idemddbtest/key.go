package idemddbtest

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// keyAttribute is one part of a table's key.
type keyAttribute struct {
	name string
	typ  string
	max  int
}

// keyOf adopts the key of a request, which must have the key attributes and no others. It does not check their types, see
// checkTypes.
func (t *table) keyOf(in attribute.Item) (attribute.Item, error) {
	if len(in) != len(t.key) {
		return nil, exception.Validation("The number of conditions on the keys is invalid")
	}

	key, err := attribute.Adopt(in)
	if err != nil {
		return nil, err
	}

	return key, t.checkKey(key)
}

func (t *table) checkKey(it attribute.Item) error {
	for _, k := range t.key {
		v, ok := it[k.name]
		if !ok {
			return exception.Validation("One of the required keys was not given a value")
		}

		switch n := len(keyText(v)); {
		case n == 0:
			return exception.Validation("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", k.name)
		case n > k.max:
			return exception.Validation("Hash primary key values must be under 2048 bytes, and range primary key values must be under 1024 bytes")
		}
	}

	return nil
}

// checkTypes checks the types of the key attributes. It is not a part of checkKey, because DynamoDB cancels a transaction for a
// key of the wrong type and names the item, but refuses the whole request for any other fault of a key.
func (t *table) checkTypes(it attribute.Item) error {
	for _, k := range t.key {
		if attribute.TypeOf(it[k.name]) != k.typ {
			return exception.Validation("One or more parameter values were invalid: Type mismatch for key")
		}
	}

	return nil
}

// keyPart returns the key attributes of an item.
func (t *table) keyPart(it attribute.Item) attribute.Item {
	key := make(attribute.Item, len(t.key))
	for _, k := range t.key {
		if v, ok := it[k.name]; ok {
			key[k.name] = v
		}
	}

	return key
}

// id identifies an item in its table. It begins with the length of the partition key, so that "a", "bc" and "ab", "c" differ.
func (t *table) id(it attribute.Item) string {
	first := keyText(it[t.key[0].name])
	if len(t.key) == 1 {
		return first
	}

	return strconv.Itoa(len(first)) + ":" + first + keyText(it[t.key[1].name])
}

func (t *table) isKey(name string) bool {
	for _, k := range t.key {
		if k.name == name {
			return true
		}
	}

	return false
}

// compareKeys orders items by their partition keys, then by their sort keys.
func (t *table) compareKeys(a, b attribute.Item) int {
	for _, k := range t.key {
		if order, _ := attribute.Compare(a[k.name], b[k.name]); order != 0 {
			return order
		}
	}

	return 0
}

func keyText(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}

	return ""
}

// tableName returns the name in a table's name or ARN.
func tableName(s *string) string {
	if s == nil {
		return ""
	}

	return (*s)[strings.LastIndexByte(*s, '/')+1:]
}
