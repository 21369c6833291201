package storage

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
)

func TestWriteUnitsBeginAnewAtEachKilobyte(t *testing.T) {
	t.Parallel()

	for size, want := range map[int]int{0: 1, 1023: 1, 1024: 1, 1025: 2, 2049: 3} {
		it := attribute.Item{}
		if size > 0 {
			it["a"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", size-len("a"))}
		}

		if got := writeUnits(it); got != want {
			t.Errorf("%d bytes: got %v units, want %v", size, got, want)
		}
	}
}
