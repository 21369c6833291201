package idemddbtest_test

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// unsentItems are six items of the partition "0" of the index, with d from -2 to 3, and three that are not in it.
func (p *pair) unsentItems(t *testing.T) (name string) {
	t.Helper()
	name = p.withIndex(t)
	items := []attributes{{"pk": s("half"), "p": s("0"), "x": n("1")}, {"pk": s("none"), "x": n("1")}, {"pk": s("other"), "p": s("1"), "d": n("9")}}
	for i := range 6 {
		items = append(items, attributes{"pk": s(fmt.Sprint("k", i)), "p": s("0"), "d": n(strconv.Itoa(i - 2)), "y": s("not projected")})
	}
	for _, it := range items {
		p.putBoth(t, name, it)
	}
	return name
}

func (p *pair) putBoth(t interface{ Fatal(args ...any) }, name string, it attributes) {
	for _, c := range []*dynamodb.Client{p.ours, p.theirs} {
		if _, err := c.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
}

// queryRule is a query of an index, which is sent to both engines.
type queryRule struct {
	change func(*dynamodb.QueryInput)
	want   string // "invalid", or the keys
}

func checkQueries(t *testing.T, rules map[string]queryRule) {
	t.Helper()
	t.Parallel()
	p := newPair(t)
	name := p.unsentItems(t)
	for rule, c := range rules {
		in := &dynamodb.QueryInput{
			TableName: &name, IndexName: new("unsent"), KeyConditionExpression: new("#p = :p AND #s < :t"), ReturnConsumedCapacity: "INDEXES",
			ExpressionAttributeNames: map[string]string{"#p": "p", "#s": "d"}, ExpressionAttributeValues: attributes{":p": s("0"), ":t": n("2")},
		}
		c.change(in)
		if in.KeyConditionExpression != nil && *in.KeyConditionExpression == "#p = :p" {
			delete(in.ExpressionAttributeNames, "#s")
			delete(in.ExpressionAttributeValues, ":t")
		}
		ours, theirs, codes := both(t, p, (*dynamodb.Client).Query, in)
		if codes[0] != codes[1] || !reflect.DeepEqual(ours, theirs) && !sameQuery(ours, theirs) {
			t.Errorf("%s: got %q %s, DynamoDB Local answers %q %s", rule, codes[0], show(ours), codes[1], show(theirs))
		}
		if got := codes[0] + found(ours); got != c.want {
			t.Errorf("%s: got %q, want %q", rule, got, c.want)
		}
	}
}

func TestQueriesFindAPartOfAPartition(t *testing.T) {
	type Q = dynamodb.QueryInput
	checkQueries(t, map[string]queryRule{
		"a partition, ordered by its sort key": {func(in *Q) { in.KeyConditionExpression = new("#p = :p") }, "k0 k1 k2 k3 k4 k5"},
		"a part of it":                         {func(*Q) {}, "k0 k1 k2 k3"},
		"a page":                               {func(in *Q) { in.Limit = new(int32(2)) }, "k0 k1 more"},
		"a page that ends with the last entry": {func(in *Q) { in.Limit = new(int32(4)) }, "k0 k1 k2 k3 more"},
		"a page that is not full":              {func(in *Q) { in.Limit = new(int32(5)) }, "k0 k1 k2 k3"},
		"backward":                             {func(in *Q) { in.ScanIndexForward = new(false); in.Limit = new(int32(3)) }, "k3 k2 k1 more"},
		"behind an entry":                      {func(in *Q) { in.ExclusiveStartKey = entryAt("-1") }, "k2 k3"},
		"behind an entry that is gone":         {func(in *Q) { in.ExclusiveStartKey = entryAt("0.5") }, "k3"},
		"backward, behind an entry":            {func(in *Q) { in.ScanIndexForward = new(false); in.ExclusiveStartKey = entryAt("0.5") }, "k2 k1 k0"},
		"a count":                              {func(in *Q) { in.Select = types.SelectCount }, "4 counted"},
		"what is projected":                    {func(in *Q) { in.Select = types.SelectAllProjectedAttributes }, "k0 k1 k2 k3"},
		"an equality":                          {where("p = :p AND d = :t"), "k4"},
		"BETWEEN":                              {where("p = :p AND d BETWEEN :t AND :t"), "k4"},
		"at least":                             {where("p = :p AND d >= :t"), "k4 k5"},
		"the sort key first":                   {where("d <= :t AND p = :p"), "k0 k1 k2 k3 k4"},
		"values on the left":                   {where(":p = p AND :t > d"), "k0 k1 k2 k3"},
		"parentheses":                          {where("(p = :p) AND (d < :t)"), "k0 k1 k2 k3"},

		"a filter by the table's key":   {func(in *Q) { in.FilterExpression = new("pk <> :p") }, "k0 k1 k2 k3"},
		"a filter that leaves some out": {func(in *Q) { in.FilterExpression = new("pk > :k"); in.ExpressionAttributeValues[":k"] = s("k1") }, "k2 k3"},
	})
}

func TestQueriesThatAreRefused(t *testing.T) {
	type Q = dynamodb.QueryInput
	checkQueries(t, map[string]queryRule{
		"all attributes of KEYS_ONLY are refused":      {func(in *Q) { in.Select = types.SelectAllAttributes }, invalid},
		"a consistent read of an index is refused":     {func(in *Q) { in.ConsistentRead = new(true) }, invalid},
		"a limit of 0 is refused":                      {func(in *Q) { in.Limit = new(int32(0)) }, invalid},
		"an index that is not there is refused":        {func(in *Q) { in.IndexName = new("nosuch") }, invalid},
		"a filter by the index's key is refused":       {func(in *Q) { in.FilterExpression = new("d <> :p") }, invalid},
		"a filter by what is not projected is refused": {func(in *Q) { in.FilterExpression = new("attribute_exists(y)") }, invalid},

		"a start without the table's key is refused": {start(attributes{"p": s("0"), "d": n("0")}), invalid},
		"a start without the sort key is refused":    {start(attributes{"p": s("0"), "pk": s("k1")}), invalid},
		"a start with more is refused":               {start(attributes{"p": s("0"), "pk": s("k1"), "d": n("0"), "y": n("0")}), invalid},
		"a start of another type is refused":         {start(attributes{"p": s("0"), "pk": s("k1"), "d": s("0")}), invalid},
		"a start in another partition is refused":    {start(attributes{"p": s("1"), "pk": s("k1"), "d": n("0")}), invalid},
		"a start beyond the condition is refused":    {start(entryAt("7")), invalid},

		"no condition is refused":                           {func(in *Q) { in.KeyConditionExpression = nil }, invalid},
		"an empty condition is refused":                     {where(""), invalid},
		"the partition key is needed":                       {where("d < :t"), invalid},
		"the partition key is equal to something":           {where("p < :p AND d < :t"), invalid},
		"OR is refused":                                     {where("p = :p OR d < :t"), invalid},
		"NOT is refused":                                    {where("NOT p = :p AND d < :t"), invalid},
		"<> is refused":                                     {where("p = :p AND d <> :t"), invalid},
		"IN is refused":                                     {where("p = :p AND d IN (:t)"), invalid},
		"attribute_exists is refused":                       {where("p = :p AND attribute_exists(d)"), invalid},
		"a number begins with nothing":                      {where("p = :p AND begins_with(d, :t)"), invalid},
		"two conditions on one key are refused":             {where("p = :p AND d < :t AND d > :t"), invalid},
		"other attributes are refused":                      {where("p = :p AND y = :t"), invalid},
		"two attributes are refused":                        {where("p = d AND d < :t"), invalid},
		"a size is refused":                                 {where("size(p) = :t AND d < :t"), invalid},
		"a part of an attribute is refused":                 {where("p.a = :p AND d < :t"), invalid},
		"a value of another type than the key's is refused": {where("p = :p AND d < :p"), invalid},
		"an empty partition key is refused":                 {func(in *Q) { in.ExpressionAttributeValues[":p"] = s("") }, invalid},
		"an unused value is refused":                        {where("p = :p"), invalid},
	})
}

// entryAt is the key of an entry of the index.
func entryAt(d string) attributes { return attributes{"p": s("0"), "pk": s("k1"), "d": n(d)} }

// where is a condition without aliases.
func where(condition string) func(*dynamodb.QueryInput) {
	return func(in *dynamodb.QueryInput) {
		in.KeyConditionExpression, in.ExpressionAttributeNames = &condition, nil
	}
}

func start(key attributes) func(*dynamodb.QueryInput) {
	return func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = key }
}

