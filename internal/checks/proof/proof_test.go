package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// TestThePageNamesTestsThatExist is what can be seen without running them. make proof runs them.
func TestThePageNamesTestsThatExist(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}

	rows, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}

	if len(rows) < 62 {
		t.Errorf("%d rows, want those of before: a fault that is mended keeps its row", len(rows))
	}

	sources := map[string]string{} // by package

	for _, r := range rows {
		for _, p := range r.proofs {
			if sources[p.pkg] == "" {
				sources[p.pkg] = sourceOf(t, p.pkg)
			}

			name, _, _ := strings.Cut(p.test, "/")
			want := "\nfunc " + name + "(t *testing.T)"

			if p.pkg == contractPackage {
				want = `name: "` + strings.ReplaceAll(p.test, "_", " ") + `"`
			}

			if !strings.Contains(sources[p.pkg], want) {
				t.Errorf("row %d: %s has no test %s", r.number, p.pkg, p.test)
			}
		}
	}
}

func sourceOf(t *testing.T, pkg string) string {
	t.Helper()

	names, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}

	var all strings.Builder

	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		all.Write(text)
	}

	return all.String()
}

const onePage = "| | what | shown by | prints | not |\n|--:|---|---|---|---|\n" +
	"| 1 | it holds | `idemddb TestA`, `contract: a key, twice` | 3 tests pass | – |\n"

func TestParseRefusesRowsThatProveNothing(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ old, new, want string }{
		"a row without a test":             {"`idemddb TestA`, `contract: a key, twice`", "see above", "no test stands"},
		"a row whose test is none":         {"idemddb TestA", "idemddb Example", "neither a package"},
		"a row with a cell too few":        {" | – |", " |", "cells"},
		"a number that is not the next":    {"| 1 |", "| 2 |", "row 2 stands where row 1"},
		"a number in a test's own pattern": {"TestA", "TestA|TestB", "cells"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if _, err := parse(strings.Replace(onePage, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestARowIsProvenOnlyByTestsThatPass judges what go test says.
func TestARowIsProvenOnlyByTestsThatPass(t *testing.T) {
	t.Parallel()

	rows, err := parse(onePage)
	if err != nil {
		t.Fatal(err)
	}

	const proven = `{"Action":"pass","Test":"TestA/case"} {"Action":"pass","Test":"TestA"} {"Action":"pass","Test":"TestAB"}`

	for name, c := range map[string]struct{ core, contract, want string }{
		"all pass":             {proven, bothTables, ""},
		"a test fails":         {strings.Replace(proven, `"pass","Test":"TestA"`, `"fail","Test":"TestA"`, 1), bothTables, "TestA: fail"},
		"a case is skipped":    {strings.Replace(proven, `"pass"`, `"skip"`, 1), bothTables, "TestA/case: skip"},
		"a test is not there":  {`{"Action":"pass","Test":"TestAB"}`, bothTables, "no test TestA"},
		"a test does not end":  {`{"Action":"run","Test":"TestA"}`, bothTables, "no test TestA"},
		"another number":       {proven, bothTables + `{"Action":"pass","Test":"TestContractOverTheWire/simple/a_key,_twice"}`, "4 tests pass, and the page says: 3 tests pass"},
		"a case of no engine":  {proven, "", "no test a_key,_twice"},
		"an engine that fails": {proven, strings.Replace(bothTables, "pass", "fail", 1), "a_key,_twice: fail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			seen := results{"idemddb": {}, contractPackage: {}}
			for pkg, events := range map[string]string{"idemddb": c.core, contractPackage: c.contract} {
				if _, err := seen.read(pkg, strings.NewReader(events)); err != nil {
					t.Fatal(err)
				}
			}

			switch line, err := rows[0].judge(seen); {
			case c.want == "" && (err != nil || line != "3 tests pass"):
				t.Errorf("got %q, %v, want it proven", line, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %q, %v, want an error with %q", line, err, c.want)
			}
		})
	}
}

const bothTables = `{"Action":"pass","Test":"TestContractInMemory/simple/a_key,_twice"} {"Action":"pass","Test":"TestContractInMemory/composite/a_key,_twice"}`

func TestPatternsMatchWholeNames(t *testing.T) {
	t.Parallel()

	for want, p := range map[string]proof{
		"^TestA$":                               {"idemddb", "TestA"},
		"^TestA$/^one\\.case$":                  {"idemddb", "TestA/one.case"},
		contractEngines + "/^a_key,_twice$":     {contractPackage, "a_key,_twice"},
		contractEngines + `/^a\x2fb_\(and_c\)$`: {contractPackage, "a/b_(and_c)"},
	} {
		if got := p.pattern(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
