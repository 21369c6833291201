package contract

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// attributes are a stored record, or a part of one.
type attributes = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// key is the key of a record in the table.
func (h *harness) key(key string) attributes {
	pk := h.options.PartitionKey
	if pk == "" {
		pk = "pk"
	}

	k := attributes{pk: str(h.namespace + "#" + key)}
	if h.options.SortKey != "" {
		k[h.options.SortKey] = str("idemddb")
	}

	return k
}

// attribute returns the name that the table uses for an attribute. Only exp can have another name.
func (h *harness) attribute(name string) string {
	if name == "exp" && h.options.TTLAttribute != "" {
		return h.options.TTLAttribute
	}

	return name
}

// item returns the stored record of a key, nil if there is none. It can be called on any goroutine.
func (h *harness) item(key string) attributes {
	h.Helper()

	out, err := h.engine.GetItem(context.WithoutCancel(h.Context()), &dynamodb.GetItemInput{
		TableName: &h.table, Key: h.key(key), ConsistentRead: new(true),
	})
	if err != nil || out == nil {
		h.Errorf("GetItem: got %v, %v", out, err)

		return nil
	}

	return out.Item
}

// same reports a record that is not as it was before, on any goroutine.
func (h *harness) same(key string, before attributes) {
	h.Helper()

	if after := h.item(key); !reflect.DeepEqual(after, before) {
		h.Errorf("the record changed:\n got %s\nwant %s", show(after), show(before))
	}
}

// unchanged calls do and reports an error if the record of the key is not the same afterwards. It may be called on any goroutine.
func (h *harness) unchanged(key string, do func()) {
	h.Helper()

	before := h.item(key)

	do()
	h.same(key, before)
}

// edit changes attributes of a stored record; nil removes one. It can be called on any goroutine.
func (h *harness) edit(key string, change attributes) {
	h.Helper()

	it := h.item(key)
	if it == nil {
		h.Errorf("%q has no record", key)

		return
	}

	for name, value := range change {
		if value == nil {
			delete(it, h.attribute(name))
		} else {
			it[h.attribute(name)] = value
		}
	}

	h.changes.ByHand(func() {
		_, err := h.engine.PutItem(h.Context(), &dynamodb.PutItemInput{TableName: &h.table, Item: it})
		h.check(err)
	})
}

// drop deletes a record, as Time to Live or a person does. Every engine has TransactWriteItems, not every one DeleteItem.
func (h *harness) drop(key string) {
	h.Helper()

	h.changes.ByHand(func() {
		_, err := h.engine.TransactWriteItems(h.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{{Delete: &types.Delete{TableName: &h.table, Key: h.key(key)}}},
		})
		h.must(err)
	})
}

// text returns an attribute of the key "k", "" if it has no such string.
func (h *harness) text(name string) string {
	h.Helper()

	if s, ok := h.item("k")[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}

	return ""
}

// number demands a whole number in an attribute.
func (h *harness) number(key, name string) int64 {
	h.Helper()

	it := h.item(key)

	n, ok := it[h.attribute(name)].(*types.AttributeValueMemberN)
	if !ok {
		h.Fatalf("attribute %s of %s, want a number", name, show(it))
	}

	v, err := strconv.ParseInt(n.Value, 10, 64)
	h.must(err)

	return v
}

// writeUnits demands the price of a write that leaves a record as it is.
func (h *harness) writeUnits(key string) float64 {
	h.Helper()

	out, err := h.engine.UpdateItem(h.Context(), &dynamodb.UpdateItemInput{
		TableName: &h.table, Key: h.key(key), UpdateExpression: new("SET att = att"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	h.must(err)

	if out == nil || out.ConsumedCapacity == nil || out.ConsumedCapacity.CapacityUnits == nil {
		h.Fatal("UpdateItem: the answer has no ConsumedCapacity")
	}

	return *out.ConsumedCapacity.CapacityUnits
}

// show prints strings and numbers of a record with their values.
func show(it attributes) string {
	var text strings.Builder

	for _, name := range slices.Sorted(maps.Keys(it)) {
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&text, " %s:%q", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&text, " %s:%s", name, v.Value)
		default:
			fmt.Fprintf(&text, " %s:%T", name, v)
		}
	}

	return "{" + text.String() + " }"
}
