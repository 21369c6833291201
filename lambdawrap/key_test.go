package lambdawrap_test

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestMessageID(t *testing.T) {
	t.Parallel()

	first := events.SQSMessage{
		EventSourceARN: "arn:aws:sqs:eu-west-1:1:q", MessageId: "m-1", ReceiptHandle: "r-1",
		Attributes: map[string]string{"ApproximateReceiveCount": "1"},
	}
	again := first
	again.ReceiptHandle, again.Attributes = "r-2", map[string]string{"ApproximateReceiveCount": "2"}
	otherQueue, otherMessage := first, first
	otherQueue.EventSourceARN += "2"
	otherMessage.MessageId = "m-2"

	want := mustKey(t, lambdawrap.MessageID, first)
	if got := mustKey(t, lambdawrap.MessageID, again); got != want {
		t.Errorf("a redelivery has the key %q, want %q", got, want)
	}

	for _, m := range []events.SQSMessage{otherQueue, otherMessage} {
		if got := mustKey(t, lambdawrap.MessageID, m); got == want {
			t.Errorf("%s of %s shares the key %q", m.MessageId, m.EventSourceARN, got)
		}
	}

	checkNoKey(t, lambdawrap.MessageID, events.SQSMessage{EventSourceARN: "arn"}, "messageId")
	checkNoKey(t, lambdawrap.MessageID, events.SQSMessage{MessageId: "m"}, "eventSourceARN")
	checkNoKey(t, lambdawrap.MessageID, events.SQSMessage{EventSourceARN: "arn", MessageId: "m\xff"}, "UTF-8")
}

func TestDeduplicationID(t *testing.T) {
	t.Parallel()

	fifo := func(arn, group, id string) events.SQSMessage {
		return events.SQSMessage{
			EventSourceARN: arn, MessageId: rapid.String().Example(),
			Attributes: map[string]string{"MessageGroupId": group, "MessageDeduplicationId": id},
		}
	}

	want := mustKey(t, lambdawrap.DeduplicationID, fifo("arn.fifo", "g", "d"))
	if got := mustKey(t, lambdawrap.DeduplicationID, fifo("arn.fifo", "g", "d")); got != want {
		t.Errorf("what the producer sent again has the key %q, want %q", got, want)
	}

	for _, other := range []events.SQSMessage{
		fifo("b.fifo", "g", "d"), fifo("arn.fifo", "g2", "d"), fifo("arn.fifo", "g", "d2"), fifo("arn.fifo", `g","d`, ""), fifo("arn.fifo", "", "d"),
	} {
		if got, _ := lambdawrap.DeduplicationID(other); got == want {
			t.Errorf("%v shares the key %q", other.Attributes, got)
		}
	}

	checkNoKey(t, lambdawrap.DeduplicationID, fifo("arn", "g", ""), "MessageDeduplicationId")
	checkNoKey(t, lambdawrap.DeduplicationID, fifo("", "g", "d"), "eventSourceARN")
	checkNoKey(t, lambdawrap.DeduplicationID, fifo("arn", "g\xff", "d"), "UTF-8")
}

