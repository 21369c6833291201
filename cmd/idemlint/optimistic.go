package main

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var optimistic = &analysis.Analyzer{
	Name: "optimistic",
	Doc: `find handlers with Optimistic that do more than stage effects

With Optimistic the first delivery is not claimed, so two workers may run the handler at the same time, and what it staged may be refused after
it has returned. A call to another system may then happen twice, and a line of the log may tell of work that was never committed.`,
	Run:      runOptimistic,
	Requires: []*analysis.Analyzer{reach},
}

func runOptimistic(pass *analysis.Pass) (any, error) {
	w := finderOf(pass)
	if !isOwn(pass) {
		return nil, nil //nolint:nilnil // an analyzer without a result
	}

	set := w.setOptimistic()

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}

			f := callee(pass.TypesInfo, call)
			if f == nil || !isFunc(f, wrap, "SQS", "Func", "HTTP") && !isFunc(f, core, "Do") || !w.isOptimistic(call, set) {
				return true
			}

			for _, argument := range call.Args {
				w.checkOptimistic(argument)
			}

			return true
		})
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// setOptimistic returns the variables whose field Optimistic is set to true after they were made.
func (w *finder) setOptimistic() map[types.Object]bool {
	set := map[types.Object]bool{}

	for _, f := range w.pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 || !isTrue(w.pass.TypesInfo, a.Rhs[0]) {
				return true
			}

			if field, ok := a.Lhs[0].(*ast.SelectorExpr); ok && field.Sel.Name == "Optimistic" {
				if id, ok := field.X.(*ast.Ident); ok {
					set[w.pass.TypesInfo.ObjectOf(id)] = true
				}
			}

			return true
		})
	}

	return set
}

// isOptimistic reports whether a call has options with Optimistic.
func (w *finder) isOptimistic(call *ast.CallExpr, set map[types.Object]bool) bool {
	for _, argument := range call.Args {
		if !isOptions(w.pass.TypesInfo.TypeOf(argument)) {
			continue
		}

		if id, ok := ast.Unparen(argument).(*ast.Ident); ok && set[w.pass.TypesInfo.ObjectOf(id)] {
			return true
		}

		if literal := w.definitions.literalOf(w.pass.TypesInfo, argument); literal != nil {
			value := fieldOf(literal, "Optimistic")

			return value != nil && isTrue(w.pass.TypesInfo, value)
		}
	}

	return false
}

// isOptions reports whether a type is one of the options that have a field Optimistic.
func isOptions(t types.Type) bool {
	return t != nil && (isType(t, wrap, "Options", "FuncOptions", "HTTPOptions") || isType(t, core, "ClaimOptions"))
}

// checkOptimistic looks at an argument of a wrapper that is a handler.
func (w *finder) checkOptimistic(argument ast.Expr) {
	t := w.pass.TypesInfo.TypeOf(argument)
	if t == nil || isOptions(t) || isType(t, core, "Store") || isType(t, "context", "Context") {
		return
	}

	staged := false

	for _, e := range w.events(w.definitions.of(w.pass.TypesInfo, argument)) {
		switch {
		case e.kind == effect:
			w.report(e.at, fmt.Sprintf(
				"a handler with Optimistic reaches %s: two workers may run it at the same time, so it can happen twice; stage it, or leave Optimistic off",
				e.deed,
			))
		case e.kind == staging:
			staged = true
		case e.kind == logging && (staged || e.safe):
			w.report(e.at, fmt.Sprintf("a handler with Optimistic logs a result by %s before it is committed: what it staged may still be refused; "+
				"log where the outcome is known, in OnMessage or behind Do", e.deed))
		}
	}
}
