package functions_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// The pages are those at the root, llms.txt among them, and docs/. What they say about the repository is compared with the
// repository.

func TestPagesAgreeWithTheRepository(t *testing.T) {
	t.Parallel()

	for _, problem := range pageProblems(os.DirFS("..")) {
		t.Error(problem)
	}
}

// The programs in testdata are shown on the pages. No other test builds them: "./..." leaves testdata out. go vet reads them in
// make lint.
func TestProgramsOfThePagesCompile(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("the go command costs more than all else of this package")
	}

	arguments := []string{"list", "-export"} // compiles and does not link

	for _, pattern := range []string{"testdata/*/main.go", "testdata/*/*/main.go"} {
		mains, err := filepath.Glob(pattern)
		if err != nil || len(mains) == 0 {
			t.Fatalf("%s: found no programs: %v", pattern, err)
		}

		for _, main := range mains {
			arguments = append(arguments, "./"+filepath.ToSlash(filepath.Dir(main)))
		}
	}

	if out, err := exec.CommandContext(t.Context(), "go", arguments...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// pageCase is a page with the fault that a check is for.
type pageCase struct {
	page string // docs/a.md; README.md links to it
	want []string
}

func TestPageChecksFindFaultsOfTheText(t *testing.T) {
	checkPages(t, map[string]pageCase{
		"a good page": {"# A\n\n## B c\n\n[up](../README.md#readme) [here](#b-c)\n\n    make test\n\n| a | b |\n|---|---|\n| `x\\|y` | 2 |\n", nil},
		"a link to a missing file": {
			"# A\n\n[x](b.md)\n", []string{`docs/a.md: link b.md: no such file`},
		},
		"a link to a missing heading": {
			"# A\n\n[x](../README.md#what)\n", []string{`docs/a.md: link ../README.md#what: no such heading`},
		},
		"a link to a heading of the page that is missing": {
			"# A\n\n[x](#b)\n", []string{`docs/a.md: link #b: no such heading`},
		},
		"two headings of one name": {
			"# A\n\n## B\n\n## B\n", []string{`docs/a.md: heading "B" stands twice, so that links cannot reach the second`},
		},
		"a page without a title": {"A\n", []string{`docs/a.md: does not begin with a title`}},
		"a make target that is missing": {
			"# A\n\nRun `make nothing`.\n", []string{`docs/a.md: make nothing: the Makefile has no such target`},
		},
		"a make target that is missing, in a block": {
			"# A\n\n    make test && make nothing X=1\n", []string{`docs/a.md: make nothing: the Makefile has no such target`},
		},
		"a file that is missing": {
			"# A\n\nSee `localstack/nothing.sh`.\n", []string{`docs/a.md: localstack/nothing.sh: no such file`},
		},
		"a table's row with another number of cells": {
			"# A\n\n| a | b |\n|---|---|\n| 1 |\n", []string{`docs/a.md: table row "| 1 |" has 1 cells, its head 2`},
		},
		"a block that does not end": {"# A\n\n```\nx\n", []string{`docs/a.md: a code block has no end`}},
	})
}

func TestPageChecksFindFaultsOfTheCode(t *testing.T) {
	checkPages(t, map[string]pageCase{
		"Go without a source": {
			"# A\n\n```go\nx := 1\n```\n", []string{`docs/a.md: no source above the block "x := 1"`},
		},
		"Go that its source does not have": {
			"# A\n\n<!-- source: a_test.go -->\n```go\nx := 2\n```\n", []string{`docs/a.md: a_test.go does not have the block "x := 2"`},
		},
		"Go with a source that is missing": {
			"# A\n\n<!-- source: b_test.go -->\n```go\nx := 1\n```\n", []string{`docs/a.md: source b_test.go: no such file`},
		},
		"Go that its source has one tab in": {"# A\n\n<!-- source: a_test.go -->\n```go\nx := 1\n```\n", nil},
		"YAML that does not parse": {
			"# A\n\n```yaml\na: [b\n```\n", []string{`docs/a.md: YAML that does not parse: "a: [b"`},
		},
		"YAML that its source does not have": {
			"# A\n\n<!-- source: a.yaml -->\n```yaml\na: 2\n```\n", []string{`docs/a.md: a.yaml is not the block "a: 2"`},
		},
		"YAML that its source has": {"# A\n\n<!-- source: a.yaml -->\n```yaml\na: 1\n```\n", nil},
	})
}

func TestPageChecksFindAPageWithoutALink(t *testing.T) {
	t.Parallel()

	orphan := fstest.MapFS{"README.md": {Data: []byte("# Readme\n")}, "docs/a.md": {Data: []byte("# A\n")}, "Makefile": {}}
	if diff := cmp.Diff([]string{"README.md: has no link to docs/a.md"}, pageProblems(orphan)); diff != "" {
		t.Errorf("a page that README.md does not link to: problems (-want +got):\n%s", diff)
	}
}

func TestPageChecksFindFaultsAtTheRoot(t *testing.T) {
	t.Parallel()

	root := fstest.MapFS{"README.md": {Data: []byte("# Readme\n")}, "Makefile": {}}

	var want []string

	for _, name := range []string{"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "llms.txt"} {
		root[name] = &fstest.MapFile{Data: []byte("# A\n\n- [b](docs/b.md): what is not there\n")}
		want = append(want, name+": link docs/b.md: no such file")
	}

	if diff := cmp.Diff(want, pageProblems(root)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func checkPages(t *testing.T, cases map[string]pageCase) {
	t.Helper()
	t.Parallel()

	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			root := fstest.MapFS{
				"README.md": {Data: []byte("# Readme\n\n[a](docs/a.md)\n")}, "docs/a.md": {Data: []byte(test.page)},
				"Makefile": {Data: []byte(".PHONY: test\ntest:\n\tgo test\n")}, "a_test.go": {Data: []byte("func f() {\n\tx := 1\n}\n")}, "a.yaml": {Data: []byte("a: 1\n")},
			}
			if diff := cmp.Diff(test.want, pageProblems(root)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// page is a Markdown file, taken apart.
type page struct {
	name     string
	text     string
	prose    string // without code
	code     string // fenced, indented and inline
	headings []string
	unclosed bool // a fence is open at the end
}

// pageProblems returns what is wrong with the pages of a repository, in the order of the pages.
func pageProblems(root fs.FS) []string {
	var problems []string

	names, _ := fs.Glob(root, "docs/*.md")
	names = append([]string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "llms.txt"}, names...)
	makefile, _ := fs.ReadFile(root, "Makefile")
	pages := map[string]page{}

	for _, name := range names {
		if text, err := fs.ReadFile(root, name); err == nil {
			pages[name] = newPage(name, string(text))
		}
	}

	for _, name := range names {
		p, ok := pages[name]
		if !ok {
			continue // the smaller repositories above have README.md alone at their root
		}

		for _, found := range [][]string{
			p.shape(), p.links(root, pages), p.targets(string(makefile)), p.files(root), p.blocks(root), p.yaml(), p.tables(),
		} {
			for _, problem := range found {
				problems = append(problems, name+": "+problem)
			}
		}

		if path.Dir(name) == "docs" && !strings.Contains(pages["README.md"].prose, "]("+name) {
			problems = append(problems, "README.md: has no link to "+name)
		}
	}

	return problems
}

var inlineCode = regexp.MustCompile("`[^`\n]+`")

func newPage(name, text string) page {
	p := page{name: name, text: text}

	var prose, code strings.Builder

	for line := range strings.Lines(text) {
		switch fence := strings.HasPrefix(strings.TrimSpace(line), "```"); {
		case fence:
			p.unclosed = !p.unclosed
		case p.unclosed, strings.HasPrefix(line, "    "):
			code.WriteString(line)
		default:
			if heading := regexp.MustCompile(`^#+ (.*)\n`).FindStringSubmatch(line); heading != nil {
				p.headings = append(p.headings, heading[1])
			}

			for _, c := range inlineCode.FindAllString(line, -1) {
				code.WriteString(strings.Trim(c, "`") + "\n")
			}

			prose.WriteString(inlineCode.ReplaceAllString(line, "``"))
		}
	}

	p.prose, p.code = prose.String(), code.String()

	return p
}

func (p page) shape() (problems []string) {
	if !strings.HasPrefix(p.text, "# ") {
		problems = append(problems, "does not begin with a title")
	}

	if p.unclosed {
		problems = append(problems, "a code block has no end")
	}

	for i, heading := range p.headings {
		// In CHANGELOG.md each release has its own "Added".
		if slices.Contains(p.headings[:i], heading) && p.name != "CHANGELOG.md" {
			problems = append(problems, fmt.Sprintf("heading %q stands twice, so that links cannot reach the second", heading))
		}
	}

	return problems
}

// links checks files and headings; what lies outside of the repository is not fetched.
func (p page) links(root fs.FS, pages map[string]page) (problems []string) {
	for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(p.prose, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}

		file, heading, hasHeading := strings.Cut(m[1], "#")

		target := p.name
		if file != "" {
			target = path.Join(path.Dir(p.name), file)
		}

		if _, err := fs.Stat(root, target); err != nil {
			problems = append(problems, "link "+m[1]+": no such file")
		} else if hasHeading && !slices.ContainsFunc(pages[target].headings, func(h string) bool { return anchor(h) == heading }) {
			problems = append(problems, "link "+m[1]+": no such heading")
		}
	}

	return problems
}

// anchor is what GitHub makes of a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}

func (p page) targets(makefile string) (problems []string) {
	for _, m := range regexp.MustCompile(`\bmake (?:-s )?([a-z][a-z0-9-]*)`).FindAllStringSubmatch(p.code, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			problems = append(problems, "make "+m[1]+": the Makefile has no such target")
		}
	}

	return problems
}

// files checks what looks like a path of the repository.
func (p page) files(root fs.FS) (problems []string) {
	paths := regexp.MustCompile(`(?m)(?:^|[\s"'(=])(?:\./)?((?:\.ci|bench|cmd|docs|functions|idemddb|lambdawrap|localstack)/[\w./-]*\w)`)

	for _, m := range paths.FindAllStringSubmatch(p.code, -1) {
		if _, err := fs.Stat(root, m[1]); err != nil {
			problems = append(problems, m[1]+": no such file")
		}
	}

	return problems
}

// A block of Go stands in a file that is compiled: the comment above it names the file. YAML may stand in one.
var sourced = regexp.MustCompile("(?sm)^(?:<!-- source: ([^ ]+) -->\n)?```(go|yaml)\n(.*?)^```$")

func (p page) blocks(root fs.FS) (problems []string) {
	for _, m := range sourced.FindAllStringSubmatch(p.text, -1) {
		name, language, block := m[1], m[2], m[3]
		if name == "" {
			if language == "go" {
				problems = append(problems, fmt.Sprintf("no source above the block %q", firstLine(block)))
			}

			continue
		}

		source, err := fs.ReadFile(root, name)

		switch text := string(source); {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, "source "+name+": no such file")
		case language == "yaml", strings.HasPrefix(block, "package "): // the block is a whole file
			if text != block {
				problems = append(problems, fmt.Sprintf("%s is not the block %q", name, firstLine(block)))
			}
		case !strings.Contains(text, block) && !strings.Contains(text, indent(block)) && !strings.Contains(text, indent(indent(block))):
			problems = append(problems, fmt.Sprintf("%s does not have the block %q", name, firstLine(block)))
		}
	}

	return problems
}

func (p page) yaml() (problems []string) {
	for _, block := range yamlIn(p.text) {
		if err := yaml.Unmarshal([]byte(block), new(yaml.Node)); err != nil {
			problems = append(problems, fmt.Sprintf("YAML that does not parse: %q", firstLine(block)))
		}
	}

	return problems
}

// yamlIn are the blocks of YAML on a page.
func yamlIn(text string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?sm)^```yaml\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}

	return blocks
}

// tables checks that no row has lost a cell: in code, too, a bar that does not separate cells is written \|.
func (p page) tables() (problems []string) {
	head := 0

	for line := range strings.Lines(p.text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			head = 0

			continue
		}

		cells := strings.Count(line, "|") - strings.Count(line, `\|`) - 1
		if head == 0 {
			head = cells
		}

		if cells != head {
			problems = append(problems, fmt.Sprintf("table row %q has %d cells, its head %d", line, cells, head))
		}
	}

	return problems
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")

	return line
}

// indent moves every line that is not empty one tab in.
func indent(text string) string {
	return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(text, "\t$1")
}
