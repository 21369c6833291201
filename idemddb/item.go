package idemddb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/clone"
)

// This file holds what the library must know of the caller's items, which are written with a completion: their keys, their sizes, and
// how to copy them. Beside the sizes stands the check that a record and its effects fit into an item and a transaction.

// keyOf returns the table and the key that an item of a transaction names; nil for a Put, which names none.
func keyOf(it types.TransactWriteItem) (table string, key item) {
	f, ok := fieldsOf(it)
	if !ok {
		return "", nil
	}

	if it.Put == nil {
		key = *f.key
	}

	return tableName(aws.ToString(*f.table)), key
}

// tableName is the name of a table that is given by its name or its ARN. All tables of a transaction are in one account and Region.
func tableName(table string) string {
	if _, name, ok := strings.Cut(table, ":table/"); ok {
		return name
	}

	return table
}

// identify returns a text that is the same for the same item. It returns false for a Put into a table whose key names are not known.
func identify(it types.TransactWriteItem, table string, keyNames []string) (string, bool) {
	_, key := keyOf(it)

	if it.Put != nil {
		if keyNames == nil {
			return "", false
		}

		key = item{}
		for _, name := range keyNames {
			key[name] = it.Put.Item[name]
		}
	}

	return table + "\n" + itemText(key), true
}

func names(it item) []string { return slices.Sorted(maps.Keys(it)) }

// itemText writes the key attributes of an item, of type S, N or B, so that equal keys have one text.
func itemText(key item) string {
	var text strings.Builder

	for _, name := range names(key) {
		switch v := key[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&text, "%q:S%q;", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&text, "%q:N%q;", name, v.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&text, "%q:B%q;", name, v.Value)
		default:
			fmt.Fprintf(&text, "%q:%v;", name, v)
		}
	}

	return text.String()
}

// checkItem returns an error for what DynamoDB would refuse of an item.
func checkItem(it types.TransactWriteItem) error {
	kinds := kindsOf(it)
	table, key := keyOf(it)
	size := sentSize(it)

	switch {
	case kinds != 1:
		return fmt.Errorf("it must be one of Put, Update, Delete and ConditionCheck, is %d of them", kinds)
	case table == "":
		return errors.New("its TableName is empty")
	case it.Put == nil && len(key) == 0, it.Put != nil && len(it.Put.Item) == 0:
		return errors.New("its key is empty")
	case size > maxItemSize:
		return fmt.Errorf("it has %d bytes, an item holds %d", size, maxItemSize)
	default:
		return nil
	}
}

// kindsOf returns how many kinds of write an item names. DynamoDB takes exactly one.
func kindsOf(it types.TransactWriteItem) int {
	kinds := 0
	for _, is := range []bool{it.Put != nil, it.Update != nil, it.Delete != nil, it.ConditionCheck != nil} {
		if is {
			kinds++
		}
	}

	return kinds
}

// sentSize is about how many bytes of an item are sent.
func sentSize(it types.TransactWriteItem) int {
	_, key := keyOf(it)

	switch {
	case it.Put != nil:
		return itemSize(it.Put.Item)
	case it.Update != nil:
		return itemSize(key) + itemSize(it.Update.ExpressionAttributeValues)
	default:
		return itemSize(key)
	}
}

func itemSize(it item) int {
	size := 0
	for name, v := range it {
		size += len(name) + valueSize(v)
	}

	return size
}

func valueSize(v types.AttributeValue) int {
	const container = 3 // bytes of a list or a map, and of each of its elements about 1

	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 1 //nolint:mnd // two digits a byte
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return container + itemSize(v.Value) + len(v.Value)
	case *types.AttributeValueMemberL:
		size := container
		for _, element := range v.Value {
			size += valueSize(element) + 1
		}

		return size
	case *types.AttributeValueMemberSS:
		return len(strings.Join(v.Value, ""))
	case *types.AttributeValueMemberNS:
		return len(strings.Join(v.Value, ""))
	case *types.AttributeValueMemberBS:
		return len(bytes.Join(v.Value, nil))
	default:
		return 1
	}
}

