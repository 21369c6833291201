package dbitem

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Identities returns a text for each item, which is the same for two writes of the same item. A Put does not say which of its attributes
// are the key: its text is empty if no other one of the items names the key of its table.
func Identities(items []types.TransactWriteItem) []string {
	keyNames := map[string][]string{} // by table

	for _, it := range items {
		for _, w := range writesOf(it) {
			if table := w.tableName(); it.Put == nil && keyNames[table] == nil {
				keyNames[table] = slices.Sorted(maps.Keys(*w.key))
			}
		}
	}

	ids := make([]string, len(items))

	for i, it := range items {
		for _, w := range writesOf(it) {
			ids[i] = w.identity(keyNames[w.tableName()])
		}
	}

	return ids
}

// identity writes the table and the attributes of the key. They have the types S, N and B.
func (w write) identity(keyNames []string) string {
	if keyNames == nil {
		return ""
	}

	text := []byte(w.tableName())

	for _, name := range keyNames {
		text = strconv.AppendQuote(append(text, '\n'), name)

		switch v := (*w.key)[name].(type) {
		case *types.AttributeValueMemberS:
			text = strconv.AppendQuote(append(text, ":S"...), v.Value)
		case *types.AttributeValueMemberN:
			text = strconv.AppendQuote(append(text, ":N"...), v.Value)
		case *types.AttributeValueMemberB:
			text = strconv.AppendQuote(append(text, ":B"...), string(v.Value))
		default: // no key: DynamoDB says so
			text = fmt.Appendf(text, ":%T%v", v, v)
		}
	}

	return string(text)
}

// tableName returns the name of the table, which an item gives by its name or its ARN. All tables of a transaction are in one account and
// Region.
func (w write) tableName() string {
	table := aws.ToString(*w.table)
	if _, name, ok := strings.Cut(table, ":table/"); ok {
		return name
	}

	return table
}
