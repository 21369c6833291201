package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var returned = &analysis.Analyzer{
	Name: "returned",
	Doc: `find errors of Complete and CompleteWith that are returned without a call of IsDone

Some of these errors say that the work is done, such as ErrUnrecorded. A caller that gets such an error takes the work for failed and has it run a
second time, so a function returns the error only if claim.IsDone(err) is false. Run, Do and the wrappers know better, so their work may return it.
Looked at are the claims of Store.Claim.`,
	Run: runReturned,
}

// unfinished says what follows from returning the error of a method.
var unfinished = map[string]string{
	"Claim.Complete":     "the work is done also after ErrUnrecorded, and a caller that gets this error has it run a second time",
	"Claim.CompleteWith": "the work is done also after some errors, such as ErrTooLarge, and a caller that gets one takes it for failed",
}

// completer is a function that returns the error of a method in unfinished for a claim that it gets as a parameter.
type completer struct {
	parameter int
	method    string
}

// completions looks for errors of completions that are returned.
type completions struct {
	pass        *analysis.Pass
	definitions definitions
	own         map[types.Object]bool // the variables with claims whose function must call IsDone
	judges      map[*types.Func]bool  // the functions that call IsDone
	completers  map[*types.Func]completer
}

func runReturned(pass *analysis.Pass) (any, error) {
	c := completions{pass: pass, definitions: definitionsOf(pass), own: claimed(pass, "Store.Claim"), completers: map[*types.Func]completer{}}
	declared := c.declared()
	c.judges = c.judgesAmong(declared)

	// A function that returns such an error of its parameter may be the work of Run, so the functions that call it are looked at.
	for known := -1; known < len(c.completers); {
		known = len(c.completers)

		for f, d := range declared {
			c.addCompleter(f, d)
		}
	}

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			c.report(n)

			return true
		})
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// declared returns the functions of the package that have a body.
func (c *completions) declared() map[*types.Func]*ast.FuncDecl {
	all := map[*types.Func]*ast.FuncDecl{}

	for _, file := range c.pass.Files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if f, ok := c.pass.TypesInfo.Defs[d.Name].(*types.Func); ok {
					all[f] = d
				}
			}
		}
	}

	return all
}

// judgesAmong returns which of these functions call IsDone.
func (c *completions) judgesAmong(declared map[*types.Func]*ast.FuncDecl) map[*types.Func]bool {
	all := map[*types.Func]bool{}

	for f, d := range declared {
		all[f] = c.judgesAny(d.Body)
	}

	return all
}

// addCompleter notes a function that returns the error of a completion of its parameter.
func (c *completions) addCompleter(f *types.Func, d *ast.FuncDecl) {
	for _, found := range c.returnedBy(d.Type, d.Body) {
		if i := parameterOf(f, found.claim); i >= 0 {
			c.completers[f] = completer{i, found.method}
		}
	}
}

// report reports the completions whose errors a function returns, for the claims that it has itself.
func (c *completions) report(n ast.Node) {
	var found []completion

	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil {
			found = c.returnedBy(n.Type, n.Body)
		}
	case *ast.FuncLit:
		found = c.returnedBy(n.Type, n.Body)
	}

	for _, one := range found {
		if c.own[one.claim] && n.Pos() <= one.claim.Pos() && one.claim.Pos() < n.End() {
			c.reportOne(one)
		}
	}
}

func (c *completions) reportOne(found completion) {
	name := fullName(callee(c.pass.TypesInfo, found.call))

	report(c.pass, found.call, "the error of "+name+" is returned without a call of IsDone: "+unfinished[found.method]+
		"; return it only if claim.IsDone(err) is false")
}

// parameterOf returns which parameter of a function a variable is; -1 for none.
func parameterOf(f *types.Func, claim types.Object) int {
	for i := range f.Signature().Params().Len() {
		if f.Signature().Params().At(i) == claim {
			return i
		}
	}

	return -1
}

// completion is a call that completes a claim.
type completion struct {
	call   *ast.CallExpr
	claim  types.Object
	method string // of the claim
}

// completionOf returns the completion that an expression is.
func (c *completions) completionOf(e ast.Expr) (completion, bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return completion{}, false
	}

	f := callee(c.pass.TypesInfo, call)
	if f == nil {
		return completion{}, false
	}

	var claim ast.Expr

	method := fullName(f)

	if known, ok := c.completers[f]; ok && known.parameter < len(call.Args) {
		method, claim = known.method, call.Args[known.parameter]
	} else if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && pathOf(f) == core && unfinished[method] != "" {
		claim = s.X
	} else {
		return completion{}, false
	}

	id, ok := ast.Unparen(claim).(*ast.Ident)
	if !ok {
		return completion{}, false
	}

	o := c.pass.TypesInfo.ObjectOf(id)

	return completion{call, o, method}, o != nil
}

// carried returns the errors that an expression is made of: itself, or those that it wraps.
func (c *completions) carried(e ast.Expr) []ast.Expr {
	e = ast.Unparen(e)

	call, ok := e.(*ast.CallExpr)
	if !ok {
		return []ast.Expr{e}
	}

	f := callee(c.pass.TypesInfo, call)
	if f == nil || !isFunc(f, "fmt", "Errorf") && !isFunc(f, "errors", "Join") {
		return []ast.Expr{e}
	}

	var all []ast.Expr
	for _, argument := range call.Args {
		all = append(all, c.carried(argument)...)
	}

	return all
}

// carries reports whether an expression is the error in a variable, or wraps it.
func (c *completions) carries(e ast.Expr, v types.Object) bool {
	for _, e := range c.carried(e) {
		if c.names(e, v) {
			return true
		}
	}

	return false
}

func (c *completions) names(e ast.Expr, v types.Object) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)

	return ok && c.pass.TypesInfo.ObjectOf(id) == v
}
