package protocol_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/internal/protocol"
)

func reasons(codes ...string) []types.CancellationReason {
	all := make([]types.CancellationReason, len(codes))
	for i, code := range codes {
		all[i].Code = &code
	}

	return all
}

// joined demands that the parts fit into one transaction.
func joined(t *testing.T, parts ...protocol.Part) *protocol.Joined {
	t.Helper()

	j := &protocol.Joined{}
	for i, p := range parts {
		if !j.Take(p) {
			t.Fatalf("part %d is left out", i)
		}
	}

	return j
}

func TestWhatACancelledTransactionSaysOfARecordAndItsTwoEffects(t *testing.T) {
	t.Parallel()

	const none, failed, conflict = "None", "ConditionalCheckFailed", "TransactionConflict"

	part := protocol.Part{Record: &types.TransactWriteItem{}, Effects: make([]types.TransactWriteItem, 2)}

	type refusal = protocol.Refusal

	refused := func(o protocol.Outcome, r *refusal) protocol.Cancelled {
		return protocol.Cancelled{Answer: protocol.Answer{Outcome: o, Refusal: r}}
	}
	held := protocol.Answer{Outcome: protocol.Unprocessed}

	for name, c := range map[string]struct {
		reasons []types.CancellationReason
		want    protocol.Cancelled
	}{
		"an effect is refused":               {reasons(none, "", failed), refused(protocol.EffectRefused, &refusal{Index: 1, Code: failed})},
		"an effect can never be written":     {reasons(none, "ValidationError", none), refused(protocol.EffectRefused, &refusal{Code: "ValidationError"})},
		"the record is refused":              {reasons(failed, failed, none), refused(protocol.Refused, nil)},
		"the record can never be written":    {reasons("ValidationError", failed, none), refused(protocol.EffectRefused, &refusal{Index: -1, Code: "ValidationError"})},
		"the record may be written later":    {reasons("ValidationError", none, conflict), protocol.Cancelled{Answer: held, IsConflict: true, Conflicts: []int{1}}},
		"a refused effect beside a conflict": {reasons(none, failed, conflict), protocol.Cancelled{Answer: held, IsConflict: true, Conflicts: []int{1}}},
		"the record is held":                 {reasons(conflict, failed, none), protocol.Cancelled{Answer: held, IsConflict: true, IsHeld: true}},
		"an item is throttled":               {reasons(none, "ThrottlingError", none), protocol.Cancelled{Answer: held, IsHeld: true}},
		"a reason that nobody knows":         {reasons(none, none, "SomethingNew"), protocol.Cancelled{Answer: held, IsHeld: true}},
		"another part stood in the way":      {reasons(none, "", none), protocol.Cancelled{Answer: held, IsInnocent: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := joined(t, part).ReadCancelled(c.reasons)
			if err != nil {
				t.Fatal(err)
			}

			texts := cmpopts.IgnoreFields(refusal{}, "Message", "Cause")
			if diff := cmp.Diff(c.want, got[0], texts, cmpopts.IgnoreFields(protocol.Answer{}, "Err")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachPartHasItsOwnReasons(t *testing.T) {
	t.Parallel()

	two, record := make([]types.TransactWriteItem, 2), &types.TransactWriteItem{}
	parts := []protocol.Part{{Record: record, Effects: two}, {Record: record}, {Effects: two}}

	got, err := joined(t, parts...).ReadCancelled(reasons("None", "None", "None", "ConditionalCheckFailed", "None", "ConditionalCheckFailed"))
	if err != nil || !got[0].IsInnocent || got[1].Outcome != protocol.Refused || got[2].Refusal == nil || got[2].Refusal.Index != 1 {
		t.Fatalf("%+v, %v", got, err)
	}

	if want := "the transaction was cancelled: item 3: ConditionalCheckFailed, item 5: ConditionalCheckFailed"; got[0].Err.Error() != want {
		t.Errorf("got %q, want %q", got[0].Err, want)
	}
}

func TestReasonsThatAreNotThoseOfTheItemsProveNothing(t *testing.T) {
	t.Parallel()

	part := protocol.Part{Record: &types.TransactWriteItem{}, Effects: make([]types.TransactWriteItem, 1)}

	for _, codes := range [][]string{nil, {"ConditionalCheckFailed"}, {"None", "None", "None"}} {
		if _, err := joined(t, part).ReadCancelled(reasons(codes...)); !errors.Is(err, protocol.ErrNoContent) {
			t.Errorf("%q: %v", codes, err)
		}
	}
}
