package strictjson_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

const (
	brackets = "brackets hold one index, counted from 0, such as [0]"
	inQuotes = "write it in double quotes: "
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ path, want string }{
		"an empty path":                           {"", "is empty; write the name of a member, such as paymentId"},
		"a path with white space around it":       {" a", "has white space around it"},
		"a path that is not UTF-8":                {"a\xff", "is not valid UTF-8"},
		"JSONPath":                                {"$.orderId", "is written in JSONPath; leave out the $ and the dot behind it, as in orderId for $.orderId"},
		"JSONPath with brackets":                  {"$['orderId']", "is written in JSONPath"},
		"JSONPath's whole value":                  {"$", "stands for the whole value"},
		"JMESPath's whole value":                  {"@", "stands for the whole value, which is no key; write the names of the parts"},
		"a member of JMESPath's whole value":      {"@.orderId", "is written in JMESPath; leave out the @"},
		"a path with a dot at its beginning":      {".orderId", "begins with a dot; leave that out"},
		"a path with a dot at its end":            {"a.", "has no name where one must stand"},
		"a path with two dots":                    {"a..b", "has no name where one must stand"},
		"a path that is a very long name of dots": {strings.Repeat(".", 1<<16), "begins with a dot"},

		"a path with a slash":                  {"/order/id", inQuotes + `"/order/id"`},
		"a name with a hyphen, without quotes": {"order-id", inQuotes + `"order-id"`},
		"a later name with a hyphen":           {"detail.order-id.n", inQuotes + `"order-id"`},
		"a name with a $":                      {"$schema", inQuotes + `"$schema"`},
		"a name with an @":                     {"a.@type", inQuotes + `"@type"`},
		"a name with a space":                  {"order id", inQuotes + `"order id"`},
		"a name with an umlaut":                {"größe", inQuotes + `"größe"`},
		"a name that begins with a digit":      {"1st", inQuotes + `"1st"`},
		"a name that ends with a bracket":      {"a]", inQuotes + `"a]"`},
		"an index behind a dot":                {"orders.0.id", `write [0] for an element of an array, or "0" for a member of that name`},

		"a fallback":              {"a || 'x'", "has an operator, but a path picks one part and has no fallback"},
		"a pipe":                  {"a|b", "has an operator"},
		"a comparison":            {"a == b", "has an operator"},
		"a negation":              {"!a", "has an operator"},
		"a function":              {"length(@)", "calls a function, but a path cannot compute"},
		"a function of elements":  {"sum(items[].amount)", "calls a function"},
		"all members":             {"*", "has a *, but a path picks one part"},
		"all members of a member": {"a.*", "has a *"},
		"a constant":              {"'id'", "has a constant; a name stands without quotes, or in double quotes"},
		"a literal of JMESPath":   {"`1`", "has a constant"},
		"two paths in one":        {"a,b", "has a comma; give each path as an argument of its own"},
		"an object":               {"{a: b}", "builds an object; give each path as an argument of its own"},

		"a list":                                {"[a, b]", brackets},
		"all elements":                          {"items[*].id", "has [*], but " + brackets},
		"all elements, flattened":               {"items[].id", "has [], but " + brackets},
		"an index from the end":                 {"items[-1]", "has [-1], but " + brackets},
		"an index with a sign":                  {"items[+1]", brackets},
		"an index with a leading zero":          {"items[01]", brackets},
		"an index beyond 64 bits":               {"items[99999999999999999999]", brackets},
		"a slice":                               {"items[0:1]", brackets},
		"a filter":                              {"items[?id=='a']", brackets},
		"a name in brackets":                    {"a['order-id']", `write it behind a dot, in double quotes, as in detail."order-id"`},
		"a name in brackets and double quotes":  {`["order-id"]`, "has a name in brackets"},
		"a bracket without its end":             {"a[0", "has a [ without its ]"},
		"a name behind an index, without a dot": {"a[0]b", "has no dot before the name at its end, `b`"},
		"a name behind another, without a dot":  {`"a"b`, "has no dot before"},

		"quotes in the middle of a name":         {`a"b"`, inQuotes + `"a\"b\""`},
		"a quote without its end":                {`a."b`, "has a double quote without its second one"},
		"a quote whose end is escaped":           {`"a\"`, "has a double quote without its second one"},
		"a quote that ends with a backslash":     {`"a\`, "has a double quote without its second one"},
		"an escape that JSON does not know":      {`"a\x"`, "has a name in double quotes that, as a JSON string, is not exactly one JSON value"},
		"half a surrogate pair in a quoted name": {`"\ud800"`, "has half a surrogate pair"},
		"a control character in a quoted name":   {"\"a\nb\"", "has a name in double quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for _, paths := range [][]string{{test.path}, {"id", test.path}} {
				parsed, err := strictjson.ParsePaths(paths...)
				if err == nil || parsed != nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("path %#q ", test.path)) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("paths %v, error %v, want one that says %q", parsed, err, test.want)
				}
			}
		})
	}

	if parsed, err := strictjson.ParsePaths(); parsed != nil || err == nil || err.Error() != "needs at least one path, such as paymentId" {
		t.Errorf("no path: paths %v, error %v", parsed, err)
	}
}

func TestPathsPick(t *testing.T) {
	t.Parallel()

	const text = `{"a":{"b":[{"c":1},[2,{"_d9":3}]],"":4,"x.y":{"z[0]":5},"q\"\\":6,"é":7,"0":8,"*":9},"C":10,"Message":"{\"a\":[\"[11]\",\"12\"]}"}`

	for path, want := range map[string]string{
		`a.b[0].c`: "#1", `a.b[1][0]`: "#2", `a.b[1][1]._d9`: "#3", `a.""`: "#4", `a."x.y"."z[0]"`: "#5", `a."q\"\\"`: "#6", `a."é"`: "#7",
		`"\u0061"."\u00e9"`: "#7", `a."0"`: "#8", `a."*"`: "#9", `C`: "#10", `Message.a[0][0]`: "#11", `Message.a[0]`: "[11]", `Message.a[1]`: "12",
	} {
		if got := mustKey(t, text, path); got != want {
			t.Errorf("%s has the key %s, want %s", path, got, want)
		}
	}
}

func TestPathsPickNothing(t *testing.T) {
	t.Parallel()

	const text = `{"object":{"0":1,"id":2},"array":[3,{"id":4}],"number":5,"null":null,"true":true,"json":"6","word":"s3cr3t"}`

	for path, want := range map[string]string{
		"object[0]":     "path `object[0]` picks nothing: `object` is an object, where the path needs an array",
		"array.id":      "`array` is an array, where the path needs an object",
		`array."0"`:     "`array` is an array, where the path needs an object",
		"array[2]":      "`array[2]` is absent",
		"array[1].a.b":  "`array[1].a` is absent",
		"number.id":     "`number` is a number, where the path needs an object",
		"null.id":       "`null` is null, where the path needs an object",
		"true[0]":       "`true` is a boolean, where the path needs an array",
		"json.id":       "`json` is a number, where the path needs an object",
		"word.id":       "reads `word`, a string, as JSON, but it is not exactly one JSON value",
		"Object.id":     "`Object` is absent",
		"[0]":           "the whole value is an object, where the path needs an array",
		"object.id[0]":  "`object.id` is a number, where the path needs an array",
		"none.of.these": "path `none.of.these` picks nothing: `none` is absent",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			checkNoKey(t, text, want, path)
		})
	}

	checkNoKey(t, `"s3cr3t"`, "reads the whole value, a string, as JSON, but it is not exactly one JSON value", "id")
}

func TestPathsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	paths := mustParse(t, "id", "Message.n[1]")

	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			want := fmt.Sprintf(`#[%d,{"a":2,"b":1}]`, i)
			for range 100 {
				if got, err := keyOf(fmt.Sprintf(`{"id":%d,"Message":"{\"n\":[0,{\"b\":1,\"a\":2}]}"}`, i), paths); err != nil || got != want {
					t.Errorf("key %s, %v, want %s", got, err, want)
				}
			}
		})
	}

	wait.Wait()
}
