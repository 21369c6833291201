// Package mutation changes the Go code of the library in small ways, and demands that a test of the library notices each change.
// The expressions that are sent to DynamoDB are changed elsewhere: by TestEveryMutationOfAnExpressionIsNoticed in package
// protocol.
package mutation

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mutant is one change of the code. The text of old must stand once in the file, in a function.
type mutant struct {
	why string // one sentence: what the changed code does wrong

	file     string // below the root of the module
	old, new string

	pkg string // whose test must fail, below the root of the module
	run string // the test, as for go test -run
}

const (
	root = "../../.."

	// tool is the package of cmd/idem, which is a module of its own.
	tool = "cmd/idem"

	// selector is the variable of the environment that selects the mutant in a test binary.
	selector = "IDEMDDB_MUTANT"
)

const (
	// expressionsPackage changes each expression that is sent.
	expressionsPackage = "internal/protocol"

	// termsPackage has random histories in which each term of each condition is dropped.
	termsPackage = "internal/checks/audited"
)

// allMutants are those of all files of this package.
func allMutants() []mutant {
	return slices.Concat(
		claimMutants, settleMutants, requestMutants, plannerMutants, limitMutants, outcomeMutants, effectMutants, recognisedMutants, detailMutants,
		optimisticMutants, transactMutants, streamMutants, unchangedResultMutants, resultMutants, largeMutants, httpMutants, operateMutants,
		toolMutants, auditorMutants, funcMutants, searchMutants, traceMutants, panicMutants, addMutants, readMutants,
	)
}

// The texts are compared without building anything, so that a change of the code shows at once which mutants it must translate.
func TestTheTextOfEachMutantStandsOnceInItsFile(t *testing.T) {
	t.Parallel()

	sources := map[string]string{}

	for _, m := range allMutants() {
		if sources[m.file] == "" {
			source, err := os.ReadFile(filepath.Join(root, m.file))
			if err != nil {
				t.Fatal(err)
			}

			sources[m.file] = string(source)
		}

		if n := strings.Count(sources[m.file], m.old); n != 1 {
			t.Errorf("%s: %s\nthe text stands there %d times, not once:\n%s", m.file, m.why, n, m.old)
		}
	}
}

// TestEveryMutationOfTheCodeIsNoticed builds the tests of each package once, with all mutants in it, and runs the test of each
// mutant with that mutant selected. A mutant whose old text is not in its file any more fails the test: translate it to the new
// code.
func TestEveryMutationOfTheCodeIsNoticed(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("each mutant runs a test in a process of its own")
	}

	binaries := build(t, allMutants())

	t.Run("expressions", func(t *testing.T) {
		t.Parallel()

		// The package leaves its test out with the race detector, which these binaries are built without.
		m := mutant{pkg: expressionsPackage, run: "^TestEveryMutationOfAnExpressionIsNoticed$"}
		if out, err := m.runTest(t, binaries, ""); err != nil || strings.Contains(out, noTest) {
			t.Errorf("%v\n%s", err, out)
		}
	})

	t.Run("terms of conditions", func(t *testing.T) {
		t.Parallel()

		// It is left out with the race detector, too.
		m := mutant{pkg: termsPackage, run: "^TestARuleFindsTheLackOfEachTermOfACondition$"}
		if out, err := m.runTest(t, binaries, ""); err != nil || strings.Contains(out, noTest) {
			t.Errorf("%v\n%s", err, out)
		}
	})

	for _, m := range allMutants() {
		t.Run(m.why, func(t *testing.T) {
			t.Parallel()
			m.try(t, binaries)
		})
	}
}

// try demands that the mutant's test fails, and that it passes without the mutant.
func (m mutant) try(t *testing.T, binaries string) {
	t.Helper()

	if out, err := m.runTest(t, binaries, ""); err != nil || strings.Contains(out, noTest) {
		t.Fatalf("without the mutant, the test does not pass or does not exist: %v\n%s", err, out)
	}

	out, err := m.runTest(t, binaries, m.why)
	for again := 0; err == nil && again < 2; again++ { // some mutants matter only in one of the orders in which goroutines run
		out, err = m.runTest(t, binaries, m.why)
	}

	failed := failure.FindString(out)

	switch {
	case err == nil:
		t.Errorf("%s: not noticed by %s of %s:\n  %s\n→ %s", m.file, m.run, m.pkg, m.old, m.new)
	case strings.Contains(out, "test timed out"), failed == "":
		t.Errorf("%s: %s of %s does not fail, it hangs or is killed: %v\n%s", m.file, m.run, m.pkg, err, out)
	default:
		t.Logf("%s: %s", m.file, failed)
	}
}

