package storage

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
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

// Key is the key of a table or of an index: the attribute of the partition key and, if there is one, that of the sort key.
type Key []keyAttribute

// newKey returns the key of a table or of an index.
func newKey(attributes []types.AttributeDefinition, elements []types.KeySchemaElement) (Key, error) {
	defined := map[string]types.ScalarAttributeType{}
	for _, a := range attributes {
		defined[*a.AttributeName] = a.AttributeType
	}

	var key Key

	for i, e := range elements {
		k := keyAttribute{name: *e.AttributeName, typ: string(defined[*e.AttributeName]), max: maxPartitionKey}

		want := types.KeyTypeHash
		if i == 1 {
			want, k.max = types.KeyTypeRange, maxSortKey
		}

		if e.KeyType != want || i > 1 || !slices.Contains([]string{"S", "N", "B"}, k.typ) {
			return nil, exception.Validation("One or more parameter values were invalid: the key schema is not valid")
		}

		key = append(key, k)
	}

	if len(key) == 0 || len(key) == 2 && key[0].name == key[1].name {
		return nil, exception.Validation("One or more parameter values were invalid: the key schema is not valid")
	}

	return key, nil
}

// Adopt adopts the key of a request, which must have the key attributes and no others. It does not check their types, see
// CheckTypes.
func (k Key) Adopt(in attribute.Item) (attribute.Item, error) {
	if len(in) != len(k) {
		return nil, exception.Validation("The number of conditions on the keys is invalid")
	}

	key, err := attribute.Adopt(in)
	if err != nil {
		return nil, err
	}

	return key, k.check(key)
}

// CheckTypes checks the types of the key attributes. It is not a part of check, because DynamoDB cancels a transaction for a
// key of the wrong type and names the item, but refuses the whole request for any other fault of a key.
func (k Key) CheckTypes(it attribute.Item) error {
	for _, a := range k {
		if attribute.TypeOf(it[a.name]) != a.typ {
			return exception.Validation("One or more parameter values were invalid: Type mismatch for key")
		}
	}

	return nil
}

// Part returns the key attributes of an item.
func (k Key) Part(it attribute.Item) attribute.Item {
	key := make(attribute.Item, len(k))
	for _, a := range k {
		if v, ok := it[a.name]; ok {
			key[a.name] = v
		}
	}

	return key
}

// ID identifies an item in its table. It begins with the length of the partition key, so that "a", "bc" and "ab", "c" differ.
func (k Key) ID(it attribute.Item) string {
	first := keyText(it[k[0].name])
	if len(k) == 1 {
		return first
	}

	return strconv.Itoa(len(first)) + ":" + first + keyText(it[k[1].name])
}

// Has reports whether the attribute with this name is a part of the key.
func (k Key) Has(name string) bool {
	for _, a := range k {
		if a.name == name {
			return true
		}
	}

	return false
}

// check checks that an item has the key attributes, and their sizes.
func (k Key) check(it attribute.Item) error {
	for _, a := range k {
		v, ok := it[a.name]
		if !ok {
			return exception.Validation("One of the required keys was not given a value")
		}

		switch n := len(keyText(v)); {
		case n == 0:
			return exception.Validation(
				"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", a.name,
			)
		case n > a.max:
			return exception.Validation("Hash primary key values must be under 2048 bytes, and range primary key values must be under 1024 bytes")
		}
	}

	return nil
}

// compare orders items by their partition keys, then by their sort keys.
func (k Key) compare(x, y attribute.Item) int {
	for _, a := range k {
		if order, _ := attribute.Compare(x[a.name], y[a.name]); order != 0 {
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

// TableName returns the name in a table's name or ARN.
func TableName(s *string) string {
	if s == nil {
		return ""
	}

	if strings.HasPrefix(*s, "arn:") {
		return (*s)[strings.LastIndexByte(*s, '/')+1:]
	}

	return *s
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`).MatchString

func errName() error {
	return exception.Validation("Invalid table/index name. Table/index names must be between 3 and 255 characters long, and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'")
}
