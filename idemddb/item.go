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
)

// What the library must know of the caller's items: their keys, their sizes, and how to copy them.

// keyOf returns the table and the key that an item of a transaction names; nil for a Put, which names none.
func keyOf(it types.TransactWriteItem) (table string, key item) {
	var name *string

	switch {
	case it.Update != nil:
		name, key = it.Update.TableName, it.Update.Key
	case it.Delete != nil:
		name, key = it.Delete.TableName, it.Delete.Key
	case it.ConditionCheck != nil:
		name, key = it.ConditionCheck.TableName, it.ConditionCheck.Key
	case it.Put != nil:
		name = it.Put.TableName
	}

	return tableName(aws.ToString(name)), key
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
	kinds := 0
	for _, is := range []bool{it.Put != nil, it.Update != nil, it.Delete != nil, it.ConditionCheck != nil} {
		if is {
			kinds++
		}
	}

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
		switch {
		case it.Put != nil:
			c := *it.Put
			c.Item = copyMap(c.Item)
			unshare(&c.TableName, &c.ConditionExpression, nil, &c.ExpressionAttributeNames, &c.ExpressionAttributeValues)
			c.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
			it.Put = &c
		case it.Update != nil:
			c := *it.Update
			c.Key = copyMap(c.Key)
			unshare(&c.TableName, &c.ConditionExpression, &c.UpdateExpression, &c.ExpressionAttributeNames, &c.ExpressionAttributeValues)
			c.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
			it.Update = &c
		case it.Delete != nil:
			c := *it.Delete
			c.Key = copyMap(c.Key)
			unshare(&c.TableName, &c.ConditionExpression, nil, &c.ExpressionAttributeNames, &c.ExpressionAttributeValues)
			c.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
			it.Delete = &c
		case it.ConditionCheck != nil:
			c := *it.ConditionCheck
			c.Key = copyMap(c.Key)
			unshare(&c.TableName, &c.ConditionExpression, nil, &c.ExpressionAttributeNames, &c.ExpressionAttributeValues)
			c.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
			it.ConditionCheck = &c
		}

		copies[i] = it
	}

	return copies
}

// unshare replaces what the fields of a copied item still share with the original.
func unshare(table, condition, update **string, names *map[string]string, values *map[string]types.AttributeValue) {
	for _, text := range []**string{table, condition, update} {
		if text != nil && *text != nil {
			*text = new(**text)
		}
	}

	*names, *values = maps.Clone(*names), copyMap(*values)
}

func copyMap(from item) item {
	if from == nil {
		return nil
	}

	to := make(item, len(from))
	for name, v := range from {
		to[name] = copyValue(v)
	}

	return to
}

func copyValue(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: bytes.Clone(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: copyMap(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]types.AttributeValue, len(v.Value))
		for i, element := range v.Value {
			list[i] = copyValue(element)
		}

		return &types.AttributeValueMemberL{Value: list}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		list := make([][]byte, len(v.Value))
		for i, element := range v.Value {
			list[i] = bytes.Clone(element)
		}

		return &types.AttributeValueMemberBS{Value: list}
	case *types.AttributeValueMemberNULL:
		return &types.AttributeValueMemberNULL{Value: v.Value}
	default:
		return v // what the SDK does not know
	}
}