// noTest is the warning of a test binary in which no test has the name.
const noTest = "no tests to run"

var failure = regexp.MustCompile(`--- FAIL: \S+|panic: .*|fatal error: .*`)

func (m mutant) runTest(t *testing.T, binaries, selected string) (string, error) {
	t.Helper()

	binary := filepath.Join(binaries, filepath.Base(m.pkg)+".test")
	cmd := exec.CommandContext(t.Context(), binary, "-test.run="+m.run, "-test.count=1", "-test.failfast", "-test.timeout=10m")
	cmd.Dir = filepath.Join(root, m.pkg)
	cmd.Env = append(os.Environ(), selector+"="+selected)
	out, err := cmd.CombinedOutput()

	return string(out), err
}

// build builds the tests with an overlay of all mutants, and returns the directory of the binaries.
func build(t *testing.T, all []mutant) string {
	t.Helper()

	var (
		dir      = t.TempDir()
		replaced = map[string]string{}
		files    = map[string][]mutant{}
		packages = []string{"./" + expressionsPackage, "./" + termsPackage}
	)

	for _, m := range all {
		files[m.file] = append(files[m.file], m)

		if pkg := "./" + m.pkg; !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
	}

	replace := func(file, content string) {
		path, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}

		replaced[path] = filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(replaced[path], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for file, mutants := range files {
		replace(file, mutate(t, file, mutants))
		replace(filepath.Join(filepath.Dir(file), "selected_mutant.go"), fmt.Sprintf(
			"package %s\n\nimport \"os\"\n\nvar selectedMutant = os.Getenv(%q)\n", packageOf(file), selector))
	}

	if t.Failed() { // the text of a mutation was not found
		t.FailNow()
	}

	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}

	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}

	compile := func(module string, packages ...string) {
		args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", list, "-o", dir + string(filepath.Separator)}, packages...)
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join(root, module)

		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("a mutant does not compile: %v\n%s", err, out)
		}
	}

	compile(".", slices.DeleteFunc(slices.Clone(packages), func(pkg string) bool { return pkg == "./"+tool })...)
	compile(tool, ".")
	readTests(t, packages)

	return dir
}

// packageOf returns the name of the package of a file, which is that of its directory, but for programs.
func packageOf(file string) string {
	if dir := filepath.Dir(file); dir == tool || dir == auditor {
		return "main"
	}

	return filepath.Base(filepath.Dir(file))
}

// mutate returns the text of a file with its mutants. Each function begins with a copy of its body for each of its mutants, which
// runs if that mutant is selected.
func mutate(t *testing.T, file string, mutants []mutant) string {
	t.Helper()

	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}

	text, set := string(source), token.NewFileSet()

	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	bodies := map[*ast.FuncDecl]string{} // the copies

	for _, m := range mutants {
		at := strings.Index(text, m.old)
		if at < 0 { // the test above says so, too
			t.Errorf("%s: %s\nthe text is not there:\n%s", file, m.why, m.old)

			continue
		}

		f := functionAt(parsed, set, at, at+len(m.old))
		if f == nil {
			t.Errorf("%s: %s\nthe text is not in the body of one function:\n%s", file, m.why, m.old)

			continue
		}

		from, to := set.Position(f.Body.Lbrace).Offset+1, set.Position(f.Body.Rbrace).Offset
		body := text[from:at] + m.new + text[at+len(m.old):to]

		if f.Type.Results == nil {
			body += "\nreturn"
		}

		bodies[f] += fmt.Sprintf("\nif selectedMutant == %q {%s\n}\n", m.why, body)
	}

	for _, d := range slices.Backward(parsed.Decls) {
		if f, ok := d.(*ast.FuncDecl); ok && bodies[f] != "" {
			at := set.Position(f.Body.Lbrace).Offset + 1
			text = text[:at] + bodies[f] + text[at:]
		}
	}

	return text
}

// functionAt returns the function whose body has the text between two offsets, nil if there is none.
func functionAt(file *ast.File, set *token.FileSet, from, to int) *ast.FuncDecl {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && set.Position(f.Body.Lbrace).Offset < from && to <= set.Position(f.Body.Rbrace).Offset {
			return f
		}
	}

	return nil
}

// readTests reads the files of the packages, so that go test runs this test again when one of them has changed.
func readTests(t *testing.T, packages []string) {
	t.Helper()

	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}

		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}
