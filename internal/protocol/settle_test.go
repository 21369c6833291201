package protocol_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

func TestAWriteThatMayHaveBeenAppliedStaysSo(t *testing.T) {
	t.Parallel()

	f := &protocol.Fenced{}
	for _, outcome := range []protocol.Outcome{protocol.Unprocessed, protocol.Unknown, protocol.Unprocessed, protocol.Refused} {
		isUnknown := f.IsUnknown || outcome == protocol.Unknown

		if _, err := f.Read(protocol.Answer{Outcome: outcome}); err != nil || f.IsUnknown != isUnknown {
			t.Errorf("after outcome %d: unknown %t, want %t", outcome, f.IsUnknown, isUnknown)
		}
	}
}

func TestWhichMessagesStayInARecord(t *testing.T) {
	t.Parallel()

	one := make([]record.Message, 1)
	table := protocol.NewTable(protocol.Config{})

	for _, c := range []struct{ left, parked []record.Message }{{nil, nil}, {one, nil}, {nil, one}, {one, one}} {
		removal := &protocol.Removal{Record: &record.Stored{Token: new("other")}, Left: c.left, Parked: c.parked}

		update := *table.Update(table.Remove("p", removal, time.Time{}), types.ReturnValueUpdatedNew).UpdateExpression
		if left, parked := strings.Contains(update, "outbox = "), strings.Contains(update, "parked = "); left != (c.left != nil) || parked != (c.parked != nil) {
			t.Errorf("%d left and %d parked: %s", len(c.left), len(c.parked), update)
		}
	}
}
