package idemddbtest_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestRulesOfScans sends scans to both engines. Their orders differ, so that pages are followed to their end and then compared.
func TestRulesOfScans(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.unsentItems(t)
	type S = dynamodb.ScanInput
	segments := func(segment, total int32) func(*S) {
		return func(in *S) { in.Segment, in.TotalSegments = &segment, &total }
	}
	for rule, c := range map[string]struct {
		change func(*S)
		want   string // "invalid", or how many are found, of how many
	}{
		"a table":                                  {func(*S) {}, "9 of 9"},
		"a filter":                                 {func(in *S) { in.FilterExpression = new("attribute_exists(x)") }, "2 of 9"},
		"a filter by the key":                      {func(in *S) { in.FilterExpression = new("pk = p OR attribute_not_exists(p)") }, "1 of 9"},
		"pages":                                    {func(in *S) { in.Limit = new(int32(2)) }, "9 of 9"},
		"pages that end with the table":            {func(in *S) { in.Limit = new(int32(3)) }, "9 of 9"},
		"pages with a filter":                      {func(in *S) { in.Limit = new(int32(2)); in.FilterExpression = new("attribute_exists(x)") }, "2 of 9"},
		"a count":                                  {func(in *S) { in.Select = types.SelectCount }, "0 of 9"},
		"a consistent read":                        {func(in *S) { in.ConsistentRead = new(true) }, "9 of 9"},
		"an index":                                 {func(in *S) { in.IndexName = new("unsent") }, "7 of 7"},
		"pages of an index":                        {func(in *S) { in.IndexName = new("unsent"); in.Limit = new(int32(2)) }, "7 of 7"},
		"one segment":                              {segments(0, 1), "9 of 9"},
		"a filter that nothing passes":             {func(in *S) { in.Limit = new(int32(100)); in.FilterExpression = new("attribute_exists(nosuch)") }, "0 of 9"},
		"a limit of 0 is refused":                  {func(in *S) { in.Limit = new(int32(0)) }, invalid},
		"an empty filter is refused":               {func(in *S) { in.FilterExpression = new("") }, invalid},
		"a filter that is none is refused":         {func(in *S) { in.FilterExpression = new("x") }, invalid},
		"a consistent read of an index is refused": {func(in *S) { in.IndexName, in.ConsistentRead = new("unsent"), new(true) }, invalid},
		"a segment beyond the last is refused":     {segments(3, 3), invalid},
		"a negative segment is refused":            {segments(-1, 3), invalid},
		"no segments are refused":                  {segments(0, 0), invalid},
		"more than a million segments are refused": {segments(0, 1000001), invalid},
		"a segment of nothing is refused":          {func(in *S) { in.Segment = new(int32(0)) }, invalid},
		"segments without one are refused":         {func(in *S) { in.TotalSegments = new(int32(1)) }, invalid},
		"a start of another type is refused":       {func(in *S) { in.ExclusiveStartKey = attributes{"pk": n("1")} }, invalid},
		"a start with more is refused":             {func(in *S) { in.ExclusiveStartKey = attributes{"pk": s("k1"), "x": n("1")} }, invalid},
		"an empty start is refused":                {func(in *S) { in.ExclusiveStartKey = attributes{} }, invalid},
		"projected attributes of a table are none": {func(in *S) { in.Select = types.SelectAllProjectedAttributes }, invalid},
	} {
		var got [2]string
		var items [2]map[string]attributes
		for i, client := range []*dynamodb.Client{p.ours, p.theirs} {
			in := &S{TableName: &name}
			c.change(in)
			got[i], items[i] = scanAll(client, in)
		}
		if got != [2]string{c.want, c.want} || !reflect.DeepEqual(items[0], items[1]) {
			t.Errorf("%s: got %q %s, DynamoDB Local answers %q %s, want %q", rule, got[0], show(items[0]), got[1], show(items[1]), c.want)
		}
	}
}

