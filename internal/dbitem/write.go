package dbitem

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxSize is how many bytes an item holds.
const MaxSize = 400 << 10

// CheckWrite returns an error for what DynamoDB would refuse of an item, and for what the SDK would not even send: its error says
// nothing about the other items of a transaction.
func CheckWrite(it types.TransactWriteItem) error {
	all := writesOf(it)
	if len(all) != 1 {
		return fmt.Errorf("it must be one of Put, Update, Delete and ConditionCheck, is %d of them", len(all))
	}

	size := WriteSize(it)

	switch w := all[0]; {
	case w.tableName() == "":
		return errors.New("its TableName is empty")
	case len(*w.key) == 0 && it.Put != nil:
		return errors.New("its item is empty")
	case len(*w.key) == 0:
		return errors.New("its key is empty")
	case it.Update != nil && aws.ToString(it.Update.UpdateExpression) == "":
		return errors.New("its UpdateExpression is empty")
	case it.ConditionCheck != nil && aws.ToString(it.ConditionCheck.ConditionExpression) == "":
		return errors.New("its ConditionExpression is empty")
	case size > MaxSize:
		return fmt.Errorf("it has %d bytes, an item holds %d", size, MaxSize)
	default:
		return nil
	}
}

// write holds the fields that all kinds of writes have.
type write struct {
	table, condition **string
	key, values      *map[string]types.AttributeValue // of a Put, key is the whole item
	names            *map[string]string
	onRefusal        *types.ReturnValuesOnConditionCheckFailure
}

// writesOf returns the writes that an item names. DynamoDB takes exactly one.
func writesOf(it types.TransactWriteItem) []write {
	var all []write

	if p := it.Put; p != nil {
		all = append(all, write{
			&p.TableName, &p.ConditionExpression, &p.Item, &p.ExpressionAttributeValues,
			&p.ExpressionAttributeNames, &p.ReturnValuesOnConditionCheckFailure,
		})
	}

	if u := it.Update; u != nil {
		all = append(all, write{
			&u.TableName, &u.ConditionExpression, &u.Key, &u.ExpressionAttributeValues,
			&u.ExpressionAttributeNames, &u.ReturnValuesOnConditionCheckFailure,
		})
	}

	if d := it.Delete; d != nil {
		all = append(all, write{
			&d.TableName, &d.ConditionExpression, &d.Key, &d.ExpressionAttributeValues,
			&d.ExpressionAttributeNames, &d.ReturnValuesOnConditionCheckFailure,
		})
	}

	if c := it.ConditionCheck; c != nil {
		all = append(all, write{
			&c.TableName, &c.ConditionExpression, &c.Key, &c.ExpressionAttributeValues,
			&c.ExpressionAttributeNames, &c.ReturnValuesOnConditionCheckFailure,
		})
	}

	return all
}

// Identities returns a text for each item, which is the same for two writes of the same item. A Put does not say which of its
// attributes are the key: its text is empty if no other one of the items names the key of its table.
func Identities(items []types.TransactWriteItem) []string {
	keyNames := map[string][]string{} // by table

	for _, it := range items {
		for _, w := range writesOf(it) {
			if it.Put == nil {
				keyNames[w.tableName()] = slices.Sorted(maps.Keys(*w.key))
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

// identity writes the table and the values of the key, in the order of their names. They have the types S, N and B.
func (w write) identity(keyNames []string) string {
	if keyNames == nil {
		return ""
	}

	text := []byte(w.tableName())

	for _, name := range keyNames {
		switch v := (*w.key)[name].(type) {
		case *types.AttributeValueMemberS:
			text = strconv.AppendQuote(append(text, ":S"...), v.Value)
		case *types.AttributeValueMemberN:
			text = strconv.AppendQuote(append(text, ":N"...), normal(v.Value))
		case *types.AttributeValueMemberB:
			text = strconv.AppendQuote(append(text, ":B"...), string(v.Value))
		default: // no key: DynamoDB says so
			text = fmt.Appendf(text, ":%T%v", v, v)
		}
	}

	return string(text)
}

// normal returns the same text for each way to write a number: 1, 1.0 and 1e0 are one key. A text that is no number stays as it
// is.
func normal(number string) string {
	n, err := ParseNumber(number)
	if err != nil {
		return number // DynamoDB says so
	}

	whole := n.whole.String()
	digits := strings.TrimRight(whole, "0")

	return digits + "E" + strconv.Itoa(n.exp+len(whole)-len(digits))
}

// tableName returns the name of the table, which an item gives by its name or its ARN. All tables of a transaction are in one
// account and Region.
func (w write) tableName() string {
	table := aws.ToString(*w.table)
	if _, name, ok := strings.Cut(table, ":table/"); ok {
		return name
	}

	return table
}

// WriteSize returns about how many bytes the items have in a request.
func WriteSize(items ...types.TransactWriteItem) int {
	size := 0

	for _, it := range items {
		for _, w := range writesOf(it) {
			size += sizeOf(*w.key)
		}

		if it.Update != nil {
			size += sizeOf(it.Update.ExpressionAttributeValues)
		}
	}

	return size
}

func sizeOf(it map[string]types.AttributeValue) int {
	size := 0
	for name, v := range it {
		size += len(name) + ValueSize(v)
	}

	return size
}

// ValueSize returns about how many bytes of an item a value takes.
func ValueSize(v types.AttributeValue) int {
	const container = 3 // bytes of a list or a map, and of each of its elements about 1

	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 1 // two digits a byte
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return container + sizeOf(v.Value) + len(v.Value)
	case *types.AttributeValueMemberL:
		size := container
		for _, element := range v.Value {
			size += ValueSize(element) + 1
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
