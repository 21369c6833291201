package audit_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// odd are values that no service sends, or that no attribute has.
func odd() []types.AttributeValue {
	return []types.AttributeValue{
		nil, (*types.AttributeValueMemberS)(nil), (*types.AttributeValueMemberN)(nil), (*types.AttributeValueMemberB)(nil),
		(*types.AttributeValueMemberM)(nil), (*types.AttributeValueMemberL)(nil), (*types.AttributeValueMemberSS)(nil),
		(*types.AttributeValueMemberNS)(nil), (*types.AttributeValueMemberBS)(nil), (*types.AttributeValueMemberBOOL)(nil),
		(*types.AttributeValueMemberNULL)(nil), &types.UnknownUnionMember{}, &types.AttributeValueMemberN{Value: "1e400"},
		&types.AttributeValueMemberN{Value: "-9223372036854775808"}, &types.AttributeValueMemberN{Value: "9223372036854775807"},
		&types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberSS{Value: []string{"b", "a"}},
		&types.AttributeValueMemberNS{Value: []string{"1"}}, &types.AttributeValueMemberBS{Value: [][]byte{{0}}}, list(nil, list()),
		list(&types.AttributeValueMemberM{Value: attributes{"i": nil, "to": list()}}), &types.AttributeValueMemberM{}, text("\xff#\x00/:"),
	}
}

// No input makes the checker panic, and none that leaves the item as it was is a violation.
func FuzzCheck(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, "payments#p-1", int64(0))
	f.Add([]byte{9, 40, 3, 7, 22, 5, 200, 0}, "#", start)
	f.Add([]byte(`{"what":"forget"}`), `{"what":"forget","by":"","why":"","at":"2030-01-01T00:00:00Z","id":"1"}`, int64(-1))

	names := append(slices.Sorted(maps.Keys(plausible())), "pk")

	f.Fuzz(func(t *testing.T, program []byte, content string, ms int64) {
		checker, err := audit.NewChecker(audit.Options{})
		if err != nil {
			t.Fatal(err)
		}

		values := append(odd(), text(content), num(ms), blob(content))
		records := []attributes{nil, claimed(), takenOver(), done(), unsent(), parked(), failed(), anew()}
		before := records[len(program)%len(records)]

		for len(program) >= 3 {
			after := but(records[int(program[0])%len(records)], attributes{})
			if len(after) > 0 {
				after[names[int(program[1])%len(names)]] = values[int(program[2])%len(values)]
			}

			checker.Check(audit.Change{Before: before, After: after, Time: at(ms), ByTimeToLive: program[0] > 200})

			if got := checker.Check(audit.Change{Before: after, After: after, Time: at(ms)}); len(after) > 0 && len(got.Violations) > 0 {
				t.Errorf("no change is a violation:%s", told(got.Violations))
			}

			before, program = after, program[3:]
		}

		report := checker.Report()
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}

		_, _ = report.String(), report.Err()
	})
}
