package idemddbtest_test

import (
	"fmt"
	"maps"
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
	// of statements: what says the same as each
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

func (g *generator) item(key attributes) attributes {
	it := attributes{}
	if g.chance(25, "record") {
		g.record(it)
	}

	for _, name := range []string{"a", "b", "n", "s", "l", "m", "x.y"} {
		if g.chance(55, "has "+name) {
			it[name] = g.typical(name)
		}
	}

	maps.Copy(it, key)

	return it
}

// typical draws a value that mostly fits its name.
func (g *generator) typical(name string) types.AttributeValue {
	switch {
	case g.chance(15, "odd"):
	case name == "n":
		return g.number()
	case name == "s":
		return g.set()
	case name == "l":
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{g.value(1), g.value(1), g.number()}[:rapid.IntRange(0, 3).Draw(g.T, "length")]}
	case name == "m":
		return &types.AttributeValueMemberM{Value: attributes{"a": g.value(1), "n": g.number(), "l": g.value(0)}}
	}

	return g.value(0)
}

func (g *generator) number() types.AttributeValue {
	return &types.AttributeValueMemberN{Value: g.pick("number", "0", "1", "2", "-1", "1.0", "10", "1.5", "-0.25", "1e2", "+3", "007",
		"99999999999999999999999999999999999999", "0.00000000000000000000000000000000000001", "1e125", "-9.9e125", "1e-130", "9999999999999999", "12345678901234567890")}
}

func (g *generator) text() string {
	return g.pick("text", "", "a", "ab", "b", "ba", "INPROGRESS", "é", "S", "1")
}

func (g *generator) set() types.AttributeValue {
	n := rapid.IntRange(1, 3).Draw(g.T, "members")
	switch g.pick("set", "SS", "NS", "BS") {
	case "SS":
		return &types.AttributeValueMemberSS{Value: []string{"b", "a", "é"}[:n]}
	case "NS":
		return &types.AttributeValueMemberNS{Value: []string{"10", "2", "1.5"}[:n]}
	}

	return &types.AttributeValueMemberBS{Value: [][]byte{{1}, {0}, {1, 2}}[:n]}
}

func (g *generator) value(depth int) types.AttributeValue {
	kinds := []string{"S", "N", "B", "BOOL", "NULL", "set", "S", "N", "L", "M", "wrong"}
	if depth > 1 {
		kinds = kinds[:8]
	}

	switch g.pick("type", kinds...) {
	case "S":
		return &types.AttributeValueMemberS{Value: g.text()}
	case "N":
		return g.number()
	case "B":
		return &types.AttributeValueMemberB{Value: []byte(g.text())}
	case "BOOL":
		return &types.AttributeValueMemberBOOL{Value: g.chance(50, "bool")}
	case "NULL":
		return &types.AttributeValueMemberNULL{Value: true}
	case "L":
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{g.value(depth + 1), g.value(depth + 1)}[:rapid.IntRange(0, 2).Draw(g.T, "length")]}
	case "M":
		return &types.AttributeValueMemberM{Value: attributes{"a": g.value(depth + 1), "n": g.number()}}
	case "wrong":
		return g.wrong()
	}

	return g.set()
}

