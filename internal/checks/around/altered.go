package around

import (
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Change returns another expression in place of one, which may be nil. The operation is "update", "put", "update in a
// transaction" or "put in a transaction".
type Change func(operation string, expression *string) *string

// Altered returns a copy of a request with other expressions, and with those of its names and values that these still name, so
// that what notices the change is the meaning of the request. It returns any other request than one that updates or puts an item
// as it is. update may be nil.
func Altered(in any, condition, update Change) any {
	w := writes{condition, update}

	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		out := *in
		w.change("update", &out.ConditionExpression, &out.UpdateExpression, &out.ExpressionAttributeNames, &out.ExpressionAttributeValues)

		return &out
	case *dynamodb.PutItemInput:
		out := *in
		w.change("put", &out.ConditionExpression, nil, &out.ExpressionAttributeNames, &out.ExpressionAttributeValues)

		return &out
	case *dynamodb.TransactWriteItemsInput:
		out := *in
		out.TransactItems = slices.Clone(in.TransactItems)

		for i, it := range out.TransactItems {
			out.TransactItems[i] = w.item(it)
		}

		return &out
	default:
		return in
	}
}

// writes has what becomes of the condition and of the update of a write.
type writes struct{ condition, update Change }

func (w writes) item(it types.TransactWriteItem) types.TransactWriteItem {
	if it.Update != nil {
		u := *it.Update
		w.change("update in a transaction", &u.ConditionExpression, &u.UpdateExpression, &u.ExpressionAttributeNames, &u.ExpressionAttributeValues)
		it.Update = &u
	}

	if it.Put != nil {
		p := *it.Put
		w.change("put in a transaction", &p.ConditionExpression, nil, &p.ExpressionAttributeNames, &p.ExpressionAttributeValues)
		it.Put = &p
	}

	return it
}

// change changes the expressions of one write. A put has no update.
func (w writes) change(operation string, condition, update **string, names *map[string]string, values *map[string]types.AttributeValue) {
	*condition = w.condition(operation, *condition)
	all := []*string{*condition}

	if update != nil {
		if w.update != nil {
			*update = w.update(operation, *update)
		}

		all = append(all, *update)
	}

	*names, *values = used(*names, all), used(*values, all)
}

var placeholder = regexp.MustCompile(`[#:]\w+`)

// used returns the names or values that the expressions still name; nil if they name none.
func used[V any](all map[string]V, expressions []*string) map[string]V {
	kept := map[string]V{}

	for _, expression := range expressions {
		if expression == nil {
			continue
		}

		for _, name := range placeholder.FindAllString(*expression, -1) {
			if v, ok := all[name]; ok {
				kept[name] = v
			}
		}
	}

	if len(kept) == 0 {
		return nil
	}

	return kept
}

// HasRaceDetector reports whether the test is built with the race detector.
func HasRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()

	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
