package idemddbtest_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// nested returns a string in this many maps.
func nested(depth int) types.AttributeValue {
	if depth == 0 {
		return s("x")
	}

	return docOf(attributes{"a": nested(depth - 1)})
}

// TestRulesOfDocuments compares what paths may lead to, how deep a document may become, and how long names may be.
func TestRulesOfDocuments(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.withIndex(t)
	long := strings.Repeat("a", 256)
	key := attributes{"pk": s("x")}
	update := func(condition, text string, values attributes) *dynamodb.UpdateItemInput {
		in := &dynamodb.UpdateItemInput{TableName: &name, Key: key, UpdateExpression: &text, ExpressionAttributeValues: values}
		if condition != "" {
			in.ConditionExpression = &condition
		}

		return in
	}
	sorted := "sorted" + name
	for _, c := range []*dynamodb.Client{p.ours, p.theirs} {
		createTable(t, c, sorted, "pk", "S", "sk", "S")
	}

	from := func(bytes int) *dynamodb.QueryInput {
		return &dynamodb.QueryInput{
			TableName: &sorted, KeyConditionExpression: new("pk = :x AND sk > :y"),
			ExpressionAttributeValues: attributes{":x": s("x"), ":y": s(strings.Repeat("k", bytes))},
		}
	}
	deep := attributes{"pk": s("x"), "m": nested(30)}
	bottom := "m" + strings.Repeat(".a", 29)

	for _, c := range []struct {
		rule string
		in   any
		want string
	}{
		{"31 maps are not too deep", &dynamodb.PutItemInput{TableName: &name, Item: deep}, ""},
		{"32 steps of a path are not too many", update("attribute_not_exists(a"+strings.Repeat(".a", 31)+")", "REMOVE b", nil), ""},
		{"33 steps are", update("attribute_not_exists(a"+strings.Repeat(".a", 32)+")", "REMOVE b", nil), invalid},
		{"an update may deepen a document", update("", "SET "+bottom+" = :x", attributes{":x": nested(2)}), ""},
		{"but not below the limit", update("", "SET "+bottom+" = :x", attributes{":x": nested(3)}), invalid},
		{"a path may lead into an attribute that is no key", update("attribute_not_exists(q.a) AND attribute_not_exists(q[0])", "REMOVE b", nil), ""},
		{"but not into the key of the table", update("attribute_not_exists(pk.a)", "REMOVE b", nil), invalid},
		{"nor into that of an index", update("attribute_not_exists(p[0])", "REMOVE b", nil), invalid},
		{"nor where a value is read", update("", "SET b = if_not_exists(d.a, :x)", attributes{":x": one}), invalid},
		{"nor where it is set", update("", "SET p.a = :x", attributes{":x": one}), invalid},
		{"nor in a filter", &dynamodb.ScanInput{TableName: &name, FilterExpression: new("attribute_exists(d.a)")}, invalid},
		{"nor in that of a query", &dynamodb.QueryInput{
			TableName: &name, KeyConditionExpression: new("pk = :x"), FilterExpression: new("attribute_exists(d.a)"), ExpressionAttributeValues: attributes{":x": s("x")},
		}, invalid},
		{"an alias has 255 characters", update("", "REMOVE #"+long, nil), invalid},
		{"a name has 65,535 bytes", &dynamodb.PutItemInput{TableName: &name, Item: attributes{"pk": s("y"), strings.Repeat("a", 1<<16): one}}, invalid},
		{"a query may compare with the longest sort key", from(1024), ""},
		{"but not with a longer one", from(1025), invalid},
	} {
		if in, ok := c.in.(*dynamodb.UpdateItemInput); ok && strings.HasPrefix(*in.UpdateExpression, "REMOVE #") {
			in.ExpressionAttributeNames = map[string]string{"#" + long: "b"}
		}

		if ours, theirs := ask(p.ours, c.in), ask(p.theirs, c.in); ours.Code != c.want || theirs.Code != c.want {
			t.Errorf("%s: got %q and %q, want %q: %s %s", c.rule, ours.Code, theirs.Code, c.want, ours.Message, theirs.Message)
		}
	}
}

// TestRulesOfTableNames compares which characters the name of a table may have.
func TestRulesOfTableNames(t *testing.T) {
	t.Parallel()
	p := newPair(t)

	for _, name := range []string{"with space", "a/slash", "näme"} {
		_, _, codes := both(t, p, (*dynamodb.Client).CreateTable, indexed(name))
		if codes != [2]string{invalid, invalid} {
			t.Errorf("%q: got %q, want both %q", name, codes, invalid)
		}
	}
}