// wrong draws a value that is not allowed.
func (g *generator) wrong() types.AttributeValue {
	if !g.chance(20, "wrong") {
		return &types.AttributeValueMemberS{Value: strings.Repeat("x", rapid.SampledFrom([]int{1, 900, 1024, 5000}).Draw(g.T, "long"))}
	}

	switch g.pick("wrong", "number", "digits", "big", "set", "twice", "null", "name") {
	case "number":
		return &types.AttributeValueMemberN{Value: "1x"}
	case "digits":
		return &types.AttributeValueMemberN{Value: "123456789012345678901234567890123456789"}
	case "big":
		return &types.AttributeValueMemberN{Value: "1e126"}
	case "set":
		return &types.AttributeValueMemberSS{}
	case "twice":
		return &types.AttributeValueMemberNS{Value: []string{"1", "1.0"}}
	case "null":
		return &types.AttributeValueMemberNULL{}
	}

	return &types.AttributeValueMemberM{Value: attributes{"": g.number()}}
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

func (g *generator) path() string {
	switch g.pick("path", "top", "top", "top", "deep", "alias", "key", "odd") {
	case "deep":
		return g.pick("deep", "m.a", "m.n", "m.l[0]", "l[0]", "l[0]", "l[1]", "l[1]", "l[2]", "l[7]", "l[9]", "m.zz", "l[0].a", "a.b", "m.l[1].a")
	case "alias":
		alias := g.pick("alias", "#status", "#dot", "#a")
		g.names[alias] = map[string]string{"#status": "status", "#dot": "x.y", "#a": "a"}[alias]

		return alias + g.pick("below", "", "", ".a", "[0]")
	case "key":
		return g.pick("key attribute", "pk", "sk")
	case "odd":
		if g.chance(10, "reserved") {
			return g.pick("reserved", "status", "Ttl", "owner", "m.value", "a.size", "_a", "a-b", "l[-1]", "l[01]", "m.0")
		}
	}

	return g.pick("top", "a", "b", "n", "s", "l", "m", "zz")
}

func (g *generator) operand() string {
	switch g.pick("operand", "path", "value", "value", "size") {
	case "path":
		return g.path()
	case "size":
		if g.chance(50, "size") {
			return "size(" + g.path() + ")"
		}
	}

	return g.placeholder(g.value(0))
}

func (g *generator) condition(depth int) string {
	kinds := []string{"compare", "compare", "compare", "exists", "exists", "function", "between", "in", "and", "or", "not", "parens"}
	if depth > 2 {
		kinds = kinds[:8]
	}

	switch g.pick("condition", kinds...) {
	case "exists":
		return g.pick("function", "attribute_exists", "attribute_not_exists") + "(" + g.path() + ")"
	case "function":
		return g.function()
	case "between":
		return g.operand() + " BETWEEN " + g.operand() + " AND " + g.operand()
	case "in":
		list := make([]string, rapid.IntRange(1, 3).Draw(g.T, "listed"))
		for i := range list {
			list[i] = g.operand()
		}

		return g.operand() + g.pick("IN", " IN ", " in ") + "(" + strings.Join(list, ", ") + ")"
	case "and":
		return g.condition(depth+1) + g.pick("AND", " AND ", " and ", " And\n") + g.condition(depth+1)
	case "or":
		return g.condition(depth+1) + g.pick("OR", " OR ", " or ", "\tOr ") + g.condition(depth+1)
	case "not":
		return g.pick("NOT", "NOT ", "not ", "nOt\n") + g.condition(depth+1)
	case "parens":
		return "(" + g.condition(depth+1) + ")"
	}

	var left string
	if g.chance(30, "any left") {
		left = g.operand()
	} else {
		left = g.path()
	}

	if g.chance(3, "operand in parentheses") {
		left = "(" + left + ")"
	}

	return left + g.pick("operator", " = ", " = ", " <> ", "<", "<=", ">", ">=", "<>", "=") + g.operand()
}

func (g *generator) function() string {
	switch g.pick("function", "attribute_type", "begins_with", "contains", "odd") {
	case "attribute_type":
		t := types.AttributeValue(&types.AttributeValueMemberS{Value: g.pick("type name", "S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M", "X")})
		if g.chance(5, "not a type") {
			t = g.value(0)
		}

		return "attribute_type(" + g.path() + ", " + g.placeholder(t) + ")"
	case "begins_with":
		return "begins_with(" + g.operand() + ", " + g.operand() + ")"
	case "odd":
		return g.pick("odd function", "begins_with(a)", "size(a)", "Contains(a, b)", "nosuch(a)", "contains(a, b, n)", "attribute_exists(size(a))", "contains(size(a), n)", "begins_with(contains(a, b), a)")
	}

	return "contains(" + g.operand() + ", " + g.operand() + ")"
}

func (g *generator) update() string {
	var clauses []string

	for _, clause := range rapid.Permutation([]string{"SET", "REMOVE", "ADD", "DELETE"}).Draw(g.T, "clauses") {
		if g.chance(45, clause) {
			var actions []string
			for range rapid.IntRange(1, 2).Draw(g.T, "actions") {
				actions = append(actions, g.action(clause))
			}

			clauses = append(clauses, g.pick("case", clause, clause, strings.ToLower(clause))+" "+strings.Join(actions, ", "))
		}
	}

	if len(clauses) == 0 || g.chance(1, "again") {
		clauses = append(clauses, "SET "+g.action("SET"))
	}

	return strings.Join(clauses, " ")
}

func (g *generator) action(clause string) string {
	p := g.path()

	switch clause {
	case "REMOVE":
		return p
	case "ADD":
		if g.chance(70, "number") {
			return p + " " + g.placeholder(g.number())
		}

		return p + " " + g.placeholder(g.typical("s"))
	case "DELETE":
		return p + " " + g.placeholder(g.typical("s"))
	}

	return p + g.pick("=", " = ", "=") + g.right()
}

func (g *generator) right() string {
	switch g.pick("right", "term", "term", "sum", "parens") {
	case "sum":
		return g.numeric() + g.pick("sign", " + ", " - ", "+", "-") + g.numeric()
	case "parens":
		return "(" + g.term(0) + ")"
	}

	return g.term(0)
}

func (g *generator) numeric() string {
	switch g.pick("numeric", "value", "path", "n", "default", "any") {
	case "value":
		return g.placeholder(g.number())
	case "n":
		return "n"
	case "default":
		return "if_not_exists(" + g.path() + ", " + g.placeholder(g.number()) + ")"
	case "any":
		return g.term(0)
	}

	return g.path()
}

func (g *generator) term(depth int) string {
	kinds := []string{"value", "value", "path", "if_not_exists", "list_append"}
	if depth > 1 {
		kinds = kinds[:3]
	}

	switch g.pick("term", kinds...) {
	case "value":
		return g.placeholder(g.value(0))
	case "if_not_exists":
		return "if_not_exists(" + g.path() + ", " + g.term(depth+1) + ")"
	case "list_append":
		return "list_append(" + g.list(depth) + ", " + g.list(depth) + ")"
	}

	return g.path()
}

func (g *generator) list(depth int) string {
	switch g.pick("list", "l", "value", "term") {
	case "l":
		return "l"
	case "value":
		return g.placeholder(g.typical("l"))
	}

	return g.term(depth + 1)
}
