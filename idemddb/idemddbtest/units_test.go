package idemddbtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestWriteUnitsBeginAnewAtEachKilobyte(t *testing.T) {
	t.Parallel()

	for size, want := range map[int]int{0: 1, 1023: 1, 1024: 1, 1025: 2, 2049: 3} {
		it := map[string]types.AttributeValue{}
		if size > 0 {
			it["a"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", size-len("a"))}
		}

		if got := idemddbtest.WriteUnits(it); got != want {
			t.Errorf("%d bytes: got %v units, want %v", size, got, want)
		}
	}
}

// What each duplicate costs whose record holds a result of 3 KB.
func ExampleWriteUnits() {
	fmt.Println(idemddbtest.WriteUnits(map[string]types.AttributeValue{
		"pk":  &types.AttributeValueMemberS{Value: "payments#payment-1"},
		"res": &types.AttributeValueMemberB{Value: make([]byte, 3<<10)},
	}))
	// Output: 4
}
