package strictjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// FuzzRead: what is read is JSON for encoding/json, too, and has one key, however it is written. The key is canonical: it is
// the key of the JSON that it holds.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		``, `null`, `0`, `{"id":"p-1","n":1e5}`, `{"b":[1,{"a":-0.0}],"a":"\ud83d\ude00"}`, `{"id":"\ud800"}`, "\"\xff\"", `{"a":1,"a":2}`,
		`9007199254740993`, `1e999999999999999999`, `[[[[]]]]`, `{"id":1} x`, `"\u2028<&>"`, `[1e-7,1e21,0.1,123456789012345678]`,
	} {
		f.Add(text)
	}

	part := mustParse(f, "[1]")
	inArray := func(text string) string { return "[0,[" + text + ",1]]" } // inside of an array, a value that holds nothing has a key, too

	f.Fuzz(func(t *testing.T, text string) {
		if _, err := strictjson.Read(text); err != nil {
			return
		}

		if !json.Valid([]byte(text)) {
			t.Fatal("encoding/json refuses it")
		}

		if strings.Count(text, "[")+strings.Count(text, "{") > 9_000 {
			return // It may be too deep inside another array.
		}

		key, err := keyOf(inArray(text), part)
		if err != nil {
			t.Fatal(err)
		}

		canonical := strings.TrimSuffix(strings.TrimPrefix(key, "#["), ",1]")
		for what, spelling := range map[string]string{"canonical": canonical, "indented": reencoded(t, text)} {
			if again, err := keyOf(inArray(spelling), part); again != key {
				t.Errorf("%q has the key %q, and its %s form %q has %q, %v", text, key, what, spelling, again, err)
			}
		}
	})
}

// reencoded writes a value as another JSON encoder does: other white space, other escapes, members in another order.
func reencoded(t *testing.T, text string) string {
	t.Helper()

	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()

	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}

	again, err := json.MarshalIndent(value, " ", "\t")
	if err != nil {
		t.Fatal(err)
	}

	return string(bytes.ReplaceAll(again, []byte("/"), []byte(`\/`)))
}

// FuzzPaths: no path and no text cause a panic, and a key is the same each time.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{
		"id", "a.b[0]", `a."x.y"[1].c`, "Message.id", "[0][1]", "$.id", "a || 'x'", "length(@)", "*", "a[", `"`, `"\"`, `a."\ud83d\ude00"`, "a..b", "",
	} {
		f.Add(path, `{"id":1,"a":{"b":[1,2],"x.y":[0,{"c":"#1"}]},"Message":"{\"id\":\"\\\"7\\\"\"}"}`)
	}

	f.Fuzz(func(t *testing.T, path, text string) {
		paths, err := strictjson.ParsePaths(path)
		if err != nil {
			return
		}

		want, wantErr := keyOf(text, paths)
		if (want == "") != (wantErr != nil) {
			t.Fatalf("key %q, error %v", want, wantErr)
		}

		for range 3 {
			if got, err := keyOf(text, paths); got != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("the keys %q, %v and %q, %v", want, wantErr, got, err)
			}
		}
		// The part beside itself: a list of two, if it is a part at all.
		both, errBoth := keyOf(text, mustParse(t, path, path))
		if (errBoth == nil) != (wantErr == nil) || wantErr == nil && !strings.HasPrefix(both, "#[") {
			t.Errorf("one path has the key %q, %v, twice that path has %q, %v", want, wantErr, both, errBoth)
		}
	})
}
