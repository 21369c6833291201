package idemddb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// plus is an addition to n of an effect.
func plus(name, n string) idemddb.Add {
	return idemddb.Add{Table: "records", Key: counted(name).Update.Key, Values: map[string]types.AttributeValue{"n": &types.AttributeValueMemberN{Value: n}}}
}

func plusAll(adds ...idemddb.Add) idemddb.Effects { return idemddb.Effects{Adds: adds} }

// changed is an addition of 1 to a with a change.
func changed(change func(*idemddb.Add)) idemddb.Effects {
	a := plus("a", "1")
	change(&a)

	return plusAll(a)
}

func TestStageRefusesAdditionsThatAreNotWellFormed(t *testing.T) {
	number := func(name string, v types.AttributeValue) idemddb.Effects {
		return changed(func(a *idemddb.Add) { a.Values = map[string]types.AttributeValue{name: v} })
	}

	checkRefusedEffects(t, map[string]refusedEffects{
		"no table":            {plusAll(plus("b", "1")), changed(func(a *idemddb.Add) { a.Table = "" }), "add 1: its TableName is empty"},
		"no key":              {e: changed(func(a *idemddb.Add) { a.Key = nil }), want: "add 0: its key is empty"},
		"no values":           {e: changed(func(a *idemddb.Add) { a.Values = nil }), want: "its Values are empty"},
		"no number":           {e: number("n", text("1")), want: `attribute "n": it must be a number`},
		"a set of numbers":    {e: number("n", &types.AttributeValueMemberNS{Value: []string{"1"}}), want: "it must be a number"},
		"nothing":             {e: number("n", nil), want: "it must be a number"},
		"a number of no kind": {e: plusAll(plus("a", "one")), want: "it is no number"},
		"39 digits":           {e: plusAll(plus("a", strings.Repeat("1", 39))), want: "more than 38 digits"},
		"too large":           {e: plusAll(plus("a", "1e126")), want: "more than 38 digits, or is larger"},
		"no name":             {e: number("", &types.AttributeValueMemberN{Value: "1"}), want: "the name of an attribute is empty"},
		"a key attribute":     {e: number("pk", &types.AttributeValueMemberN{Value: "1"}), want: `attribute "pk" belongs to its key`},
		"added and required":  {e: changed(func(a *idemddb.Add) { a.Requires = []string{"n"} }), want: `"n" is one of its Values and in its Requires or Unless`},
		"added and excluded":  {e: changed(func(a *idemddb.Add) { a.Unless = []string{"n"} }), want: `"n" is one of its Values and in its Requires or Unless`},
		"both":                {e: changed(func(a *idemddb.Add) { a.Requires, a.Unless = []string{"x"}, []string{"x"} }), want: `"x" is in its Requires and in its Unless`},
		"unless it is there":  {e: changed(func(a *idemddb.Add) { a.Unless = []string{"pk"} }), want: "so only the first addition could pass"},
		"requires nothing":    {e: changed(func(a *idemddb.Add) { a.Requires = []string{""} }), want: "the name of an attribute is empty"},
	})
}

func TestStageRefusesAnAdditionAndAnotherEffectOnOneItem(t *testing.T) {
	byARN, closed, own := plus("a", "1"), plus("a", "1"), plus("a", "1")
	byARN.Table = "arn:aws:dynamodb:us-east-1:111122223333:table/records"
	closed.Unless = []string{"closed"}
	own.Key = map[string]types.AttributeValue{"pk": text("test#k")}

	var many idemddb.Effects
	for i := range 100 {
		many.Adds = append(many.Adds, plus(fmt.Sprint(i), "1"))
	}

	checkRefusedEffects(t, map[string]refusedEffects{
		"an update":          {items(counted("a")), plusAll(plus("a", "1")), "add 0: it is the same item as item 0"},
		"a Put":              {plusAll(plus("a", "1")), items(putOf("effect a", "")), "add 0: it is the same item as item 0"},
		"by its ARN":         {items(counted("a")), plusAll(byARN), "the same item"},
		"the record itself":  {e: plusAll(own), want: "add 0: it is the record of the key itself"},
		"another condition":  {plusAll(plus("a", "1")), plusAll(closed), "add 1: it is of the same item as add 0, and has other Requires or Unless"},
		"a sum of 39 digits": {plusAll(plus("a", "1e38")), plusAll(plus("a", "1")), `the sum of all Adds to attribute "n" of an item has more than 38 digits`},
		"100 items":          {items(counted("x")), idemddb.Effects{Adds: many.Adds[:99]}, "101 items: 1 record and 100 of yours"},
		"an item of 400 KB": {e: changed(func(a *idemddb.Add) {
			a.Key = map[string]types.AttributeValue{"pk": text(strings.Repeat("x", 401<<10))}
		}), want: "an item holds 409600"},
	})
}