// copyItems returns items that share nothing with the caller's. Each asks for the old item if its condition is false.
func copyItems(items []types.TransactWriteItem) []types.TransactWriteItem {
	copies := make([]types.TransactWriteItem, len(items))

	for i, it := range items {
		it = types.TransactWriteItem{
			Put: copied(it.Put), Update: copied(it.Update), Delete: copied(it.Delete), ConditionCheck: copied(it.ConditionCheck),
		}
		if it.Update != nil {
			it.Update.UpdateExpression = copied(it.Update.UpdateExpression)
		}

		if f, ok := fieldsOf(it); ok {
			*f.table, *f.condition = copied(*f.table), copied(*f.condition)
			*f.key, *f.names, *f.values = clone.Item(*f.key), maps.Clone(*f.names), clone.Item(*f.values)
			*f.onRefusal = types.ReturnValuesOnConditionCheckFailureAllOld
		}

		copies[i] = it
	}

	return copies
}

func copied[T any](from *T) *T {
	if from == nil {
		return nil
	}

	return new(*from)
}

// fields are those that all kinds of items of a transaction have.
type fields struct {
	table, condition **string
	key, values      *item // of a Put, key is the whole item
	names            *map[string]string
	onRefusal        *types.ReturnValuesOnConditionCheckFailure
}

// fieldsOf returns false if the item is of no kind.
func fieldsOf(it types.TransactWriteItem) (fields, bool) {
	switch p, u, d, c := it.Put, it.Update, it.Delete, it.ConditionCheck; {
	case p != nil:
		return fields{
			&p.TableName, &p.ConditionExpression, &p.Item, &p.ExpressionAttributeValues,
			&p.ExpressionAttributeNames, &p.ReturnValuesOnConditionCheckFailure,
		}, true
	case u != nil:
		return fields{
			&u.TableName, &u.ConditionExpression, &u.Key, &u.ExpressionAttributeValues,
			&u.ExpressionAttributeNames, &u.ReturnValuesOnConditionCheckFailure,
		}, true
	case d != nil:
		return fields{
			&d.TableName, &d.ConditionExpression, &d.Key, &d.ExpressionAttributeValues,
			&d.ExpressionAttributeNames, &d.ReturnValuesOnConditionCheckFailure,
		}, true
	case c != nil:
		return fields{
			&c.TableName, &c.ConditionExpression, &c.Key, &c.ExpressionAttributeValues,
			&c.ExpressionAttributeNames, &c.ReturnValuesOnConditionCheckFailure,
		}, true
	default:
		return fields{}, false
	}
}

// Bounds for measuring a record before it is written. DynamoDB counts the names and the values of attributes, and a number as about one
// byte for two digits.
const (
	maxNumberSize  = 12  // of a number with 20 digits
	recordNumbers  = 10  // attributes of a record that are numbers
	maxToken       = 128 // an owner token and a tx
	maxFingerprint = 64
)

// checkSize returns ErrTooLarge if the record with this result and these messages would not fit into an item, or not into a transaction
// with these effects.
func (s *Store) checkSize(partition string, result types.AttributeValue, e Effects) error {
	size := len(s.opts.PartitionKey) + len(partition) + len(s.opts.SortKey) + len(sortKeyValue) + len(s.opts.TTLAttribute) +
		maxToken + len(stateInProgress) + maxFingerprint + recordNumbers*maxNumberSize + valueSize(result) + messagesSize(e.Messages)

	if s.opts.Trace != nil {
		size += 2 * maxTrace //nolint:mnd // trace and ptrace
	}

	for _, name := range attributeNames {
		size += len(name)
	}

	if size > maxItemSize {
		return fmt.Errorf("%w: the record would have %d bytes, an item holds %d", ErrTooLarge, size, maxItemSize)
	}

	if size += e.size() - messagesSize(e.Messages); size > maxTransaction {
		return fmt.Errorf("%w: the transaction would have %d bytes, it takes %d", ErrTooLarge, size, maxTransaction)
	}

	return nil
}
