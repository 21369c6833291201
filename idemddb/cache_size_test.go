package idemddb

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
)

func TestACacheKeepsItsSize(t *testing.T) {
	t.Parallel()

	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c := newCache(3)
	completedWith := func(result string) *record.Stored {
		return &record.Stored{
			Fence: new(int64(1)), Result: &types.AttributeValueMemberB{Value: []byte(result)}, Expires: now.Add(time.Hour).Unix(),
		}
	}
	check := func(step string, want int) {
		t.Helper()

		if len(c.byKey) != want || c.used.Len() != want {
			t.Errorf("%s: %d keys, %d records, want %d of each", step, len(c.byKey), c.used.Len(), want)
		}
	}

	for range 2 {
		c.add("k", completedWith("old"), "")
	}

	check("one record added twice", 1)

	for i := range 5 {
		c.add(strconv.Itoa(i), completedWith(""), "")
	}

	check("more records than its size", 3)

	if found := c.get("4", "4", now.Add(time.Hour)); found != nil {
		t.Errorf("got %+v, past its retention", found)
	}

	check("a record past its retention", 2)

	c.add("3", completedWith("new"), "f")
	check("a record that is replaced", 2)

	if found := c.get("3", "3", now); found == nil || string(found.record.Result) != "new" || found.fingerprint != "f" {
		t.Errorf("got %+v, want the newer record", found)
	}
}
