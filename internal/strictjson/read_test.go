package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

func TestReadRefuses(t *testing.T) {
	t.Parallel()

	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)

	for name, test := range map[string]struct{ text, want string }{
		"no text":                                  {``, "is empty"},
		"white space alone":                        {` `, "is not exactly one JSON value"},
		"a word":                                   {`s3cr3t`, "wrong at byte 1 of 6"},
		"text after the value":                     {`{"id":"s3cr3t"} x`, "wrong at byte 17 of 17"},
		"text that ends early":                     {`{"id":"s3cr3t"`, "wrong at byte 14 of 14"},
		"two values":                               {`{"id":"s3cr3t"}{"id":"s3cr3t"}`, "is not exactly one JSON value"},
		"a number with a leading zero":             {`{"id":01}`, "is not exactly one JSON value"},
		"NaN":                                      {`{"id":NaN}`, "is not exactly one JSON value"},
		"a byte order mark":                        {"\ufeff{\"id\":1}", "is not exactly one JSON value"},
		"a control character in a string":          {"\"s3cr3t\n\"", "wrong at byte 8 of 9"},
		"a byte that is not UTF-8":                 {"{\"id\":\"s3cr3t\xff\"}", "is not valid UTF-8 from byte 14 of 16 on"},
		"a wrong byte behind U+FFFD":               {"\"\ufffd\xff\"", "is not valid UTF-8 from byte 5 of 6 on"},
		"a surrogate in UTF-8":                     {"{\"id\":\"\xed\xa0\x80\"}", "is not valid UTF-8 from byte 8"},
		"a high surrogate alone":                   {`{"id":"\ud800"}`, "half a surrogate pair"},
		"a low surrogate alone":                    {`{"id":"\\\uDFFF"}`, "the \\u escape begins at byte 10 of 17"},
		"two high surrogates":                      {`{"id":"\ud800\ud800"}`, "half a surrogate pair"},
		"two low surrogates":                       {`{"id":"\udc00\udc00"}`, "half a surrogate pair"},
		"a high surrogate before U+E000":           {`{"id":"\ud800\ue000"}`, "half a surrogate pair"},
		"a high surrogate before a letter":         {`{"id":"\ud800s\udc00"}`, "half a surrogate pair"},
		"a high surrogate before another escape":   {`{"id":"\ud800\u0041"}`, "half a surrogate pair"},
		"half a surrogate pair in a name":          {`{"id":1,"\ud800":2}`, "half a surrogate pair"},
		"half a surrogate pair behind a whole one": {`"\ud83d\ude00\ud83d"`, "begins at byte 14 of 20"},
		"too many levels":                          {deep, "nests deeper than 10,000 levels"},
		"one name twice":                           {`{"s3cr3t":"a","s3cr3t":"b"}`, "one name twice in an object; the second one ends at byte 22"},
		"one name twice, once with an escape":      {`{"id":1,"\u0069d":1}`, "one name twice"},
		"one name twice, deeper":                   {`{"id":1,"a":[{"b":1,"b":1}]}`, "one name twice"},
		"a number absurdly large":                  {`{"id":1e1000000000000000000}`, "a number that ends at byte 27, and whose exponent has more than 18 digits"},
		"a number absurdly large, with less digits in its exponent": {`[10e999999999999999999]`, "exponent"},
		"a number absurdly small":                                   {`[1e-1000000000000000000]`, "exponent"},
		"an exponent beyond 64 bits":                                {`[1e-99999999999999999999]`, "exponent"},
		"a large number that begins with the last digit":            {`[9e1000000000000000000]`, "exponent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if _, err := strictjson.Read(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			} else if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error %q quotes the text", err)
			}
		})
	}
}

func TestAStringOnThePathIsReadByTheSameRules(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ text, want string }{
		"it is a word":                   {`s3cr3t`, "it is not exactly one JSON value, or nests deeper than 10,000 levels: wrong at byte 1 of 6"},
		"it has two values":              {`{"id":"s3cr3t"} {}`, "wrong at byte 17 of 18"},
		"it has one name twice":          {`{"id":"s3cr3t","id":"s3cr3t"}`, "it has one name twice in an object; the second one ends at byte 19"},
		"it has half a surrogate pair":   {`{"id":"\ud800"}`, "it has half a surrogate pair"},
		"it has an absurd exponent":      {`{"id":1e1000000000000000000}`, "it has a number that ends at byte 27"},
		"it has too many levels":         {strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "nests deeper than 10,000 levels"},
		"a string inside it is a word":   {`"s3cr3t"`, "wrong at byte 1 of 6"},
		"a string inside it ends early":  {`"{\"id\":"`, "wrong at byte 6 of 6"},
		"it holds white space alone":     {" ", "it is not exactly one JSON value"},
		"it is JSON without that member": {`{"ID":"s3cr3t"}`, "picks nothing: `in.id` is absent"},
		"it is JSON of another kind":     {`["s3cr3t"]`, "picks nothing: `in` is an array, where the path needs an object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			text := string(mustMarshal(t, map[string]string{"in": test.text}))
			checkNoKey(t, text, test.want, "in.id")

			if got := mustKey(t, text, "in"); got != test.text {
				t.Errorf("a path that ends at the string has the key %q, want the string as it is", got)
			}
		})
	}
}

func TestReadTakesTheFirstAndTheLastSurrogatePairs(t *testing.T) {
	t.Parallel()

	for _, text := range []string{`"\ud800\udc00"`, `"\ud800\udfff"`, `"\udbff\udc00"`, `"\udbff\udfff"`} {
		if _, err := strictjson.Read(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReadTakesLargeTexts(t *testing.T) {
	t.Parallel()

	const size = 1 << 20

	for name, text := range map[string]string{
		"digits":                      strings.Repeat("9", size),
		"zeros":                       "1" + strings.Repeat("0", size),
		"a long fraction":             "0." + strings.Repeat("0", size) + "1",
		"an exponent of many zeros":   "1e" + strings.Repeat("0", size) + "1",
		"arrays in arrays":            strings.Repeat("[", 9_998) + "1" + strings.Repeat("]", 9_998),
		"surrogate pairs in a string": `"` + strings.Repeat(`\ud83d\ude00`, size/12) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if key := mustKey(t, "[1,["+text+",1]]", "[1]"); len(key) > len(text)+16 {
				t.Errorf("the key has %d bytes, the text %d", len(key), len(text))
			}
		})
	}
}

func mustMarshal(t testing.TB, value any) []byte {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}

	return text
}