func TestAttribute(t *testing.T) {
	t.Parallel()

	message := func(dataType, text string, binary []byte) events.SQSMessage {
		return events.SQSMessage{MessageAttributes: map[string]events.SQSMessageAttribute{
			"order": {DataType: dataType, StringValue: &text, BinaryValue: binary},
		}}
	}
	key := lambdawrap.Attribute("order")

	got := map[string]string{}
	for name, m := range map[string]events.SQSMessage{
		"a string":                  message("String", "1", nil),
		"a string with a label":     message("String.uuid", "1", nil),
		"a number":                  message("Number", "1", nil),
		"a number, written longer":  message("Number", "1.0", nil),
		"a number beyond float64":   message("Number.int", "9007199254740993", nil),
		"binary":                    message("Binary", "", []byte("1")),
		"binary that is not UTF-8":  message("Binary", "", []byte{0xff, 0}),
		"a string with an encoding": message("String", "MQ==", nil),
		"a string of a space":       message("String", " ", nil),
	} {
		got[name] = mustKey(t, key, m)
	}

	want := map[string]string{
		"a string":                  `["String","1"]`,
		"a string with a label":     `["String","1"]`,
		"a number":                  `["Number","1"]`,
		"a number, written longer":  `["Number","1.0"]`,
		"a number beyond float64":   `["Number","9007199254740993"]`,
		"binary":                    `["Binary","MQ=="]`,
		"binary that is not UTF-8":  `["Binary","/wA="]`,
		"a string with an encoding": `["String","MQ=="]`,
		"a string of a space":       `["String"," "]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}

	for name, m := range map[string]events.SQSMessage{
		"no attributes":    {},
		"another one":      {MessageAttributes: map[string]events.SQSMessageAttribute{"Order": {DataType: "String"}}},
		"an empty string":  message("String", "", nil),
		"an empty number":  message("Number", "", nil),
		"no bytes":         message("Binary", "1", nil),
		"an unknown type":  message("s3cr3t", "s3cr3t", nil),
		"not UTF-8":        message("String", "s3cr3t\xff", nil),
		"no value pointer": {MessageAttributes: map[string]events.SQSMessageAttribute{"order": {DataType: "String"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkNoKey(t, key, m, `attribute "order"`)
		})
	}
}

// The key is a stored format: these texts must stay as they are, or every message runs once more after a deploy.
func TestBodyText(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		body  string
		parts []string
		want  string
	}{
		"a string":                           {`{"id":"p-1"}`, []string{"id"}, `"p-1"`},
		"a string of digits":                 {`{"id":"123"}`, []string{"id"}, `"123"`},
		"a number":                           {`{"id":123}`, []string{"id"}, `123`},
		"zero":                               {`{"id":0}`, []string{"id"}, `0`},
		"minus zero":                         {`{"id":-0.0e5}`, []string{"id"}, `0`},
		"false":                              {`{"id":false}`, []string{"id"}, `false`},
		"a space":                            {`{"id":" "}`, []string{"id"}, `" "`},
		"a number beyond 2^53":               {`{"id":9007199254740993}`, []string{"id"}, `9007199254740993`},
		"a number beyond uint64":             {`{"id":18446744073709551617}`, []string{"id"}, `18446744073709551617`},
		"a number of 40 digits":              {`{"id":1234567890123456789012345678901234567890}`, []string{"id"}, `1.23456789012345678901234567890123456789e+39`},
		"a fraction of many digits":          {`{"id":0.10000000000000000000000000000001}`, []string{"id"}, `0.10000000000000000000000000000001`},
		"1e20":                               {`{"id":1e20}`, []string{"id"}, `100000000000000000000`},
		"1e21":                               {`{"id":1000000000000000000000}`, []string{"id"}, `1e+21`},
		"1e-6":                               {`{"id":1E-06}`, []string{"id"}, `0.000001`},
		"1e-7":                               {`{"id":0.0000001}`, []string{"id"}, `1e-7`},
		"a number beyond float64's range":    {`{"id":-12e+0400}`, []string{"id"}, `-1.2e+401`},
		"a number too small for float64":     {`{"id":5e-400}`, []string{"id"}, `5e-400`},
		"the smallest exponent":              {`{"id":10e-1000000000000000000}`, []string{"id"}, `1e-999999999999999999`},
		"the largest exponent":               {`{"id":-0.12e1000000000000000000}`, []string{"id"}, `-1.2e+999999999999999999`},
		"zero with any exponent":             {`{"id":0e9999999999999999999999}`, []string{"id"}, `0`},
		"an escaped string":                  {`{"id":"\u0000\u001f\b\t\n\f\r\"\\\/\u00e9\ud83d\ude00\u2028<"}`, []string{"id"}, `"\u0000\u001f\b\t\n\f\r\"\\/é😀` + "\u2028" + `<"`},
		"an object":                          {"{\"id\":{ \"b\" : 1.50,\n\"a\":[null, true,{}]}}", []string{"id"}, `{"a":[null,true,{}],"b":1.5}`},
		"the whole body":                     {` "x" `, []string{"@"}, `"x"`},
		"two parts":                          {`{"a":"x","b":1}`, []string{"a", "b"}, `["x",1]`},
		"two parts, one of them absent":      {`{"a":"x"}`, []string{"a", "b"}, `["x",null]`},
		"two parts, one of them null":        {`{"a":"x","b":null}`, []string{"a", "b"}, `["x",null]`},
		"two parts, one of them empty":       {`{"a":"x","b":""}`, []string{"a", "b"}, `["x",""]`},
		"two parts, null and empty":          {`{"a":null,"b":""}`, []string{"a", "b"}, `[null,""]`},
		"a list in one part, as two parts":   {`{"a":"x","b":1}`, []string{"[a, b]"}, `["x",1]`},
		"a constant beside a part":           {`{"a":"x"}`, []string{"'v1'", "a"}, `["v1","x"]`},
		"a quoted member":                    {`{"a b":"x"}`, []string{`"a b"`}, `"x"`},
		"a member whose name holds a quote":  {`{"a\"b":"x"}`, []string{`"a\"b"`}, `"x"`},
		"an array":                           {`{"items":[{"id":2},{"id":1}]}`, []string{"items[*].id"}, `[2,1]`},
		"a sorted array":                     {`{"items":[{"id":2},{"id":1}]}`, []string{"sort(items[].id)"}, `[1,2]`},
		"the largest":                        {`{"items":[{"id":"a","n":2},{"id":"b","n":10}]}`, []string{"max_by(items, &n).id"}, `"b"`},
		"a filter by size":                   {`[{"id":1,"n":0.1},{"id":2,"n":5}]`, []string{"[?n > `1`].id"}, `[2]`},
		"a filter by equality":               {`[{"id":1,"n":1.0},{"id":2,"n":2}]`, []string{"[?n == `1`].id"}, `[1]`},
		"equality of numbers beyond float64": {`{"id":1,"a":9007199254740993,"b":9007199254740993.0,"c":9007199254740992}`, []string{"id", "a == b", "a == c"}, `[1,true,false]`},
		"contains with a number":             {`{"id":1,"n":[1.0,2]}`, []string{"id", "contains(n, `1`)", "contains(n, `3`)"}, `[1,true,false]`},
		"contains beyond float64":            {`{"id":1,"n":[9007199254740993],"m":9007199254740993,"o":9007199254740992}`, []string{"id", "contains(n, m)", "contains(n, o)"}, `[1,true,false]`},
		"the type of a number":               {`{"n":1.0}`, []string{"type(n)"}, `"number"`},
		"a number as a string":               {`{"n":1.0}`, []string{"to_string(n)"}, `"1"`},
		"a long number as a string":          {`{"n":[9007199254740993.0]}`, []string{"to_string(n)"}, `"[9007199254740993]"`},
		"a length":                           {`{"n":"é😀"}`, []string{"length(n)"}, `2`},
		"the member named U+FFFD":            {`{"n":"\ufffd"}`, []string{"n"}, `"` + "\ufffd" + `"`},
		"a function behind a pipe":           {`{"b":[[1]]}`, []string{"not_null(a, b) | []"}, `[1]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := mustKey(t, mustBody(t, test.parts...), events.SQSMessage{Body: test.body}); got != test.want {
				t.Errorf("key %s, want %s", got, test.want)
			}
		})
	}
}

