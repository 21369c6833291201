// Package streamrecord knows the records of a table's stream.
package streamrecord

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

// Item returns a text that names the item that a record is about. The item's key is in the record whatever the stream's view type
// is. All records of a stream whose key cannot be read have one text.
func Item(r events.DynamoDBEventRecord) (item string) {
	item = r.EventSourceArn + "\n"

	defer func() { _ = recover() }() // an attribute without a type panics when it is written

	key, err := json.Marshal(r.Change.Keys)
	if err != nil {
		return item
	}

	return item + string(key)
}

// Copy returns a copy that shares nothing with the record.
func Copy(r events.DynamoDBEventRecord) events.DynamoDBEventRecord {
	r.Change.Keys, r.Change.NewImage, r.Change.OldImage = copyImage(r.Change.Keys), copyImage(r.Change.NewImage), copyImage(r.Change.OldImage)

	if r.UserIdentity != nil {
		r.UserIdentity = new(*r.UserIdentity)
	}

	return r
}

func copyImage(image map[string]events.DynamoDBAttributeValue) map[string]events.DynamoDBAttributeValue {
	image = maps.Clone(image)
	for name, value := range image {
		image[name] = copyValue(value)
	}

	return image
}

// copyValue copies the values that a handler can change in place.
func copyValue(v events.DynamoDBAttributeValue) events.DynamoDBAttributeValue {
	if v.IsNull() {
		return v
	}

	switch v.DataType() {
	case events.DataTypeBinary:
		return events.NewBinaryAttribute(bytes.Clone(v.Binary()))
	case events.DataTypeBinarySet:
		return events.NewBinarySetAttribute(dbitem.CloneEach(v.BinarySet(), bytes.Clone))
	case events.DataTypeNumberSet:
		return events.NewNumberSetAttribute(slices.Clone(v.NumberSet()))
	case events.DataTypeStringSet:
		return events.NewStringSetAttribute(slices.Clone(v.StringSet()))
	case events.DataTypeList:
		return events.NewListAttribute(dbitem.CloneEach(v.List(), copyValue))
	case events.DataTypeMap:
		return events.NewMapAttribute(copyImage(v.Map()))
	default:
		return v
	}
}

// Image returns an item of a record as the SDK has items; nil if the record has none.
func Image(image map[string]events.DynamoDBAttributeValue) map[string]types.AttributeValue {
	if image == nil {
		return nil
	}

	item := make(map[string]types.AttributeValue, len(image))
	for name, value := range image {
		item[name] = valueOf(value)
	}

	return item
}

func valueOf(v events.DynamoDBAttributeValue) types.AttributeValue {
	if v.IsNull() {
		return &types.AttributeValueMemberNULL{Value: true}
	}

	switch v.DataType() {
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	case events.DataTypeList:
		return &types.AttributeValueMemberL{Value: valuesOf(v.List())}
	case events.DataTypeMap:
		return &types.AttributeValueMemberM{Value: Image(v.Map())}
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	default:
		return &types.AttributeValueMemberS{Value: v.String()}
	}
}

func valuesOf(list []events.DynamoDBAttributeValue) []types.AttributeValue {
	values := make([]types.AttributeValue, len(list))
	for i, v := range list {
		values[i] = valueOf(v)
	}

	return values
}
