package protocol

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

// Addition adds numbers to attributes of one item, which is made if it is missing. Additions commute, so those of several parts
// of a transaction to one item are one update with the sums, where they have the same Item and As.
type Addition struct {
	Table    string
	Key      Item
	Values   map[string]*dbitem.Number // by attribute
	Requires []string                  // attributes that the item must have
	Unless   []string                  // attributes that the item must not have

	Item  string // the same for each write of this item
	As    string // the same for additions under the same condition
	Index int    // of the effect in its part, in a Refusal
}

// AsOf returns the text for the condition of an addition.
func AsOf(requires, unless []string) string {
	text := []byte("+")
	for _, name := range requires {
		text = strconv.AppendQuote(append(text, '\n'), name)
	}

	for _, name := range unless {
		text = strconv.AppendQuote(append(text, "\n-"...), name)
	}

	return string(text)
}

// sum is the update that joins additions to one item.
type sum struct {
	*Addition // the first of them; only its values are not those of the sum

	values map[string]*dbitem.Number
	parts  int // that add to it
}

// plus returns the values of the sum together with those of another addition. It returns nil if DynamoDB could only hold one of
// them rounded.
func (s *sum) plus(a *Addition) map[string]*dbitem.Number {
	values := maps.Clone(s.values)
	addTo(values, a.Values)

	for name := range a.Values {
		if !values[name].IsHeld() {
			return nil
		}
	}

	return values
}

// addTo adds numbers to those with the same names.
func addTo(sums, numbers map[string]*dbitem.Number) {
	for name, n := range numbers {
		if before := sums[name]; before != nil {
			n = before.Plus(n)
		}

		sums[name] = n
	}
}

// item returns the sum as an item of a transaction. All names have aliases, because any of them may be a reserved word.
//
// The update alone could be applied any number of times. It is safe because it stands beside the records of all whose numbers it
// has: each has the condition of a claim or of a completion, and the transaction writes all or nothing. So whichever try of
// whichever composition is applied, and however late, it adds the numbers of exactly those keys that it completes.
//
// The condition may be joined because no addition changes what it asks for: it names no attribute that is added to, and no value.
// So all additions of the sum, one after the other in any order, would be accepted, or each of them would be refused.
func (s *sum) item() types.TransactWriteItem {
	names, values := map[string]string{}, Item{}

	var adds, conditions []string

	alias := func(name string) string {
		short := "#n" + strconv.Itoa(len(names))
		names[short] = name

		return short
	}

	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		short := alias(name)
		place := ":" + short[1:]
		values[place] = &types.AttributeValueMemberN{Value: s.values[name].String()}
		adds = append(adds, short+" "+place)
	}

	for _, name := range s.Requires {
		conditions = append(conditions, "attribute_exists("+alias(name)+")")
	}

	for _, name := range s.Unless {
		conditions = append(conditions, "attribute_not_exists("+alias(name)+")")
	}

	u := &types.Update{
		TableName: &s.Table, Key: s.Key, UpdateExpression: new("ADD " + strings.Join(adds, ", ")),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}

	if len(conditions) > 0 {
		u.ConditionExpression = new(strings.Join(conditions, " AND "))
	}

	return types.TransactWriteItem{Update: u}
}

// Sum returns the additions of one part together with another one.
func Sum(all []Addition, a Addition) []Addition {
	at := slices.IndexFunc(all, func(other Addition) bool { return other.Item == a.Item && other.As == a.As })
	if at < 0 {
		return append(all, a)
	}

	addTo(all[at].Values, a.Values)

	return all
}
