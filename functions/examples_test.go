package functions_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// withoutExample are the exported methods that have no example of their own, with the reason.
var withoutExample = map[string]string{
	"Error": "the examples of its type print it", "Unwrap": "the examples of its type call errors.Is", // of every error

	"Store.Begin": "Example_wrapper shows it", "Work.Context": "Example_wrapper shows it", "Work.Settle": "Example_wrapper shows it",
	"Work.Claim": "ExampleWork_GiveBack shows it", "Work.Staged": "ExampleWork_TakeStageErr shows it",
	"Store.Engine":       "for the packages of this module",
	"Store.GetItemInput": "for packages outbox and operate", "Store.Namespace": "for packages outbox and operate",
	"Store.Options": "for packages outbox and operate", "Store.SendStored": "for packages outbox and operate",
	"Store.Table": "for packages outbox and operate",

	"Claim.Key":              "it is what Claim was called with",
	"EnvelopeFunc.Open":      "the examples of the envelopes call it",
	"Enveloped.Key":          "the examples of the envelopes print it",
	"Metrics.Observe":        "ExampleMetrics passes it on",
	"StreamFunc.Invoke":      "package lambda calls it",
	"EventFunc.Invoke":       "package lambda calls it",
	"PipeFunc.Invoke":        "package lambda calls it",
	"Checker.Check":          "Example shows it",
	"Checker.Report":         "Example shows it",
	"Report.GapsErr":         "the command idem calls it",
	"Report.String":          "Example prints it",
	"Telemetry.StoreOptions": "Example shows it", "Telemetry.MessageOptions": "Example shows it",
}

// Every exported function has an example: one of its own, or that of the type that it makes. A method has one, or a reason above.
// A reason that no method needs is left over from one that is gone, or that has an example now.
func TestEveryExportedFunctionHasAnExample(t *testing.T) {
	t.Parallel()

	needless := maps.Clone(withoutExample)

	for _, dir := range []string{
		"idemddb", "idemddb/audit", "idemddb/idemddbtest", "idemddb/operate", "idemddb/outbox", "idemddb/results", "idemotel", "lambdawrap",
	} {
		p := documented(t, dir)

		for _, f := range p.Funcs {
			if len(f.Examples) == 0 {
				t.Errorf("%s.%s has no example", dir, f.Name)
			}
		}

		for _, typ := range p.Types {
			for _, f := range typ.Funcs {
				if len(f.Examples)+len(typ.Examples)+len(p.Examples) == 0 {
					t.Errorf("%s.%s has no example, and %s has none", dir, f.Name, typ.Name)
				}
			}

			for _, m := range typ.Methods {
				if len(m.Examples) > 0 {
					continue
				}

				name := typ.Name + "." + m.Name
				if withoutExample[name] == "" && withoutExample[m.Name] == "" {
					t.Errorf("%s.%s has no example, and withoutExample has no reason", dir, name)
				}

				delete(needless, name)
				delete(needless, m.Name)
			}
		}
	}

	for name, reason := range needless {
		t.Errorf("withoutExample has %q (%s), which no method needs", name, reason)
	}
}

// documented returns what go doc shows of a package, with the examples of its tests.
func documented(t *testing.T, dir string) *doc.Package {
	t.Helper()

	paths, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no Go files: %v", dir, err)
	}

	var (
		all   = token.NewFileSet()
		files []*ast.File
	)

	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		file, err := parser.ParseFile(all, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}

		files = append(files, file)
	}

	p, err := doc.NewFromFiles(all, files, "github.com/idemddb/go-idemddb/"+dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}

	return p
}