func TestBodyEqualNumbers(t *testing.T) {
	t.Parallel()

	for _, spellings := range [][]string{
		{"1", "1.0", "1e0", "1E+00", "100e-2", "0.1e1", "0.0001e4", "1.000000000000000000000000"},
		{"0", "-0", "0.0", "-0e0", "0e10", "-0.00E-99999999999999999999999"},
		{"-1.5", "-15e-1", "-0.15E1", "-1.50"},
		{"9007199254740993", "9007199254740993.0", "900719925474099300e-2", "9.007199254740993e15"},
		{"1e21", "1000000000000000000000", "0.001e24"},
		{"1e400", "10e399", "0.1e401"},
	} {
		for _, s := range spellings {
			if got, want := numberKey(t, s), numberKey(t, spellings[0]); got != want {
				t.Errorf("%s has the key %s, %s has %s", s, got, spellings[0], want)
			}
		}
	}
}

func TestBodyWithoutKey(t *testing.T) {
	t.Parallel()

	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for name, test := range map[string]struct {
		body  string
		parts []string
		want  string // the error says so
	}{
		"nothing":                             {``, []string{"id"}, "is empty"},
		"white space":                         {` `, []string{"id"}, "not exactly one JSON value"},
		"text":                                {`s3cr3t`, []string{"id"}, "wrong at byte 1"},
		"data after the value":                {`{"id":"s3cr3t"} x`, []string{"id"}, "wrong at byte 17 of 17"},
		"two values":                          {`{"id":"s3cr3t"}{"id":"s3cr3t"}`, []string{"id"}, "not exactly one JSON value"},
		"a number with a leading zero":        {`{"id":01}`, []string{"id"}, "not exactly one JSON value"},
		"NaN":                                 {`{"id":NaN}`, []string{"id"}, "not exactly one JSON value"},
		"a byte order mark":                   {"\ufeff{\"id\":1}", []string{"id"}, "not exactly one JSON value"},
		"a byte that is not UTF-8":            {"{\"id\":\"s3cr3t\xff\"}", []string{"id"}, "not valid UTF-8"},
		"a surrogate in UTF-8":                {"{\"id\":\"\xed\xa0\x80\"}", []string{"id"}, "not valid UTF-8"},
		"a high surrogate alone":              {`{"id":"\ud800"}`, []string{"id"}, "half a surrogate pair"},
		"a low surrogate alone":               {`{"id":"\\\uDFFF"}`, []string{"id"}, "half a surrogate pair"},
		"two high surrogates":                 {`{"id":"\ud800\ud800"}`, []string{"id"}, "half a surrogate pair"},
		"a high surrogate before a letter":    {`{"id":"\ud800s\udc00"}`, []string{"id"}, "half a surrogate pair"},
		"half a pair in another member":       {`{"id":1,"\ud800":2}`, []string{"id"}, "half a surrogate pair"},
		"nesting":                             {deep, []string{"@"}, "not exactly one JSON value"},
		"a member that stands twice":          {`{"id":"s3cr3t","id":"s3cr3t2"}`, []string{"id"}, "twice"},
		"a member that stands twice, escaped": {`{"id":1,"\u0069d":1}`, []string{"id"}, "twice"},
		"a member that stands twice, deeper":  {`{"id":1,"a":[{"b":1,"b":1}]}`, []string{"id"}, "twice"},
		"an absurd exponent":                  {`{"id":1e1000000000000000000}`, []string{"id"}, "exponent"},
		"an absurd exponent, spelt shorter":   {`{"id":10e999999999999999999}`, []string{"id"}, "exponent"},
		"a number absurdly small":             {`{"id":1e-1000000000000000000}`, []string{"id"}, "exponent"},
		"an exponent beyond int64":            {`{"id":1e-99999999999999999999}`, []string{"id"}, "exponent"},
		"a member of another case":            {`{"ID":"s3cr3t"}`, []string{"id"}, `"id"`},
		"an absent member":                    {`{"a":"s3cr3t"}`, []string{"id"}, `"id"`},
		"null":                                {`{"id":null}`, []string{"id"}, `"id"`},
		"an empty string":                     {`{"id":""}`, []string{"id"}, `"id"`},
		"an empty array":                      {`{"id":[]}`, []string{"id"}, `"id"`},
		"an empty object":                     {`{"id":{}}`, []string{"id"}, `"id"`},
		"nothing but nulls":                   {`{"id":[null,{"a":[""]}]}`, []string{"id"}, `"id"`},
		"a filter that picks nothing":         {`{"id":[{"a":1}]}`, []string{"id[?a == `2`]"}, "id[?a == `2`]"},
		"a body that is null":                 {`null`, []string{"@"}, `"@"`},
		"all of two parts absent":             {`{"c":"s3cr3t"}`, []string{"a", "b"}, `"a", "b"`},
		"all of two parts null":               {`{"a":null,"b":[null]}`, []string{"a", "b"}, `"a", "b"`},
		"a comparison beyond float64":         {`[{"id":1,"n":9007199254740993}]`, []string{"[?n > `1`].id"}, "more digits"},
		"a sort beyond float64":               {`[9007199254740993, 1]`, []string{"sort(@)"}, "cannot be evaluated"},
		"a maximum beyond float64":            {`[9007199254740993, 1]`, []string{"max(@)"}, "cannot be evaluated"},
		"a largest beyond float64":            {`[{"n":9007199254740993},{"n":1}]`, []string{"max_by(@, &n)"}, "cannot be evaluated"},
		"rounding beyond float64":             {`{"n":9007199254740993.5}`, []string{"floor(n)"}, "cannot be evaluated"},
		"a type beyond float64":               {`{"n":9007199254740993}`, []string{"type(n)"}, "cannot be evaluated"},
		"a function of another type":          {`{"id":"s3cr3t"}`, []string{"abs(id)"}, "cannot be evaluated"},
		"a function with too many arguments":  {`{"id":"s3cr3t"}`, []string{"length(id, id)"}, "cannot be evaluated"},
		"what makes go-jmespath panic: ==":    {`[{"id":"s3cr3t"}]`, []string{"contains(@, {id: [0]})"}, "cannot be evaluated"},
		"what makes go-jmespath panic: merge": {`{"id":"s3cr3t"}`, []string{"merge(id, id)"}, "cannot be evaluated"},
		"a reference to an expression":        {`{"id":"s3cr3t"}`, []string{"&id"}, "no JSON value"},
		"a reference inside a part":           {`{"id":"s3cr3t"}`, []string{"[id, &id]"}, "no JSON value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkNoKey(t, mustBody(t, test.parts...), events.SQSMessage{Body: test.body}, test.want)
		})
	}
}