func TestAdditionsToOneItemCountAsOne(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		var e idemddb.Effects
		for i := range 198 {
			a := plus(fmt.Sprint(i%99), "1")
			a.Unless = []string{"closed", "locked"}

			if i >= 99 { // the order says nothing
				slices.Reverse(a.Unless)
			}

			e.Adds = append(e.Adds, a)
		}

		_, err := f.store.Commit(f.Context(), "k", nil, nil, e)
		must(f, err)
		happened(f, f.db, "0", 2)
		f.wantSizes(100)
	})
}

// The position of an addition is behind that of all items, whichever call of Stage they came by.
func TestEachEffectHasTheRefusedOfItsOwnCallOfStage(t *testing.T) {
	t.Parallel()

	for want, refused := range map[string]int{"first": 0, "second": 1, "third": 2} {
		for _, isAdd := range []bool{false, true} {
			t.Run(fmt.Sprint(want, " ", isAdd), func(t *testing.T) {
				t.Parallel()

				s, db := newStore(t, nil)
				_, err := s.Commit(t.Context(), "before", nil, nil, items(counted("closed")))
				must(t, err)

				begun := beginWork(t, s, "k", nil)
				index, got := refused, ""

				for i, name := range []string{"first", "second", "third"} {
					e := idemddb.Effects{Items: items(onlyOnce(name), onlyOnce(name+"!")).Items, Adds: []idemddb.Add{plus("add "+name, "1")}}
					e.Refused = func(e *idemddb.EffectError) error {
						got = name

						if e.Index != index {
							t.Errorf("got index %d, want %d", e.Index, index)
						}

						return errors.New("refused")
					}

					switch {
					case i == refused && isAdd:
						e.Adds[0] = plus("closed", "1")
						e.Adds[0].Values["m"], e.Adds[0].Unless = e.Adds[0].Values["n"], []string{"n"}
						delete(e.Adds[0].Values, "n")
						index = 6 + i
					case i == refused:
						e.Items[1] = onlyOnce("closed")
						index = 2*i + 1
					}

					must(t, idemddb.Stage(begun.Context(t.Context()), e))
				}

				if ending := begun.Settle(t.Context(), nil, nil); ending.Done || got != want {
					t.Errorf("Refused of %q was asked: %+v", got, ending)
				}

				happened(t, db, "add first", 0)
			})
		}
	}
}

// Of the additions that would share a transaction, that of a caller who leaves is not in the sum.
func TestTheNumberOfACallerWhoLeavesLeavesTheSum(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.Intercept(faultUntil(3*time.Second, idemddbtest.LostRequest, idemddbtest.LostRequest))

		impatient := within(f, time.Second)
		waits := []func() (*idemddb.Record, error){
			f.batch.Commit(impatient, "0", nil, nil, plusAll(plus("a", "1"))),
			f.batch.Commit(f.Context(), "1", nil, nil, plusAll(plus("a", "2"))),
			f.batch.Commit(f.Context(), "2", nil, nil, plusAll(plus("a", "4"))),
		}

		f.batch.FlushCommits()

		for i, want := range []error{idemddb.ErrUncommitted, nil, nil} {
			if _, err := waits[i](); !errors.Is(err, want) {
				t.Errorf("key %d: got %v, want %v", i, err, want)
			}
		}

		happened(f, f.db, "a", 6)
	})
}