// scanAll follows the pages. Each item comes once.
func scanAll(c *dynamodb.Client, in *dynamodb.ScanInput) (string, map[string]attributes) {
	items, scanned, count := map[string]attributes{}, 0, 0
	for {
		out, err := c.Scan(context.Background(), in)
		if err != nil {
			return code(err), nil
		}
		for _, it := range out.Items {
			items[it["pk"].(*types.AttributeValueMemberS).Value] = normal(it)
			count++
		}
		scanned += int(out.ScannedCount)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return fmt.Sprintf("%d of %d", count, scanned), items
		}
	}
}

// Each item is in one segment, whose pages may not begin with an item of another.
func TestEachItemIsInOneSegment(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	for i := range 100 {
		put(t, db, attributes{"pk": s(fmt.Sprint("k", i))})
	}
	for _, total := range []int32{1, 2, 7, 1000} {
		in := map[string]int32{}
		for segment := range total {
			_, items := scanAll(db.Client(), &dynamodb.ScanInput{TableName: new(table), Limit: new(int32(3)), Segment: &segment, TotalSegments: &total})
			for key := range items {
				if other, ok := in[key]; ok {
					t.Errorf("%s is in the segments %d and %d of %d", key, other, segment, total)
				}
				in[key] = segment
			}
		}
		if len(in) != 100 {
			t.Errorf("of %d segments: got %d items", total, len(in))
		}
		if total == 7 {
			other := (in["k0"] + 1) % total
			_, err := db.Scan(t.Context(), &dynamodb.ScanInput{
				TableName: new(table), Segment: &other, TotalSegments: &total, ExclusiveStartKey: attributes{"pk": s("k0")},
			})
			if code(err) != invalid {
				t.Errorf("a start in another segment: got %v", err)
			}
		}
	}
}

// A page ends at 1 MB of what is read, whatever the filter leaves of it.
func TestAPageEndsAtOneMegabyte(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.withIndex(t)
	for i := range 7 {
		p.putBoth(t, name, attributes{"pk": s(fmt.Sprint("k", i)), "a": s(strings.Repeat("x", 300<<10))})
	}
	in := &dynamodb.ScanInput{TableName: &name, FilterExpression: new("attribute_exists(nosuch)"), ReturnConsumedCapacity: "TOTAL", ConsistentRead: new(true)}
	ours, theirs, _ := both(t, p, (*dynamodb.Client).Scan, in)
	if ours.ScannedCount != theirs.ScannedCount || ours.LastEvaluatedKey == nil || *ours.ConsumedCapacity.CapacityUnits != *theirs.ConsumedCapacity.CapacityUnits {
		t.Errorf("got %s, DynamoDB Local answers %s", show(ours), show(theirs))
	}
}

func TestIndexesThatAreHeldStayAsTheyAre(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.unsentItems(t)
	inIndex := func() string {
		_, items := scanAll(p.ours, &dynamodb.ScanInput{TableName: &name, IndexName: new("unsent")})
		keys := make([]string, 0, len(items))
		for key := range items {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		return strings.Join(keys, " ")
	}
	release := p.db.HoldIndexes()
	p.putBoth(t, name, attributes{"pk": s("k0")})
	p.putBoth(t, name, attributes{"pk": s("new"), "p": s("0"), "d": n("1")})
	p.db.HoldIndexes()
	if got, want := inIndex(), "k0 k1 k2 k3 k4 k5 other"; got != want {
		t.Errorf("while they are held: got %q, want %q", got, want)
	}
	if got, err := p.ours.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: attributes{"pk": s("new")}}); err != nil || got.Item == nil {
		t.Errorf("a read of the table: got %v, %v", got, err)
	}
	release()
	if got, want := inIndex(), "k1 k2 k3 k4 k5 new other"; got != want {
		t.Errorf("when they are released: got %q, want %q", got, want)
	}
}