// found is the keys that a query found.
func found(out *dynamodb.QueryOutput) string {
	if out == nil {
		return ""
	}
	if out.Items == nil {
		return fmt.Sprint(out.Count, " counted")
	}
	var keys []string
	for _, it := range out.Items {
		keys = append(keys, it["pk"].(*types.AttributeValueMemberS).Value)
	}
	if out.LastEvaluatedKey != nil {
		keys = append(keys, "more")
	}
	return strings.Join(keys, " ")
}

func sameQuery(a, b *dynamodb.QueryOutput) bool {
	return a != nil && b != nil && reflect.DeepEqual(a.Items, b.Items) && reflect.DeepEqual(a.LastEvaluatedKey, b.LastEvaluatedKey) &&
		a.Count == b.Count && a.ScannedCount == b.ScannedCount && reflect.DeepEqual(a.ConsumedCapacity, b.ConsumedCapacity)
}

// TestQueriesOfRandomItems writes random items and compares random pages of their index.
func TestQueriesOfRandomItems(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a hundred random sequences take seconds")
	}
	p := newPair(t)
	name := p.withIndex(t)
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		prefix := fmt.Sprint(runs, "-")
		partition := rapid.SampledFrom([]string{"0", "1"})
		numbers := rapid.Permutation([]string{"-2.5", "-1", "0", "1", "1.5", "10", "99", "1e3"}).Draw(t, "sort keys") // no two items have the same number
		for i, number := range numbers {
			it := attributes{"pk": s(fmt.Sprint(prefix, i)), "x": s("x")}
			if rapid.IntRange(0, 4).Draw(t, "has p") > 0 {
				it["p"] = s(prefix + partition.Draw(t, "p"))
			}
			if rapid.IntRange(0, 4).Draw(t, "has d") > 0 {
				it["d"] = n(number)
			}
			p.putBoth(t, name, it)
			if rapid.IntRange(0, 4).Draw(t, "changed") == 0 {
				p.changeBoth(t, name, it["pk"], rapid.SampledFrom([]string{"REMOVE d", "REMOVE p", "SET x = pk"}).Draw(t, "change"))
			}
		}
		in := &dynamodb.QueryInput{
			TableName: &name, IndexName: new("unsent"), ReturnConsumedCapacity: "TOTAL",
			KeyConditionExpression:    new("#p = :p AND #s " + rapid.SampledFrom([]string{"<", "<=", ">", ">=", "="}).Draw(t, "operator") + " :t"),
			ExpressionAttributeNames:  map[string]string{"#p": "p", "#s": "d"},
			ExpressionAttributeValues: attributes{":p": s(prefix + partition.Draw(t, "asked for")), ":t": n(rapid.SampledFrom(numbers).Draw(t, "than"))},
			ScanIndexForward:          new(rapid.Bool().Draw(t, "forward")),
			Limit:                     new(rapid.Int32Range(1, 4).Draw(t, "limit")),
		}
		for {
			ours, err := p.ours.Query(context.Background(), in)
			theirs, err2 := p.theirs.Query(context.Background(), in)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if ours.Count == 0 {
				ours.ConsumedCapacity, theirs.ConsumedCapacity = nil, nil // DynamoDB Local charges nothing for an empty page
			}
			if !sameQuery(ours, theirs) {
				t.Fatalf("%s\ngot %s, DynamoDB Local answers %s", show(in), show(ours), show(theirs))
			}
			if in.ExclusiveStartKey = ours.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				break
			}
		}
	})
}

func (p *pair) changeBoth(t *rapid.T, name string, key types.AttributeValue, update string) {
	for _, c := range []*dynamodb.Client{p.ours, p.theirs} {
		if _, err := c.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{TableName: &name, Key: attributes{"pk": key}, UpdateExpression: &update}); err != nil {
			t.Fatal(err)
		}
	}
}
