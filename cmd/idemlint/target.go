package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var target = &analysis.Analyzer{
	Name: "target",
	Doc: `find messages to targets that no Senders entry has

Stage refuses a message whose To is not an entry of Options.Senders. Where all entries of a program's Senders are written down as constants, and
so is a message's To, the two are compared.`,
	Run:      runTarget,
	Requires: []*analysis.Analyzer{reach},
}

func runTarget(pass *analysis.Pass) (any, error) {
	w := finderOf(pass)
	if !isOwn(pass) {
		return nil, nil //nolint:nilnil // an analyzer without a result
	}

	s := senders{finder: w, entries: map[string]bool{}, isKnown: true}

	for _, f := range pass.Files {
		ast.Inspect(f, s.visit)
	}

	if s.isKnown && len(s.maps) > 0 {
		s.compare()
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// senders are the entries of all Senders of a package, and the messages that it stages.
type senders struct {
	*finder

	entries  map[string]bool
	maps     []ast.Node
	isKnown  bool // each entry is a constant
	messages []sent
	theirs   []deed // of functions of other packages
}

type sent struct {
	at ast.Node
	to string
}

func (s *senders) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		t := s.pass.TypesInfo.TypeOf(n)

		switch {
		case isSenders(t):
			s.add(n)
		case isType(t, core, "Message"):
			if to := s.targetOf(n); to != "" {
				s.messages = append(s.messages, sent{n, to})
			}
		case isType(t, core, "Options"):
			// Senders that come from elsewhere are not known.
			if value := fieldOf(n, "Senders"); value != nil && !s.isWrittenDown(value) {
				s.isKnown = false
			}
		}
	case *ast.AssignStmt:
		s.assign(n)
	case *ast.Ident:
		if f, ok := s.pass.TypesInfo.Uses[n].(*types.Func); ok && f.Pkg() != s.pass.Pkg {
			s.theirs = append(s.theirs, s.summary(f.Origin()).Targets...)
		}
	}

	return true
}

// isWrittenDown reports whether Senders are a literal, or a variable that is only set to literals and made empty. Its entries are
// then met.
func (s *senders) isWrittenDown(e ast.Expr) bool {
	values := []ast.Expr{e}

	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		values = s.definitions[s.pass.TypesInfo.ObjectOf(id)]
	}

	for _, value := range values {
		call, isCall := ast.Unparen(value).(*ast.CallExpr)
		_, isLiteral := ast.Unparen(value).(*ast.CompositeLit)

		if !isLiteral && (!isCall || types.ExprString(call.Fun) != "make") {
			return false
		}
	}

	return len(values) > 0
}

// assign notes an entry that is added to Senders, and a message's To that is set.
func (s *senders) assign(a *ast.AssignStmt) {
	for i, left := range a.Lhs {
		switch left := ast.Unparen(left).(type) {
		case *ast.IndexExpr:
			if isSenders(s.pass.TypesInfo.TypeOf(left.X)) {
				s.entry(left.Index)
			}
		case *ast.SelectorExpr:
			if left.Sel.Name != "To" || len(a.Lhs) != len(a.Rhs) || !isType(s.pass.TypesInfo.TypeOf(left.X), core, "Message") {
				continue
			}

			if text, ok := textOf(s.pass.TypesInfo, a.Rhs[i]); ok && text != "" {
				s.messages = append(s.messages, sent{a.Rhs[i], text})
			}
		}
	}
}

func (s *senders) add(literal *ast.CompositeLit) {
	s.maps = append(s.maps, literal)

	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			s.entry(pair.Key)
		}
	}
}

func (s *senders) entry(e ast.Expr) {
	name, ok := textOf(s.pass.TypesInfo, e)
	if !ok {
		s.isKnown = false
	}

	s.entries[name] = true
}

// compare reports each message to a target that is no entry: those of this package where they are made, those of others at the
// Senders.
func (s *senders) compare() {
	for _, m := range s.messages {
		if !s.entries[m.to] {
			s.report(m.at, fmt.Sprintf("no entry of Senders has the target %q, so Stage refuses the message; the entries are %s", m.to, s.names()))
		}
	}

	for _, t := range unique(s.theirs) {
		if !s.entries[t.What] {
			s.report(s.maps[0], fmt.Sprintf("these Senders have no entry %q, which a message of the work names (%s), so Stage refuses it", t.What, t.Where))
		}
	}
}

func (s *senders) names() string {
	var names []string

	for name := range s.entries {
		names = append(names, fmt.Sprintf("%q", name))
	}

	slices.Sort(names)

	return strings.Join(names, ", ")
}

// isSenders reports whether a type is that of Options.Senders.
func isSenders(t types.Type) bool {
	if t == nil {
		return false
	}

	m, ok := t.Underlying().(*types.Map)

	return ok && isType(m.Elem(), core, "Sender")
}

func unique(all []deed) []deed {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b deed) int { return strings.Compare(a.What+"\x00"+a.Where, b.What+"\x00"+b.Where) })

	return slices.Compact(all)
}
