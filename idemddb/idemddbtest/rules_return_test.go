package idemddbtest_test

import (
	"maps"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	allOld     = types.ReturnValueAllOld
	allNew     = types.ReturnValueAllNew
	updatedOld = types.ReturnValueUpdatedOld
	updatedNew = types.ReturnValueUpdatedNew
)

// TestReturnValuesOfAnUpdate states what an UpdateItem returns for each of ReturnValues, and asks a real engine whether that is
// so.
func TestReturnValuesOfAnUpdate(t *testing.T) {
	t.Parallel()

	p := newPair(t)
	for _, c := range []struct {
		rule    string
		item    attributes // nil: there is none
		update  string
		returns types.ReturnValue
		want    attributes // beside the key, which is in every whole item; nil: the answer carries no attributes
	}{
		{"NONE returns nothing", attributes{"a": one}, "SET a = :x", types.ReturnValueNone, nil},
		{"without ReturnValues nothing is returned", attributes{"a": one}, "SET a = :x", "", nil},

		{"ALL_OLD is the item before the update", attributes{"a": one, "b": one}, "SET a = :x", allOld, attributes{"a": one, "b": one}},
		{"ALL_OLD of a new item is nothing", nil, "SET a = :x", allOld, nil},
		{"ALL_NEW is the item after the update", attributes{"a": one, "b": one}, "SET a = :x REMOVE b", allNew, attributes{"a": two}},
		{"ALL_NEW of a new item is the item", nil, "SET a = :x", allNew, attributes{"a": two}},
		{"ALL_NEW without a change is the item", attributes{"a": two}, "SET a = :x", allNew, attributes{"a": two}},

		{"UPDATED_OLD is what the changed attributes were", attributes{"a": one, "b": one}, "SET a = :x", updatedOld, attributes{"a": one}},
		{"UPDATED_OLD has no attribute that is new", attributes{"b": one}, "SET a = :x, b = :x", updatedOld, attributes{"b": one}},
		{"UPDATED_OLD of new attributes alone is nothing", attributes{"b": one}, "SET a = :x", updatedOld, nil},
		{"UPDATED_OLD has what is removed", attributes{"a": one, "b": one}, "SET a = :x REMOVE b", updatedOld, attributes{"a": one, "b": one}},
		{"UPDATED_OLD of a new item is nothing", nil, "SET a = :x", updatedOld, nil},

		{"UPDATED_NEW is what the changed attributes are", attributes{"a": one, "b": one}, "SET a = :x", updatedNew, attributes{"a": two}},
		{"UPDATED_NEW has an attribute that is new", attributes{"b": one}, "SET a = :x", updatedNew, attributes{"a": two}},
		{"UPDATED_NEW has an attribute that was set to what it was", attributes{"a": two}, "SET a = :x", updatedNew, attributes{"a": two}},
		{"UPDATED_NEW lacks what is removed", attributes{"a": one, "b": one}, "SET a = :x REMOVE b", updatedNew, attributes{"a": two}},
		{"UPDATED_NEW of removals alone is nothing", attributes{"b": one}, "REMOVE b", updatedNew, nil},
		{"UPDATED_NEW of a new item lacks the key", nil, "SET a = :x", updatedNew, attributes{"a": two}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			key := p.seeded(t, c.item)

			want := c.want
			if want != nil && (c.returns == allOld || c.returns == allNew) {
				want = withKey(want, key)
			}

			in := &dynamodb.UpdateItemInput{TableName: &p.simple, Key: key, UpdateExpression: &c.update, ReturnValues: c.returns}
			if c.update != "REMOVE b" {
				in.ExpressionAttributeValues = attributes{":x": two}
			}

			p.wantAttributes(t, in, want)
		})
	}
}

// TestReturnValuesOfAPut is the same for a PutItem, which takes NONE and ALL_OLD.
func TestReturnValuesOfAPut(t *testing.T) {
	t.Parallel()

	p := newPair(t)
	for _, c := range []struct {
		rule    string
		item    attributes // nil: there is none
		returns types.ReturnValue
		want    bool // the old item
	}{
		{"ALL_OLD is the item that is replaced", attributes{"a": s("old")}, allOld, true},
		{"ALL_OLD of a new item is nothing", nil, allOld, false},
		{"NONE returns nothing", attributes{"a": s("old")}, types.ReturnValueNone, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			key := p.seeded(t, c.item)

			var want attributes
			if c.want {
				want = withKey(c.item, key)
			}

			p.wantAttributes(t, &dynamodb.PutItemInput{
				TableName: &p.simple, Item: withKey(attributes{"a": s("new")}, key), ReturnValues: c.returns,
			}, want)
		})
	}

	for _, returns := range []types.ReturnValue{allNew, updatedOld, updatedNew} {
		in := &dynamodb.PutItemInput{TableName: &p.simple, Item: p.seeded(t, nil), ReturnValues: returns}
		p.compare(t, in)

		if got := ask(p.ours, in).Code; got != invalid {
			t.Errorf("%s: got %q, want %q", returns, got, invalid)
		}
	}
}

func withKey(it, key attributes) attributes {
	it = maps.Clone(it)
	maps.Copy(it, key)

	return it
}

// wantAttributes sends the request to both engines, whose answers carry these attributes.
func (p *pair) wantAttributes(t *testing.T, in any, want attributes) {
	t.Helper()

	for name, got := range map[string]answer{"the engine in memory": ask(p.ours, in), "the real engine": ask(p.theirs, in)} {
		if got.Code != "" || !reflect.DeepEqual(got.Item, normal(want)) {
			t.Errorf("%s answers %s, want %s", name, show(got), show(want))
		}
	}
}