func TestBodyRefusesExpressions(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		parts []string
		want  string
	}{
		"none":                                {nil, "at least one"},
		"an empty one":                        {[]string{"id", " "}, `" " is empty`},
		"one that does not parse":             {[]string{"id", "a["}, `"a["`},
		"one that ends early":                 {[]string{"a."}, `"a."`},
		"a string without an end":             {[]string{"'a"}, "no JMESPath expression"},
		"a literal that is not JSON":          {[]string{"a == `x`"}, "no JMESPath expression"},
		"one that is very long":               {[]string{strings.Repeat("(", 1<<20)}, "longer than 4096"},
		"one that is not UTF-8":               {[]string{"'\xff'"}, "UTF-8"},
		"a constant":                          {[]string{"'id'"}, "is a constant"},
		"constants":                           {[]string{"'id'", "`1`", "{a: 'b'}", "length('a')"}, "is a constant"},
		"an unknown function":                 {[]string{"upper(id)"}, "upper()"},
		"avg":                                 {[]string{"avg(n)"}, "avg()"},
		"sum":                                 {[]string{"a.b || sum (n)"}, "sum()"},
		"to_number":                           {[]string{"to_number(id)"}, "to_number()"},
		"keys":                                {[]string{"keys(@)"}, "no order"},
		"keys in parentheses":                 {[]string{"(keys)(@)"}, "parenthesis"},
		"keys in quotes":                      {[]string{"'keys'(@)"}, "parenthesis"},
		"keys in a literal":                   {[]string{"`\"keys\"`(@)"}, "parenthesis"},
		"values":                              {[]string{"values(@)[0]"}, "name the members"},
		"sort_by":                             {[]string{"sort_by(items, &id)"}, "sort_by()"},
		"a wildcard on an object":             {[]string{"a.*"}, "uses *"},
		"a wildcard on the body":              {[]string{"*.id"}, "uses *"},
		"a wildcard in a list":                {[]string{"a.[*]"}, "uses *"},
		"a wildcard in a list of two":         {[]string{"[*, id]"}, "uses *"},
		"a wildcard behind a string":          {[]string{`"a\"b" || 'it\'s' || * `}, "uses *"},
		"a wildcard behind a raw backslash":   {[]string{`'\\\'' || *`}, "uses *"},
		"a literal beyond 2^53":               {[]string{"id == `9007199254740993`"}, "more digits"},
		"a literal with a member twice":       {[]string{"id == `{\"a\":1,\"a\":1}`"}, "twice"},
		"a literal with half a pair":          {[]string{"id == `\"\\ud800\"`"}, "surrogate"},
		"a member with half a pair":           {[]string{`"\ud800"`}, "surrogate"},
		"flattening a function's answer":      {[]string{"id", "sort(n)[]"}, "put a | between"},
		"flattening it further on":            {[]string{"[join('', a).b][]"}, "put a | between"},
		"filtering a function's answer":       {[]string{"not_null(a, b).c[?d]"}, "put a | between"},
		"flattening what a function filtered": {[]string{"a[?abs(b)].c[]"}, "put a | between"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			key, err := lambdawrap.Body(test.parts...)
			if err == nil || key != nil {
				t.Fatalf("Body(%q) is accepted", test.parts)
			}

			if got := err.Error(); !strings.HasPrefix(got, "lambdawrap: Body: ") || !strings.Contains(got, test.want) || len(got) > 400 {
				t.Errorf("error %q does not say %q", got, test.want)
			}
		})
	}
}

