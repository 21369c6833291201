package dbitem

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxSize is how many bytes an item holds.
const MaxSize = 400 << 10

// CheckWrite returns an error for what DynamoDB would refuse of an item.
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
