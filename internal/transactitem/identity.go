package transactitem

import (
	"fmt"
	"maps"
	"slices"
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

// identity writes the table and the attributes of the key. They have the types S, N and B, so that %q writes their values.
func (w write) identity(keyNames []string) string {
	if keyNames == nil {
		return ""
	}

	text := []string{w.tableName()}
	for _, name := range keyNames {
		value := (*w.key)[name]
		text = append(text, fmt.Sprintf("%q:%T%q", name, value, value))
	}

	return strings.Join(text, "\n")
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
