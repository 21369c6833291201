package idemddbtest_test

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// generator draws requests. It has few names and values, so that requests often concern the same attributes.
type generator struct {
	*rapid.T

	pair   *pair
	prefix string

	// of the request that is being drawn
	names  map[string]string
	values attributes
	// These statements say the same as each single request.
	singles []any
}

type itemKey struct {
	table string
	key   attributes
}

func (g *generator) keys() []itemKey {
	var keys []itemKey

	for _, k := range []string{"x", "y"} {
		pk := &types.AttributeValueMemberS{Value: g.prefix + k}

		keys = append(keys, itemKey{g.pair.simple, attributes{"pk": pk}})
		for _, sk := range []string{"1", "-2.5"} {
			keys = append(keys, itemKey{g.pair.composite, attributes{"pk": pk, "sk": &types.AttributeValueMemberN{Value: sk}}})
		}
	}

	return keys
}

func (g *generator) chance(percent int, what string) bool {
	return rapid.IntRange(0, 99).Draw(g.T, what) >= 100-percent
}

func (g *generator) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.T, what)
}

// seed stores items that the requests can find.
func (g *generator) seed() {
	for _, k := range g.keys() {
		if g.chance(60, "seeded") {
			it := g.item(k.key)
			g.pair.compare(g.T, &dynamodb.PutItemInput{TableName: &k.table, Item: it})
		}
	}
}

func (g *generator) request() any {
	g.names, g.values = map[string]string{}, attributes{}
	k := rapid.SampledFrom(g.keys()).Draw(g.T, "key")
	g.spoil(&k)

	capacity := types.ReturnConsumedCapacityTotal

	switch g.pick("operation", "update", "update", "update", "put", "delete", "transact", "get", "idemddb", "idemddb", "statements", "statements") {
	case "idemddb":
		return g.idemddb(k)
	case "statements":
		return g.statements()
	case "update":
		in := &dynamodb.UpdateItemInput{TableName: &k.table, Key: k.key, ReturnConsumedCapacity: capacity}
		in.ReturnValues = types.ReturnValue(g.pick("return", "NONE", "ALL_OLD", "ALL_NEW", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"))
		in.ReturnValuesOnConditionCheckFailure = g.onFailure()
		in.ConditionExpression, in.UpdateExpression = g.maybeCondition(), g.maybeUpdate()
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.placeholders()

		return in
	case "put":
		in := &dynamodb.PutItemInput{TableName: &k.table, Item: g.item(k.key), ReturnConsumedCapacity: capacity}
		in.ReturnValues = g.returns("ALL_NEW")
		in.ReturnValuesOnConditionCheckFailure, in.ConditionExpression = g.onFailure(), g.maybeCondition()
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.placeholders()

		return in
	case "delete":
		in := &dynamodb.DeleteItemInput{TableName: &k.table, Key: k.key, ReturnConsumedCapacity: capacity}
		in.ReturnValues = g.returns("UPDATED_OLD")
		in.ReturnValuesOnConditionCheckFailure, in.ConditionExpression = g.onFailure(), g.maybeCondition()
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.placeholders()

		return in
	case "get":
		return &dynamodb.GetItemInput{TableName: &k.table, Key: k.key}
	}

	return g.transaction()
}

// spoil sometimes makes the key or the table wrong.
func (g *generator) spoil(k *itemKey) (spoiled bool) {
	if !g.chance(4, "spoiled") {
		return false
	}

	switch g.pick("spoil", "table", "type", "empty", "missing", "more", "long") {
	case "table":
		k.table = "nosuch"
	case "type":
		k.key["pk"] = &types.AttributeValueMemberN{Value: "1"}
	case "empty":
		k.key["pk"] = &types.AttributeValueMemberS{}
	case "missing":
		delete(k.key, "pk")
	case "more":
		k.key["more"] = &types.AttributeValueMemberS{Value: "a"}
	case "long":
		k.key["pk"] = &types.AttributeValueMemberS{Value: strings.Repeat("k", 2049)}
	}

	return true
}

func (g *generator) transaction() any {
	in := &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}

	keys := rapid.Permutation(g.keys()).Draw(g.T, "keys")
	for _, k := range keys[:rapid.IntRange(1, 3).Draw(g.T, "parts")] {
		g.names, g.values = map[string]string{}, attributes{}
		in.TransactItems = append(in.TransactItems, g.part(k))
	}

	return in
}

func (g *generator) part(k itemKey) (part types.TransactWriteItem) {
	condition, onFailure := g.maybeCondition(), g.onFailure()
	switch g.pick("part", "update", "update", "put", "delete", "check") {
	case "update":
		u := g.update()
		part.Update = &types.Update{TableName: &k.table, Key: k.key, ConditionExpression: condition, UpdateExpression: &u, ReturnValuesOnConditionCheckFailure: onFailure}
		part.Update.ExpressionAttributeNames, part.Update.ExpressionAttributeValues = g.placeholders()
	case "put":
		part.Put = &types.Put{TableName: &k.table, Item: g.item(k.key), ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: onFailure}
		part.Put.ExpressionAttributeNames, part.Put.ExpressionAttributeValues = g.placeholders()
	case "delete":
		part.Delete = &types.Delete{TableName: &k.table, Key: k.key, ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: onFailure}
		part.Delete.ExpressionAttributeNames, part.Delete.ExpressionAttributeValues = g.placeholders()
	default:
		if condition == nil {
			condition = new("attribute_exists(pk)")
		}

		part.ConditionCheck = &types.ConditionCheck{TableName: &k.table, Key: k.key, ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: onFailure}
		part.ConditionCheck.ExpressionAttributeNames, part.ConditionCheck.ExpressionAttributeValues = g.placeholders()
	}

	return part
}

// returns draws a ReturnValues that a put or a delete allows, and sometimes another one.
func (g *generator) returns(wrong string) types.ReturnValue {
	if g.chance(4, "wrong return") {
		return types.ReturnValue(wrong)
	}

	return types.ReturnValue(g.pick("return", "NONE", "ALL_OLD"))
}

func (g *generator) onFailure() types.ReturnValuesOnConditionCheckFailure {
	return types.ReturnValuesOnConditionCheckFailure(g.pick("on failure", "NONE", "ALL_OLD", "ALL_OLD"))
}

// placeholders returns the names and values that the expressions use, sometimes with one more or without one.
func (g *generator) placeholders() (names map[string]string, values attributes) {
	if g.chance(2, "unused") {
		g.values[":unused"] = g.number()
	}

	if g.chance(1, "undefined") {
		delete(g.values, ":0")
	}

	if len(g.names) > 0 {
		names = g.names
	}

	if len(g.values) > 0 {
		values = g.values
	}

	return names, values
}

func (g *generator) placeholder(v types.AttributeValue) string {
	name := fmt.Sprintf(":%d", len(g.values))
	g.values[name] = v

	return name
}

func (g *generator) maybeCondition() *string {
	if g.chance(60, "unconditional") {
		return nil
	}

	c := g.condition(0)

	return &c
}

func (g *generator) maybeUpdate() *string {
	if g.chance(3, "no update") {
		return nil
	}

	u := g.update()

	return &u
}
