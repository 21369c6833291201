package main

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/cfg"
)

// returnedBy returns the completions whose errors a function returns without asking IsDone about them. It does not look into the
// functions inside of it, which return to others.
func (c *completions) returnedBy(t *ast.FuncType, body *ast.BlockStmt) []completion {
	var (
		all   []completion
		graph *cfg.CFG // is made when it is needed
		named = c.namedResults(t)
	)

	inspectOwn(body, func(n ast.Node) {
		if r, ok := n.(*ast.ReturnStmt); ok && !c.isJudgedLater(body, named...) {
			for _, e := range r.Results {
				all = append(all, c.completionsIn(e)...)
			}

			return
		}

		all = append(all, c.deferred(n, named)...)

		for name, value := range assigned(n) {
			v, found := c.pass.TypesInfo.ObjectOf(name), c.completionsIn(value)
			if len(found) == 0 || !isError(v.Type()) {
				continue
			}

			if graph == nil {
				graph = cfg.New(body, func(*ast.CallExpr) bool { return true })
			}

			if w := (&way{c, v, named}); !c.isJudgedLater(body, v) && w.returns(graph, n) {
				all = append(all, found...)
			}
		}
	})

	return all
}

// deferred returns the completions whose errors a function that is deferred here sets named results to, if it asks IsDone about
// none.
func (c *completions) deferred(n ast.Node, named []types.Object) []completion {
	var all []completion

	d, ok := n.(*ast.DeferStmt)
	if !ok {
		return nil
	}

	f, ok := ast.Unparen(d.Call.Fun).(*ast.FuncLit)
	if !ok || c.judgesAny(f.Body) {
		return nil
	}

	inspectOwn(f.Body, func(n ast.Node) {
		for name, value := range assigned(n) {
			if !slices.Contains(named, c.pass.TypesInfo.ObjectOf(name)) {
				continue
			}

			for _, e := range c.carried(value) {
				if found, ok := c.completionOf(c.definitions.of(c.pass.TypesInfo, e)); ok {
					all = append(all, found)
				}
			}
		}
	})

	return all
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// completionsIn returns the completions whose error an expression is, or wraps.
func (c *completions) completionsIn(e ast.Expr) []completion {
	var all []completion

	for _, e := range c.carried(e) {
		if found, ok := c.completionOf(e); ok {
			all = append(all, found)
		}
	}

	return all
}

func (c *completions) namedResults(t *ast.FuncType) []types.Object {
	var all []types.Object

	if t.Results != nil {
		for _, field := range t.Results.List {
			for _, name := range field.Names {
				all = append(all, c.pass.TypesInfo.ObjectOf(name))
			}
		}
	}

	return all
}

// isJudgedLater reports whether a function inside of another, such as a deferred one, asks IsDone about a variable.
func (c *completions) isJudgedLater(body *ast.BlockStmt, variables ...types.Object) bool {
	is := false

	ast.Inspect(body, func(n ast.Node) bool {
		if inner, ok := n.(*ast.FuncLit); ok {
			for _, v := range variables {
				is = is || c.isJudgedIn(inner.Body, v)
			}
		}

		return !is
	})

	return is
}

// isJudgedIn reports whether a statement asks about the error in a variable whether the work is done.
func (c *completions) isJudgedIn(n ast.Node, v types.Object) bool {
	is := false

	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !c.isJudge(call) {
			return !is
		}

		for _, argument := range call.Args {
			is = is || c.names(argument, v)
		}

		return !is
	})

	return is
}

// judgesAny reports whether a function asks about any error whether the work is done.
func (c *completions) judgesAny(body *ast.BlockStmt) bool {
	is := false

	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		is = is || ok && c.isJudge(call)

		return !is
	})

	return is
}

// isJudge reports whether a call asks about an error whether the work is done: IsDone, a function of this package that calls it,
// or errors.Is with ErrUnrecorded, which is the error that matters.
func (c *completions) isJudge(call *ast.CallExpr) bool {
	f := callee(c.pass.TypesInfo, call)

	switch {
	case f == nil:
		return false
	case isFunc(f, core, "Claim.IsDone"), c.judges[f]:
		return true
	case !isFunc(f, "errors", "Is"):
		return false
	}

	name, ok := ast.Unparen(call.Args[1]).(*ast.SelectorExpr)
	if !ok {
		return false
	}

	target := c.pass.TypesInfo.ObjectOf(name.Sel)

	return pathOf(target) == core && target.Name() == "ErrUnrecorded"
}

// way follows the error in a variable through a function.
type way struct {
	*completions

	v     types.Object
	named []types.Object // the results of the function that have names
}

// returns reports whether a function returns the variable on a way from the statement that sets it, before it is set anew and
// before the function asks IsDone about it.
func (w *way) returns(graph *cfg.CFG, set ast.Node) bool {
	for _, block := range graph.Blocks {
		for i, n := range block.Nodes {
			if n == set {
				return w.from(block, i+1, map[*cfg.Block]bool{})
			}
		}
	}

	return false
}

func (w *way) from(block *cfg.Block, first int, seen map[*cfg.Block]bool) bool {
	for _, n := range block.Nodes[first:] {
		if w.isJudgedIn(n, w.v) {
			return false
		}

		if r, ok := n.(*ast.ReturnStmt); ok {
			return w.isReturned(r)
		}

		for name, value := range assigned(n) {
			if w.names(name, w.v) && !w.carries(value, w.v) {
				return false
			}
		}
	}

	for _, next := range block.Succs {
		if !seen[next] {
			seen[next] = true

			if w.from(next, 0, seen) {
				return true
			}
		}
	}

	return false
}

func (w *way) isReturned(r *ast.ReturnStmt) bool {
	for _, e := range r.Results {
		if w.carries(e, w.v) {
			return true
		}
	}

	for _, result := range w.named {
		if len(r.Results) == 0 && result == w.v {
			return true
		}
	}

	return false
}

// assigned returns the variables that a statement sets, each with its value. A variable that gets one of several results of a
// call gets the call.
func assigned(n ast.Node) map[*ast.Ident]ast.Expr {
	all := map[*ast.Ident]ast.Expr{}

	set := func(names, values []ast.Expr) {
		for i, name := range names {
			if id, ok := name.(*ast.Ident); ok && id.Name != "_" && len(values) > 0 {
				all[id] = values[min(i, len(values)-1)]
			}
		}
	}

	switch n := n.(type) {
	case *ast.AssignStmt:
		set(n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		set(expressions(n.Names), n.Values)
	}

	return all
}

// inspectOwn calls visit for each node of a function, but not for those of the functions inside of it.
func inspectOwn(body *ast.BlockStmt, visit func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}

		if n != nil {
			visit(n)
		}

		return true
	})
}
