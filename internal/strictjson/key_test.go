package strictjson_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

func TestStoredKeysStayAsTheyAre(t *testing.T) {
	t.Parallel()

	content, err := os.ReadFile("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}

	cases := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n\n")[1:]
	if len(cases) < 30 {
		t.Fatalf("read %d cases", len(cases))
	}

	for _, lines := range cases {
		test := map[string][]string{}

		for line := range strings.Lines(lines) {
			label, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			test[label] = append(test[label], strings.TrimLeft(value, " "))
		}

		t.Run(test["case"][0], func(t *testing.T) {
			t.Parallel()

			if got, want := mustKey(t, test["json"][0], test["path"]...), test["key"][0]; got != want {
				t.Errorf("key %s, want %s", got, want)
			}
		})
	}
}

func TestDifferentValuesHaveDifferentKeys(t *testing.T) {
	t.Parallel()

	seen := map[string]string{}

	for _, id := range []string{
		`1`, `-1`, `10`, `1.5`, `true`, `false`, `0`, `"1"`, `"#1"`, `"##1"`, `"#"`, `"##"`, `"true"`, `"#true"`, `"null"`, `"#null"`, `" "`, `"\u0000"`,
		`[1]`, `["1"]`, `["#1"]`, `[[1]]`, `[1,null]`, `[1,""]`, `[1,[]]`, `[1,{}]`, `{"a":1}`, `{"a":"1"}`, `{"a":1,"b":null}`, `"[1]"`, `"#[1]"`,
		`"é"`, `"e\u0301"`, `"E"`, `"e"`, `"\ufffd"`, `"\ud83d\ude00"`,
	} {
		key := mustKey(t, `{"id":`+id+`}`, "id")
		if other, shared := seen[key]; shared {
			t.Errorf("%s and %s have the key %q", id, other, key)
		}

		seen[key] = id
	}
}

func TestEveryPartMustBeThere(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ missing, want string }{
		"it is absent":                       {``, "`id` is absent"},
		"it has another case":                {`"ID":"s3cr3t"`, "`id` is absent"},
		"it is null":                         {`"id":null`, "picks null"},
		"it is an empty string":              {`"id":""`, "picks an empty string"},
		"it is an empty array":               {`"id":[]`, "picks an array that holds nothing"},
		"it is an empty object":              {`"id":{}`, "picks an object that holds nothing"},
		"it is an array of nothing":          {`"id":[null,"",[[]],{}]`, "picks an array that holds nothing"},
		"it is an object of nothing":         {`"id":{"a":null,"b":[{"c":""}]}`, "picks an object that holds nothing"},
		"it is absent beside another member": {`"x":"s3cr3t"`, "`id` is absent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			text := `{"a":"s3cr3t","b":1` + strings.TrimSuffix(","+test.missing, ",") + `}`
			for _, paths := range [][]string{{"id"}, {"a", "id"}, {"id", "a"}, {"a", "id", "b"}} {
				checkNoKey(t, text, test.want, paths...)
			}
		})
	}
}

func TestWhatIsThereMakesAKey(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ id, want string }{
		"zero":                           {`0`, `#0`},
		"false":                          {`false`, `#false`},
		"a space":                        {`" "`, ` `},
		"the string null":                {`"null"`, `null`},
		"an array that holds zero":       {`[null,0]`, `#[null,0]`},
		"an object that holds false":     {`{"a":"","b":false}`, `#{"a":"","b":false}`},
		"an array with one empty string": {`["",[" "]]`, `#["",[" "]]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := mustKey(t, `{"id":`+test.id+`}`, "id"); got != test.want {
				t.Errorf("key %q, want %q", got, test.want)
			}
		})
	}
}

func TestTextIsTheKeyOfAPathThatPicksTheString(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"p-1", "#", "#1", "##", "a#", "\n", "é", `"quoted"`} {
		want := mustKey(t, string(mustMarshal(t, map[string]string{"id": text})), "id")
		if got := strictjson.TextKey(text); got != want {
			t.Errorf("Text(%q) = %q, but a path that picks it has the key %q", text, got, want)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()

	seen := map[string][]string{}

	for _, texts := range [][]string{{}, {""}, {"", ""}, {"a"}, {"#a"}, {"a", "b"}, {"a,b"}, {`a","b`}, {"a", "", "b"}, {"b", "a"}, {"1"}, {"\\", "\n"}} {
		key, err := strictjson.ListKey(texts...)
		if err != nil {
			t.Fatal(err)
		}

		if other, shared := seen[key]; shared {
			t.Errorf("%q and %q have the key %s", texts, other, key)
		}

		seen[key] = texts
	}

	if got := seen[`#["a","b"]`]; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the key #[\"a\",\"b\"] is that of %q", got)
	}

	if key, err := strictjson.ListKey("a", "s3cr3t\xff"); err == nil || key != "" || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("key %q, error %v, want one that does not quote the text", key, err)
	}
}

func mustParse(t testing.TB, paths ...string) strictjson.Paths {
	t.Helper()

	parsed, err := strictjson.ParsePaths(paths...)
	if err != nil {
		t.Fatal(err)
	}

	return parsed
}

func mustKey(t testing.TB, text string, paths ...string) string {
	t.Helper()

	key, err := keyOf(text, mustParse(t, paths...))
	if err != nil || key == "" {
		t.Fatalf("key %q, %v, of the paths %q in %.200s", key, err, paths, text)
	}

	return key
}

func keyOf(text string, paths strictjson.Paths) (string, error) {
	value, err := strictjson.Read(text)
	if err != nil {
		return "", err
	}

	return paths.Key(value)
}

// checkNoKey checks that there is no key, and that the error says want and quotes nothing of the text.
func checkNoKey(t *testing.T, text, want string, paths ...string) {
	t.Helper()

	key, err := keyOf(text, mustParse(t, paths...))

	switch {
	case err == nil:
		t.Errorf("%q in %.100s has the key %q", paths, text, key)
	case key != "" || !strings.Contains(err.Error(), want):
		t.Errorf("%q in %.100s: key %q, error %q, want one that says %q", paths, text, key, err, want)
	case strings.Contains(err.Error(), "s3cr3t"):
		t.Errorf("error %q quotes the text", err)
	}
}
