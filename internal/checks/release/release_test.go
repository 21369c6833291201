package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestVersionsOfThisRepositoryAgree(t *testing.T) {
	t.Parallel()

	root := os.DirFS(filepath.Join("..", "..", ".."))

	version, err := requiredVersion(root)
	if err != nil {
		t.Fatal(err)
	}

	for _, problem := range versionProblems(root, version) {
		t.Error(problem)
	}
}

func TestVersionsThatDisagreeAreFound(t *testing.T) {
	t.Parallel()

	const mod = "module m\n\ngo 1.26\n\nrequire (\n\tgithub.com/idemddb/go-idemddb v0.2.0\n)\n"

	for name, test := range map[string]struct {
		file, content string
		want          []string
	}{
		"nothing is wrong": {"docs/a.md", "go get github.com/idemddb/go-idemddb@v0.2.0, with the release v0.2.0", nil},
		"a page names another version in a command": {
			"docs/a.md", "go get github.com/idemddb/go-idemddb/idemotel@v0.1.0",
			[]string{"docs/a.md names v0.1.0 as a version of the library, which is v0.2.0"},
		},
		"a page at the root names another version in prose": {
			"SECURITY.md", "Since release v0.1.9",
			[]string{"SECURITY.md names v0.1.9 as a version of the library, which is v0.2.0"},
		},
		"a module requires another version": {
			"cmd/idem/go.mod", strings.ReplaceAll(mod, "v0.2.0", "v0.1.0"),
			[]string{"cmd/idem/go.mod does not require the library in v0.2.0"},
		},
		"the workspace replaces another version": {
			"go.work", "go 1.26\n", []string{`go.work has no line "replace github.com/idemddb/go-idemddb v0.2.0 => ./\n"`},
		},
		"the changelog begins with another release": {
			"CHANGELOG.md", "# Changelog\n\n## 0.1.0 (2026-11-24)\n",
			[]string{`CHANGELOG.md: the first release is neither Unreleased nor 0.2.0: ["## 0.1.0 (2026-11-24)" "0.1.0 (2026-11-24)"]`},
		},
		"the changelog has what is not released yet": {"CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-11-24)\n", nil},
		"the README promises another version of Go": {
			"README.md", "For Go 1.25 and 1.26.", []string{`README.md does not promise the version of Go that go.mod asks for ([go 1.26 1.26])`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			root := fstest.MapFS{
				"go.mod": {Data: []byte(mod)}, "cmd/idem/go.mod": {Data: []byte(mod)}, "idemotel/go.mod": {Data: []byte(mod)},
				"go.work":   {Data: []byte("replace github.com/idemddb/go-idemddb v0.2.0 => ./\n")},
				"README.md": {Data: []byte("For Go 1.26 and 1.27.")}, "CHANGELOG.md": {Data: []byte("# Changelog\n\n## 0.2.0 (2026-12-01)\n")},
			}
			root[test.file] = &fstest.MapFile{Data: []byte(test.content)}

			if diff := cmp.Diff(test.want, versionProblems(root, "v0.2.0")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// compiled returns the API of one file.
func compiled(t *testing.T, source string) []string {
	t.Helper()

	files := token.NewFileSet()

	file, err := parser.ParseFile(files, "p.go", "package p\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}

	pkg, err := (&types.Config{Importer: importer.Default()}).Check("p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}

	return api([]*types.Package{pkg})
}

// What a program that compiled with the first source may do, and can not do with the second.
func TestChangesThatBreakAProgramAreFound(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ before, now, added, gone string }{
		"a function is new":             {"func F() {}", "func F() {}\nfunc G() {}", "func p.G()", ""},
		"a function is gone":            {"func F() {}", "", "", "func p.F()"},
		"a parameter has another name":  {"func F(a int, f func(b int)) {}", "func F(c int, f func(d int)) {}", "", ""},
		"a parameter has another type":  {"func F(a int) {}", "func F(a int64) {}", "func p.F(int64)", "func p.F(int)"},
		"a type parameter is new":       {"func F[T any](t T) {}", "func F[T any, U any](t T) {}", "func p.F[T any, U any](T)", "func p.F[T any](T)"},
		"a field is new":                {"type S struct{}", "type S struct{ A int }", "field p.S.A int", ""},
		"a field has another tag":       {"type S struct{ A int }", "type S struct{ A int `json:\"a\"` }", `field p.S.A int json:"a"`, "field p.S.A int"},
		"a field is not exported":       {"type S struct{ A int }", "type S struct{ a int }", "", "field p.S.A int"},
		"a method is gone":              {"type S struct{}\nfunc (*S) M() {}", "type S struct{}", "", "method p.S.M()"},
		"an interface has one more":     {"type I interface{ M() }", "type I interface{ M(); N(int) }", "type p.I interface { M(); N(int) }", "type p.I interface { M() }"},
		"a constant has another value":  {"const C = 1", "const C = 2", "const p.C untyped int = 2", "const p.C untyped int = 1"},
		"a variable has another type":   {"var V int", "var V string", "var p.V string", "var p.V int"},
		"a type is another":             {"type T int", "type T string", "type p.T string", "type p.T int"},
		"an alias is another":           {"type T = int", "type T = string", "type p.T = string", "type p.T = int"},
		"what is not exported does not": {"func f() {}\ntype s struct{}", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			added, gone := difference(compiled(t, test.before), compiled(t, test.now))
			if diff := cmp.Diff([2]string{test.added, test.gone}, [2]string{strings.Join(added, "\n"), strings.Join(gone, "\n")}); diff != "" {
				t.Errorf("what is new and what is gone (-want +got):\n%s", diff)
			}
		})
	}
}

// The list has each name that is exported, and no other.
func TestANameThatTheListLacksIsFound(t *testing.T) {
	t.Parallel()

	now := compiled(t, "type S struct{ A, B int }\nfunc F() {}")

	for name, test := range map[string]struct {
		listed []string
		want   string
	}{
		"each name":         {now, ""},
		"a field is new":    {compiled(t, "type S struct{ A int }\nfunc F() {}"), "it lacks:        field p.S.B int"},
		"a function is new": {compiled(t, "type S struct{ A, B int }"), "it lacks:        func p.F()"},
		"a function is gone": {
			compiled(t, "type S struct{ A, B int }\nfunc F() {}\nfunc G() {}"), "nobody exports:  func p.G()",
		},
	} {
		err := compareWithFile(test.listed, now)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasSuffix(err.Error(), "\n  "+test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestWhatIsGoneSinceATagNeedsAVersionThatMayBreak(t *testing.T) {
	t.Parallel()

	before, now := compiled(t, "func F() {}\nfunc G() {}"), compiled(t, "func F() {}\nfunc H() {}")

	for name, test := range map[string]struct{ tag, version, told, refused string }{
		"no tag":              {"", "v0.1.0", "2 names, and no release", ""},
		"the same version":    {"v0.1.0", "v0.1.0", "new since v0.1.0: func p.H()", "func p.G()"},
		"one that may break":  {"v0.1.0", "v0.2.0", "gone since v0.1.0: func p.G()", ""},
		"one that may not":    {"v0.1.0", "v0.1.1", "1 names are as in v0.1.0, 1 are new, 1 are gone or are others", "func p.G()"},
		"a minor one from v1": {"v1.0.0", "v1.1.0", "1 are new", "func p.G()"},
	} {
		var out strings.Builder

		err := compareWithTag(&out, test.tag, test.version, before, now)
		if !strings.Contains(out.String(), test.told) {
			t.Errorf("%s: told %q, want %q", name, out.String(), test.told)
		}

		if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.HasSuffix(err.Error(), "\n  "+test.refused)) {
			t.Errorf("%s: got %v, want %q", name, err, test.refused)
		}
	}
}

func TestWhichVersionMayBreak(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		tag, version string
		want         bool
	}{
		{"v0.1.0", "v0.1.0", false},
		{"v0.1.0", "v0.1.1", false},
		{"v0.1.3", "v0.2.0", true},
		{"v0.9.0", "v1.0.0", true},
		{"v1.0.0", "v1.1.0", false},
	} {
		if got := mayBreak(test.tag, test.version); got != test.want {
			t.Errorf("may %s break what %s had: got %t, want %t", test.version, test.tag, got, test.want)
		}
	}
}

func TestLicencesThatAreNotOnTheListAreFound(t *testing.T) {
	t.Parallel()

	const component = `{"metadata":{"component":{"name":"m"}},"components":[{"name":"golang.org/x/sys","version":"v1.0.0",` +
		`"evidence":{"licenses":[%]}},{"name":"fine","licenses":[{"license":{"id":"MIT"}}]}]}`

	for name, test := range map[string]struct{ bill, want string }{
		"on the list":               {strings.ReplaceAll(component, "%", `{"license":{"id":"Apache-2.0"}}`), ""},
		"that of the Go project":    {strings.ReplaceAll(component, "%", `{"license":{"id":"BSD-Source-Code"}}`), ""},
		"not on the list":           {strings.ReplaceAll(component, "%", `{"license":{"id":"GPL-3.0-only"}}`), `golang.org/x/sys v1.0.0 has the licences ["GPL-3.0-only"]`},
		"one of two on the list":    {strings.ReplaceAll(component, "%", `{"license":{"id":"MIT"}},{"license":{"name":"Own"}}`), `golang.org/x/sys v1.0.0 has the licences ["MIT" "Own"]`},
		"an expression":             {strings.ReplaceAll(component, "%", `{"expression":"MIT OR GPL-2.0-only"}`), `golang.org/x/sys v1.0.0 has the licences ["MIT OR GPL-2.0-only"]`},
		"none":                      {strings.ReplaceAll(component, "%", ``), `golang.org/x/sys v1.0.0 has the licences []`},
		"a bill without components": {`{}`, "it lists no modules"},
		"a file that is no bill":    {`[]`, "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			file := filepath.Join(t.TempDir(), "bill.json")
			if err := os.WriteFile(file, []byte(test.bill), 0o600); err != nil {
				t.Fatal(err)
			}

			var out strings.Builder

			err := checkLicences(&out, []string{file})
			if test.want == "" && (err != nil || !strings.Contains(out.String(), "needs 2 modules")) {
				t.Errorf("got %v and %q, want no error", err, out.String())
			}

			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