func TestBodyTakesExpressions(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		"a[*]", "[*].a", "a[ * ].b", "@", "[0]", "[-1].a", "a[1:]", "a[]", "[]", "[?a]", "a[?b].c[]", "a && !b", "(a || b).c", "{a: b, \"c\": 'd'}",
		"sort(a[].b)", "a[?contains(b, 'c')]", "length(a) == `2` | a", "not_null(sort(a), b[])", "map(&b[?c], a)", "'*' == a", "`\"<*\\`\"` == a", `"sum("`,
		"length ( a )", "avg", "{sum: a}", "max_by(a, &(b))",
	} {
		if _, err := lambdawrap.Body(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBodyHandlesLargeInput(t *testing.T) {
	t.Parallel()

	const size = 1 << 20
	for name, body := range map[string]string{
		"digits":          strings.Repeat("9", size),
		"zeros":           "1" + strings.Repeat("0", size),
		"a long fraction": "0." + strings.Repeat("0", size) + "1",
		"a long exponent": "1e" + strings.Repeat("0", size) + "1",
		"deep arrays":     strings.Repeat("[", 10_000) + "1" + strings.Repeat("]", 10_000),
		"a string":        `"` + strings.Repeat(`\ud83d\ude00`, size/12) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if key := mustKey(t, mustBody(t, "@"), events.SQSMessage{Body: body}); len(key) > len(body)+16 {
				t.Errorf("the key has %d bytes, the body %d", len(key), len(body))
			}
		})
	}
}

func TestBodyIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	key := mustBody(t, "id", "sort(items[].n)", "max_by(items, &n)", "sort(`[3,2,1]`)", "not_null(none, `{\"b\":[1,2],\"a\":3}`)")

	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			m := events.SQSMessage{Body: fmt.Sprintf(`{"id":%d,"items":[{"n":3},{"n":1}]}`, i)}

			want := fmt.Sprintf(`[%d,[1,3],{"n":3},[1,2,3],{"a":3,"b":[1,2]}]`, i)
			for range 100 {
				if got, err := key(m); err != nil || got != want {
					t.Errorf("key %s, %v, want %s", got, err, want)
				}
			}
		})
	}

	wait.Wait()
}

// value is a JSON value, compared without any of the code under test.
type value struct {
	kind     string
	text     string
	number   *big.Rat
	elements []value
	members  map[string]value
}

func (v value) equal(w value) bool {
	return v.kind == w.kind && v.text == w.text && (v.number == nil || v.number.Cmp(w.number) == 0) &&
		slices.EqualFunc(v.elements, w.elements, value.equal) && len(v.members) == len(w.members) &&
		!slices.ContainsFunc(slices.Collect(mapKeys(v.members)), func(name string) bool {
			other, ok := w.members[name]

			return !ok || !v.members[name].equal(other)
		})
}

func mapKeys(m map[string]value) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// drawValue draws from a small range, so that equal values are drawn often, with numbers on both sides of what float64 holds.
func drawValue(t *rapid.T, depth int) value {
	kinds := []string{"null", "true", "string", "number", "number"}
	if depth > 0 {
		kinds = append(kinds, "array", "object")
	}

	v := value{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch v.kind {
	case "string":
		v.text = rapid.SampledFrom([]string{"", "a", "1", "null", "é", "😀", `"`, "\x00", "\u2028", "[", ","}).Draw(t, "text")
	case "number":
		base := rapid.SampledFrom([]string{"0", "1", "10", "9007199254740992", "123456789012345678901234567890"}).Draw(t, "base")
		number, _ := new(big.Rat).SetString(base)
		number.Add(number, big.NewRat(rapid.Int64Range(-1, 1).Draw(t, "offset"), rapid.SampledFrom([]int64{1, 10, 1 << 20}).Draw(t, "fraction")))
		v.number = number
	case "array":
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			v.elements = append(v.elements, drawValue(t, depth-1))
		}
	case "object":
		v.members = map[string]value{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "a", "b", "é", `"`}), rapid.ID).Draw(t, "names") {
			v.members[name] = drawValue(t, depth-1)
		}
	}

	return v
}

