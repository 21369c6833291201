// Package circles_test holds the files of each package to one direction: a reader who begins with a file needs those that it
// uses, and files that use each other in a circle can only be read together.
package circles_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// most is how many files of a package may use each other in a circle.
const most = 5

// listed is a package as `go list` describes it.
type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
	Module                  *struct{ Dir string }
}

func TestNoPackageHasACircleOfManyFiles(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("it compiles all packages of all modules; make test runs it")
	}

	for _, module := range []string{".", "cmd/idem", "cmd/idemlint", "idemotel"} {
		t.Run(module, func(t *testing.T) {
			t.Parallel()

			dir, err := filepath.Abs(filepath.Join("../../..", module))
			if err != nil {
				t.Fatal(err)
			}

			all := list(t, dir)
			checked := 0

			for _, p := range all {
				if p.Module != nil && p.Module.Dir == dir && len(p.GoFiles) > most {
					checked++

					for _, circle := range circles(usesOf(t, &p, all)) {
						if len(circle) > most {
							t.Errorf("%s: %d files use each other in a circle: %s", p.ImportPath, len(circle), strings.Join(circle, " "))
						}
					}
				}
			}

			if checked == 0 {
				t.Error("no package has more than five files, so nothing was checked")
			}
		})
	}
}

func TestACircleIsFound(t *testing.T) {
	t.Parallel()

	got := circles(map[string]map[string]bool{"a": {"b": true}, "b": {"c": true, "d": true}, "c": {"a": true}, "d": {"e": true}, "e": {}})
	if want := [][]string{{"a", "b", "c"}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// list returns the packages of a module and all that they import, compiled.
func list(t *testing.T, dir string) map[string]listed {
	t.Helper()

	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,Module", "./...")
	command.Dir, command.Stderr = dir, t.Output()

	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]listed{}

	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed

		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}

		all[p.ImportPath] = p
	}
}

// usesOf returns for each file of a package the other files whose declarations, fields and methods it uses.
func usesOf(t *testing.T, p *listed, all map[string]listed) map[string]map[string]bool {
	t.Helper()

	set := token.NewFileSet()
	uses := map[string]map[string]bool{}

	var files []*ast.File

	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		files, uses[name] = append(files, file), map[string]bool{}
	}

	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(all[path].Export)
	})}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}

	pkg, err := config.Check(p.ImportPath, set, files, &info)
	if err != nil {
		t.Fatal(err)
	}

	for id, object := range info.Uses {
		if object.Pkg() == pkg && object.Pos().IsValid() {
			from, to := filepath.Base(set.Position(id.Pos()).Filename), filepath.Base(set.Position(object.Pos()).Filename)
			uses[from][to] = true
		}
	}

	return uses
}

// circles returns the sets of files each of which uses each other one, perhaps by way of others.
func circles(uses map[string]map[string]bool) (all [][]string) {
	names := make([]string, 0, len(uses))
	for name := range uses {
		names = append(names, name)
	}

	slices.Sort(names)

	for _, by := range names { // Warshall: what can be reached by way of this file
		for _, from := range names {
			if uses[from][by] {
				maps.Copy(uses[from], uses[by])
			}
		}
	}

	for i, name := range names {
		circle := slices.DeleteFunc(slices.Clone(names[i:]), func(other string) bool {
			return other != name && (!uses[name][other] || !uses[other][name])
		})
		if isNew := !slices.ContainsFunc(all, func(c []string) bool { return slices.Contains(c, name) }); isNew && len(circle) > 1 {
			all = append(all, circle)
		}
	}

	return all
}
