package main

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

var handlerContext = &analysis.Analyzer{
	Name: "handlercontext",
	Doc: `find calls of the library with a context that does not come from the handler

The context of a handler has its claim, and the time that is left to it. Stage and FromContext find no claim in another one, and a call with
context.Background outlives the invocation.`,
	Run: runHandlerContext,
}

const (
	fromNowhere = "this context does not come from the handler: it has neither the handler's claim nor the time that is left; pass the handler's own"
)

func runHandlerContext(pass *analysis.Pass) (any, error) {
	c := contexts{pass: pass, definitions: definitionsOf(pass)}

	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				c.function(d.Type, d.Body, false)
			}
		}
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// contexts looks at the contexts that the calls of a package get.
type contexts struct {
	pass        *analysis.Pass
	definitions definitions
}

// function looks at the calls of a function. Inside of a function with a context of its own, or of a request, every call can have
// that.
func (c *contexts) function(t *ast.FuncType, body *ast.BlockStmt, hasContext bool) {
	hasContext = hasContext || c.takesContext(t)

	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			c.function(n.Type, n.Body, hasContext)

			return false
		case *ast.CallExpr:
			c.call(n, hasContext)
		}

		return true
	})
}

func (c *contexts) takesContext(t *ast.FuncType) bool {
	for _, field := range t.Params.List {
		t := c.pass.TypesInfo.TypeOf(field.Type)
		if isType(t, "context", "Context") || isType(t, "net/http", "Request") {
			return true
		}
	}

	return false
}

// call looks at the context of a call of package idemddb, and at the work that it is given.
func (c *contexts) call(call *ast.CallExpr, hasContext bool) {
	f := callee(c.pass.TypesInfo, call)
	if f == nil || pathOf(f) != core || len(call.Args) == 0 || !takesContext(f) {
		return
	}

	if hasContext && c.isFromNowhere(call.Args[0], 0) {
		report(c.pass, call.Args[0], fromNowhere)

		return
	}

	if isFunc(f, core, "Run", "Do") {
		for _, argument := range call.Args[1:] {
			if work, ok := ast.Unparen(argument).(*ast.FuncLit); ok {
				c.work(work)
			}
		}
	}
}

// maxDepth is how many contexts are derived from each other, at the most; a variable may be derived from itself.
const maxDepth = 10

// isFromNowhere reports whether a context is made of context.Background.
func (c *contexts) isFromNowhere(e ast.Expr, depth int) bool {
	call, ok := c.definitions.of(c.pass.TypesInfo, e).(*ast.CallExpr)
	if !ok || depth > maxDepth {
		return false
	}

	f := callee(c.pass.TypesInfo, call)

	switch {
	case f == nil || pathOf(f) != "context":
		return false
	case isFunc(f, "context", "Background", "TODO"):
		return true
	default:
		return len(call.Args) > 0 && c.isFromNowhere(call.Args[0], depth+1)
	}
}

// work looks for calls in the work of Run and Do that need its claim, with a context from outside of the work.
func (c *contexts) work(work *ast.FuncLit) {
	ast.Inspect(work.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}

		f := callee(c.pass.TypesInfo, call)
		if f == nil || !isFunc(f, core, "Stage", "Unstage", "FromContext") || len(call.Args) == 0 {
			return true
		}

		id, ok := ast.Unparen(call.Args[0]).(*ast.Ident)
		if !ok {
			return true
		}

		isInside := func(e ast.Expr) bool { return work.Pos() <= e.Pos() && e.Pos() < work.End() }

		o, ok := c.pass.TypesInfo.ObjectOf(id).(*types.Var)
		if ok && (o.Pos() < work.Pos() || o.Pos() >= work.End()) && !slices.ContainsFunc(c.definitions[o], isInside) {
			report(c.pass, call.Args[0], "this context is that of the caller, not of the work: it has no claim, so "+f.Name()+" finds none; "+
				"pass the context that the work is called with")
		}

		return true
	})
}
