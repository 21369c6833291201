package lambdawrap_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The types of problems are addresses of headings, and the comparison names a test for each case.
func TestHTTPProblemsAndTestsOfThePageAreThoseOfTheCode(t *testing.T) {
	t.Parallel()

	page := readText(t, "../docs/http.md")
	problems := submatches(regexp.MustCompile(`types \+ "([a-z-]+)"`), readText(t, "../internal/idemhttp/problem.go"))

	if diff := cmp.Diff(problems, submatches(regexp.MustCompile(`(?m)^### ([a-z-]+)$`), page)); diff != "" {
		t.Errorf("problems (-code +page):\n%s", diff)
	}

	files, err := filepath.Glob("http_*_test.go")
	if err != nil {
		t.Fatal(err)
	}

	var tests []string
	for _, file := range files {
		tests = append(tests, submatches(regexp.MustCompile(`(?m)^func (TestHTTP\w+)`), readText(t, file))...)
	}

	named := submatches(regexp.MustCompile("`(Test\\w+)`"), page)
	if len(named) == 0 {
		t.Error("the page names no test")
	}

	for _, name := range named {
		if !slices.Contains(tests, name) {
			t.Errorf("the page names %s, which does not exist", name)
		}
	}
}

// submatches returns the first groups of all matches, sorted, each once.
func submatches(pattern *regexp.Regexp, text string) (found []string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}

	slices.Sort(found)

	return slices.Compact(found)
}

func readText(t *testing.T, file string) string {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}
