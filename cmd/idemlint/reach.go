package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// reach finds for each function of the user's own modules what a call of it does to the world. Other packages that call the
// function learn it as a fact.
var reach = &analysis.Analyzer{
	Name:       "reach",
	Doc:        "find what each function does to the world: writes, sends, payments, guards, receipts",
	Run:        runReach,
	ResultType: reflect.TypeFor[*world](),
	FactTypes:  []analysis.Fact{new(summary)},
}

// summary is what a call of a function does.
type summary struct {
	Source   string // of the messages that it receives and returns; "" for none
	Guards   bool   // it asks a record, a condition or a token whether the work is done
	Effect   deed   // its first one without a guard
	Any      deed   // its first one
	Stages   bool   // it stages effects
	Log      deed   // the first line that it logs
	LogDone  deed   // the first line that it logs after it has staged effects
	NewStore bool   // it makes a Store
	Targets  []deed // of the messages that it makes
}

// AFact makes a summary one that other packages get.
func (*summary) AFact() {}

// deed is something that a program does; the zero value is nothing.
type deed struct{ What, Where string }

func (d deed) String() string { return d.What + " (" + d.Where + ")" }

// kind is what an event of a function is.
type kind int

const (
	receipt kind = iota
	guard
	effect
	staging
	logging
	making
	addressing
)

// event is what a function does at one place.
type event struct {
	kind kind
	at   ast.Node
	deed deed
	safe bool // an effect has a condition or a token of its own; a line is logged behind a staging of the same function
}

// world is what is known about the functions of a package.
type world struct {
	mu          sync.Mutex // go vet runs the analyzers that ask side by side
	pass        *analysis.Pass
	bodies      map[*types.Func]*ast.FuncDecl
	summaries   map[*types.Func]*summary
	definitions definitions
}

// finder knows the functions of a package, and reports findings of the analyzer that asks.
type finder struct {
	*world

	asking *analysis.Pass
}

func finderOf(pass *analysis.Pass) *finder {
	return &finder{world: pass.ResultOf[reach].(*world), asking: pass} //nolint:forcetypeassert // its ResultType
}

// events and summary are those of the world, for one analyzer at a time: a summary that is asked for is kept.
func (f *finder) events(n ast.Node) []event {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.world.events(n)
}

func (f *finder) summary(of *types.Func) *summary {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.world.summary(of)
}

func (f *finder) report(at ast.Node, text string) { report(f.asking, at, text) }

func runReach(pass *analysis.Pass) (any, error) {
	w := &world{pass: pass, bodies: map[*types.Func]*ast.FuncDecl{}, summaries: map[*types.Func]*summary{}, definitions: definitions{}}
	if !isOwn(pass) {
		return w, nil
	}

	w.definitions = definitionsOf(pass)

	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if f, ok := pass.TypesInfo.Defs[d.Name].(*types.Func); ok {
					w.bodies[f] = d
				}
			}
		}
	}

	for f := range w.bodies {
		if s := w.summary(f); !reflect.ValueOf(*s).IsZero() {
			pass.ExportObjectFact(f, s)
		}
	}

	return w, nil
}

// isOwn reports whether a package is of the user's own modules, and not of the library. A module that another one requires has a
// version. Its functions are known by their names, see effects.go and guards.go: what a client of a service does inside says
// nothing.
func isOwn(pass *analysis.Pass) bool {
	path := pass.Pkg.Path()
	if isLibrary(path) {
		return false
	}

	first, _, _ := strings.Cut(path, "/")

	if pass.Module != nil && pass.Module.Path != "" && pass.Module.Path != "std" {
		return pass.Module.Version == ""
	}

	return strings.Contains(first, ".") || first == "main" || first == "command-line-arguments"
}

// isLibrary reports whether a package is one of the library's, whose functions are fenced by their records.
func isLibrary(path string) bool {
	for _, p := range []string{core, wrap, library + "idemotel", library + "internal"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}

	return false
}

// summary returns what a call of a function does. A function that calls itself adds nothing by that.
func (w *world) summary(f *types.Func) *summary {
	if s, ok := w.summaries[f]; ok {
		return s
	}

	s := &summary{}
	w.summaries[f] = s

	if d, ok := w.bodies[f]; ok {
		*s = summarize(w.events(d.Body))

		return s
	}

	if f.Pkg() != nil && f.Pkg() != w.pass.Pkg {
		w.pass.ImportObjectFact(f, s)
	}

	return s
}

// summarize makes one summary of events.
func summarize(events []event) summary {
	var s summary

	for _, e := range events {
		switch e.kind {
		case receipt:
			s.Source = e.deed.What
		case guard:
			s.Guards = true
		case effect:
			if s.Any == (deed{}) {
				s.Any = e.deed
			}

			if s.Effect == (deed{}) && !s.Guards && !e.safe {
				s.Effect = e.deed
			}
		case logging:
			if s.Log == (deed{}) {
				s.Log = e.deed
			}

			if s.LogDone == (deed{}) && (s.Stages || e.safe) {
				s.LogDone = e.deed
			}
		case making:
			s.NewStore = true
		case staging:
			s.Stages = true
		case addressing:
			s.Targets = append(s.Targets, e.deed)
		}
	}

	// Who calls a function that also works on what it received has nothing to work on.
	if s.Any != (deed{}) {
		s.Source = ""
	}

	return s
}

// deed describes what happens at a place.
func (w *world) deed(what string, at ast.Node) deed {
	p := w.pass.Fset.Position(at.Pos())

	return deed{What: what, Where: fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)}
}

// implementations returns the methods that a call of an interface's method may mean: those of the types of this package and of
// the packages beside it that it imports.
func (w *world) implementations(f *types.Func) []*types.Func {
	receiver := f.Signature().Recv()
	if receiver == nil {
		return nil
	}

	of, ok := receiver.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}

	var all []*types.Func

	for _, p := range append(w.pass.Pkg.Imports(), w.pass.Pkg) {
		if p != w.pass.Pkg && !isBeside(p.Path(), w.pass.Pkg.Path()) {
			continue
		}

		for _, name := range p.Scope().Names() {
			t, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || t.IsAlias() || types.IsInterface(t.Type()) || !types.Implements(types.NewPointer(t.Type()), of) {
				continue
			}

			m, _, _ := types.LookupFieldOrMethod(types.NewPointer(t.Type()), true, p, f.Name())
			if m, ok := m.(*types.Func); ok {
				all = append(all, m)
			}
		}
	}

	return all
}

// isBeside reports whether two packages begin with the same three parts, as those of one repository do.
func isBeside(a, b string) bool {
	first := func(path string) string { return strings.Join(strings.SplitN(path+"///", "/", 4)[:3], "/") }

	return first(a) == first(b)
}
