package idemddbtest

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// A keyAttribute is one part of a table's key.
type keyAttribute struct {
	name string
	typ  string
	max  int
}

// keyOf checks the key of a request, which names exactly the key attributes, and returns its adopted form. It leaves the types to
// checkTypes.
func (t *table) keyOf(in item) (item, error) {
	if len(in) != len(t.key) {
		return nil, invalid("The number of conditions on the keys is invalid")
	}
	key, err := adopt(in)
	if err != nil {
		return nil, err
	}
	return key, t.checkKey(key)
}

func (t *table) checkKey(it item) error {
	for _, k := range t.key {
		v, ok := it[k.name]
		if !ok {
			return invalid("One of the required keys was not given a value")
		}
		switch n := len(keyText(v)); {
		case n == 0:
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", k.name)
		case n > k.max:
			return invalid("Hash primary key values must be under 2048 bytes, and range primary key values must be under 1024 bytes")
		}
	}
	return nil
}

// checkTypes is apart from checkKey, because a transaction is canceled for a key of the wrong type, with a reason for that item, and
// refused as a whole for any other fault of a key.
func (t *table) checkTypes(it item) error {
	for _, k := range t.key {
		if typeOf(it[k.name]) != k.typ {
			return invalid("One or more parameter values were invalid: Type mismatch for key")
		}
	}
	return nil
}

// keyPart is the key alone, out of an item.
func (t *table) keyPart(it item) item {
	key := make(item, len(t.key))
	for _, k := range t.key {
		if v, ok := it[k.name]; ok {
			key[k.name] = v
		}
	}
	return key
}

// id names an item within its table. The length keeps "a","bc" and "ab","c" apart.
func (t *table) id(it item) string {
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

// compareKeys orders items by partition key, then by sort key.
func (t *table) compareKeys(a, b item) int {
	for _, k := range t.key {
		if order, _ := compare(a[k.name], b[k.name]); order != 0 {
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

// tableName takes a name or a table's ARN.
func tableName(s *string) string {
	if s == nil {
		return ""
	}
	return (*s)[strings.LastIndexByte(*s, '/')+1:]
}
