package idemddbtest_test

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

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