// spell writes a value in one of the ways in which JSON can write it.
func spell(t *rapid.T, v value) string {
	blank := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r "})

	text := v.kind
	switch v.kind {
	case "string":
		text = spellString(t, v.text)
	case "number":
		text = spellNumber(t, v.number)
	case "array":
		elements := make([]string, len(v.elements))
		for i, element := range v.elements {
			elements[i] = spell(t, element)
		}

		text = "[" + blank.Draw(t, "blank") + strings.Join(elements, ",") + "]"
	case "object":
		members := []string{}
		for _, name := range rapid.Permutation(slices.Sorted(mapKeys(v.members))).Draw(t, "order") {
			members = append(members, blank.Draw(t, "blank")+spellString(t, name)+blank.Draw(t, "blank")+":"+spell(t, v.members[name]))
		}

		text = "{" + strings.Join(members, ",") + blank.Draw(t, "blank") + "}"
	}

	return blank.Draw(t, "blank") + text + blank.Draw(t, "blank")
}

func spellString(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')

	for _, r := range s {
		switch {
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case r < 0x20 || r == '"' || rapid.Bool().Draw(t, "escape"):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}

	return b.String() + `"`
}

func spellNumber(t *rapid.T, number *big.Rat) string {
	shift := rapid.IntRange(-30, 30).Draw(t, "shift")

	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil))
	if shift > 0 {
		scale.Inv(scale)
	}

	text := new(big.Rat).Mul(number, scale).FloatString(60) // exact: 20 digits of a fraction of 2^20, 30 of the shift
	if rapid.Bool().Draw(t, "short") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}

	if number.Sign() == 0 && rapid.Bool().Draw(t, "negative") {
		text = "-" + text
	}

	if shift == 0 && rapid.Bool().Draw(t, "plain") {
		return text
	}

	return text + rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + fmt.Sprintf(rapid.SampledFrom([]string{"%d", "%+d", "%03d"}).Draw(t, "format"), shift)
}

func TestBodyKeysAreEqualExactlyIfValuesAre(t *testing.T) {
	t.Parallel()
	key := mustBody(t, "v", "w")
	rapid.Check(t, func(t *rapid.T) {
		bodies, values := [2]string{}, [2][2]value{}
		for i := range bodies {
			values[i] = [2]value{drawValue(t, 2), drawValue(t, 1)}
			if i == 1 && rapid.Bool().Draw(t, "same") {
				values[1] = values[0]
			}

			bodies[i] = fmt.Sprintf(`{"x":%q,"v":%s,"w":%s}`, strconv.Itoa(i), spell(t, values[i][0]), spell(t, values[i][1]))
		}

		a, errA := key(events.SQSMessage{Body: bodies[0]})
		b, errB := key(events.SQSMessage{Body: bodies[1]})

		equal := values[0][0].equal(values[1][0]) && values[0][1].equal(values[1][1])
		if equal && (errA == nil) != (errB == nil) || errA == nil && errB == nil && (a == b) != equal {
			t.Fatalf("bodies %s and %s (equal: %t) have the keys %q, %v and %q, %v", bodies[0], bodies[1], equal, a, errA, b, errB)
		}
	})
}

func mustBody(t testing.TB, parts ...string) lambdawrap.KeyFunc {
	t.Helper()

	key, err := lambdawrap.Body(parts...)
	if err != nil {
		t.Fatal(err)
	}

	return key
}

func mustKey(t testing.TB, key lambdawrap.KeyFunc, m events.SQSMessage) string {
	t.Helper()

	got, err := key(m)
	if err != nil || got == "" {
		t.Fatalf("key %q, %v", got, err)
	}

	return got
}

func numberKey(t testing.TB, number string) string {
	t.Helper()

	return mustKey(t, mustBody(t, "@"), events.SQSMessage{Body: number})
}

// checkNoKey checks that there is no key, and an error that names want and quotes nothing of the message.
func checkNoKey(t testing.TB, key lambdawrap.KeyFunc, m events.SQSMessage, want string) {
	t.Helper()

	got, err := key(m)
	if got != "" || !errors.Is(err, lambdawrap.ErrNoKey) {
		t.Fatalf("key %q, error %v, want ErrNoKey", got, err)
	}

	text := err.Error()
	if !strings.HasPrefix(text, "lambdawrap: ") || strings.Count(text, "lambdawrap: ") > 1 || !strings.Contains(text, want) {
		t.Errorf("error %q does not say %q", text, want)
	}

	if strings.Contains(text, "s3cr3t") {
		t.Errorf("error %q quotes the message", text)
	}
}
