package protocol_test

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// adds is a part with an effect, and additions of n to the attribute of each of these items.
func adds(t *testing.T, n string, items ...string) protocol.Part {
	t.Helper()

	part := protocol.Part{Record: &types.TransactWriteItem{}, Effects: make([]types.TransactWriteItem, 1)}

	for i, item := range items {
		number, err := dbitem.ParseNumber(n)
		if err != nil {
			t.Fatal(err)
		}

		part.Adds = append(part.Adds, protocol.Addition{
			Table: "t", Item: item, As: "+", Index: 7 + i, Values: map[string]*dbitem.Number{"n": number},
		})
	}

	return part
}

// sums returns the numbers that a transaction adds, in the order of its items.
func sums(j *protocol.Joined) (all []string) {
	for _, it := range j.Items() {
		if it.Update == nil {
			continue
		}

		for v := range maps.Values(it.Update.ExpressionAttributeValues) {
			n, _ := v.(*types.AttributeValueMemberN)
			all = append(all, n.Value)
		}
	}

	return all
}

func TestAdditionsOfSeveralPartsToOneItemAreOneUpdate(t *testing.T) {
	t.Parallel()

	j := joined(t, adds(t, "1", "x"), adds(t, "2.5", "x", "y"), adds(t, "-4", "y"))

	if diff := cmp.Diff([]string{"3.5", "-1.5"}, sums(j)); diff != "" || len(j.Items()) != 8 {
		t.Errorf("%d items, sums (-want +got):\n%s", len(j.Items()), diff)
	}
}

func TestAdditionsUnderAnotherConditionAreNotJoined(t *testing.T) {
	t.Parallel()

	other := adds(t, "1", "x")
	other.Adds[0].As = protocol.AsOf(nil, []string{"closed"})

	if got := sums(joined(t, adds(t, "1", "x"), other)); len(got) != 2 {
		t.Errorf("got sums %v", got)
	}
}

func TestWhatTwoConditionsAskForIsNotOneText(t *testing.T) {
	t.Parallel()

	texts := map[string]bool{}
	for _, names := range [][2][]string{{}, {{"a"}}, {nil, {"a"}}, {{"a", "b"}}, {{`a"`, "b"}}, {{"a"}, {"b"}}, {{"a\n-b"}}, {nil, {"a", "b"}}} {
		texts[protocol.AsOf(names[0], names[1])] = true
	}

	if len(texts) != 8 || texts[""] {
		t.Errorf("got %v", texts)
	}
}

// A number that DynamoDB could only hold rounded is not added: its part is left out, and the sums are as before.
func TestAPartIsLeftOutIfASumWouldHaveTooManyDigits(t *testing.T) {
	t.Parallel()

	j := joined(t, adds(t, "1e37", "x"), adds(t, "2", "y"))

	if j.Take(adds(t, "0.1", "y", "x")) || !j.Take(adds(t, "1", "x")) {
		t.Error("the wrong part is left out")
	}

	if diff := cmp.Diff([]string{"10000000000000000000000000000000000001", "2"}, sums(j)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheExpressionsOfAnAddition(t *testing.T) {
	t.Parallel()

	part := adds(t, "7", "x")
	part.Adds[0].Requires, part.Adds[0].Unless = []string{"owner"}, []string{"closed", "locked"}

	u := joined(t, part).Items()[2].Update
	if *u.UpdateExpression != "ADD #n0 :n0" ||
		*u.ConditionExpression != "attribute_exists(#n1) AND attribute_not_exists(#n2) AND attribute_not_exists(#n3)" ||
		u.ReturnValuesOnConditionCheckFailure != types.ReturnValuesOnConditionCheckFailureAllOld {
		t.Errorf("got %q if %q", *u.UpdateExpression, *u.ConditionExpression)
	}

	if diff := cmp.Diff(map[string]string{"#n0": "n", "#n1": "owner", "#n2": "closed", "#n3": "locked"}, u.ExpressionAttributeNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestWhatACancelledTransactionSaysOfSums(t *testing.T) {
	t.Parallel()

	const none, failed, conflict = "None", "ConditionalCheckFailed", "TransactionConflict"

	for name, c := range map[string]struct {
		reasons []string // of a record, an effect, a record, an effect, the sum x, the sum y
		first   protocol.Cancelled
		second  protocol.Cancelled
	}{
		"a record is refused": {
			[]string{failed, none, none, none, none, none},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Refused}},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsInnocent: true},
		},
		"a record is refused, and the sum": {
			[]string{failed, none, none, none, failed, none},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Refused}},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.NotShared}},
		},
		"a sum of two parts is refused": {
			[]string{none, none, none, none, failed, none},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.NotShared}},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.NotShared}},
		},
		"a sum of two parts can never be written": {
			[]string{none, none, none, none, "ValidationError", none},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.NotShared}},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.NotShared}},
		},
		"an addition of one part is refused": {
			[]string{none, none, none, none, none, failed},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsInnocent: true},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.EffectRefused, Refusal: &protocol.Refusal{Index: 7, Code: failed}}},
		},
		"another transaction holds a sum": {
			[]string{none, none, none, none, conflict, none},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsConflict: true, Conflicts: []int{1}},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsConflict: true, Conflicts: []int{2}},
		},
		"another transaction holds the addition of one part": {
			[]string{none, none, none, none, none, conflict},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsInnocent: true},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsConflict: true, Conflicts: []int{1}},
		},
		"a refused sum beside a conflict of one part": {
			[]string{none, none, conflict, none, failed, none},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.NotShared}},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsConflict: true, IsHeld: true},
		},
		"an effect of one part is refused": {
			[]string{none, failed, none, none, none, none},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.EffectRefused, Refusal: &protocol.Refusal{Code: failed}}},
			protocol.Cancelled{Answer: protocol.Answer{Outcome: protocol.Unprocessed}, IsInnocent: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := joined(t, adds(t, "1", "x"), adds(t, "2", "y", "x")).ReadCancelled(reasons(c.reasons...))
			if err != nil {
				t.Fatal(err)
			}

			for i := range got {
				got[i].Err = nil
			}

			if diff := cmp.Diff([]protocol.Cancelled{c.first, c.second}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	if _, err := joined(t, adds(t, "1", "x")).ReadCancelled(reasons(none, none)); err == nil {
		t.Error("the reason of the sum is missing, and the reasons are read")
	}
}
