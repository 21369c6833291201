package functions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The reference shows an example with each exported function. That of a type is shown with the functions that make it.
func TestEveryExportedFunctionHasAnExample(t *testing.T) {
	t.Parallel()

	for _, dir := range []string{
		"idemddb", "idemddb/audit", "idemddb/idemddbtest", "idemddb/operate", "idemddb/outbox", "idemddb/results", "lambdawrap", "idemotel",
	} {
		functions, examples := functionsOf(t, dir)
		if len(functions) == 0 {
			t.Errorf("%s has no exported function", dir)
		}

		for name, made := range functions {
			if !examples[name] && !examples[made] {
				t.Errorf("%s: no Example%s", dir, name)
			}
		}
	}
}

// functionsOf returns the exported functions of a package, with the type that each of them makes, and what its examples are about.
func functionsOf(t *testing.T, dir string) (functions map[string]string, examples map[string]bool) {
	t.Helper()

	functions, examples = map[string]string{}, map[string]bool{}

	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)

			switch about, isExample := strings.CutPrefix(identifier(f), "Example"); {
			case !ok || f.Recv != nil:
			case strings.HasSuffix(file, "_test.go") && isExample:
				about, _, _ = strings.Cut(about, "_")
				examples[about] = true
			case !strings.HasSuffix(file, "_test.go") && f.Name.IsExported():
				functions[f.Name.Name] = madeBy(f)
			}
		}
	}

	return functions, examples
}

func identifier(f *ast.FuncDecl) string {
	if f == nil {
		return ""
	}

	return f.Name.Name
}

// madeBy returns the name of the type to which a function returns a pointer; "" if it returns none.
func madeBy(f *ast.FuncDecl) string {
	if f.Type.Results == nil {
		return ""
	}

	pointer, _ := f.Type.Results.List[0].Type.(*ast.StarExpr)
	if pointer == nil {
		return ""
	}

	name, _ := pointer.X.(*ast.Ident)
	if name == nil {
		return ""
	}

	return name.Name
}
