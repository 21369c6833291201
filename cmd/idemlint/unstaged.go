package main

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
)

var unstaged = &analysis.Analyzer{
	Name: "unstaged",
	Doc: `find errors of Stage that are thrown away

If Stage returns an error, the effects are not staged. A handler that returns nil all the same is not done: its message fails with
ErrNotStaged, again and again.`,
	Run: runUnstaged,
}

const notStaged = "the error of Stage is thrown away: what it refused is not staged, and the handler fails with ErrNotStaged each time; return the error"

func runUnstaged(pass *analysis.Pass) (any, error) {
	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			if text, call := misused(n); call != nil && stages(pass, call) {
				report(pass, n, text)
			}

			return true
		})
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// misused returns the expression whose result a statement throws away, and what follows from that for Stage.
func misused(n ast.Node) (string, ast.Expr) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		return notStaged, n.X
	case *ast.DeferStmt:
		return "Stage is deferred: its error is thrown away, and it is called after the handler has answered", n.Call
	case *ast.GoStmt:
		return "Stage is called in a goroutine: its error is thrown away, and the handler may end before it", n.Call
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 && isBlank(n.Lhs[0]) {
			return notStaged, n.Rhs[0]
		}
	}

	return "", nil
}

// stages reports whether an expression is a call of Stage with effects. Staging nothing is refused for no other reason than a
// missing claim.
func stages(pass *analysis.Pass, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}

	f := callee(pass.TypesInfo, call)
	if f == nil || !isFunc(f, core, "Stage") {
		return false
	}

	literal, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.CompositeLit)

	return !ok || len(literal.Elts) > 0
}
