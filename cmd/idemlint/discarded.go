package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var discarded = &analysis.Analyzer{
	Name: "discarded",
	Doc: `find claims, records and errors that are thrown away

Claim returns a claim or a record. A program that throws the record away has a nil claim for work that was done before; one that throws the
claim away holds the key until its lease ends. Without the error of Complete, nobody knows that the work is not recorded. Release and Fail
return only the error of their own write: the cause that they are given is lost for the caller of a function that returns nothing else.`,
	Run: runDiscarded,
}

const (
	noRecord = "the record of Claim is thrown away: for work that was done before the claim is nil, and the record is its answer"
	noClaim  = "the claim of Claim is thrown away: nobody completes or releases it, and its key is held until the lease ends"
)

// lost says what is not known without the error of a function.
var lost = map[string]string{
	"Claim.Complete":     "the work is perhaps not recorded, and its next delivery does it again",
	"Claim.CompleteWith": "the effects are perhaps not written",
	"Claim.Fail":         "the key is perhaps not ended, and its next delivery does the work again",
	"Claim.Extend":       "the claim is perhaps lost, and another worker may do the work",
	"Store.Commit":       "the effects are perhaps not written",
	"Store.Claim":        "another worker may hold the key",
	"Run":                "the work perhaps did not run, because another worker holds the key, or it failed",
	"Do":                 "the work perhaps did not run, because another worker holds the key, or it failed",
}

// results are how many values a function returns; its error is the last one.
var results = map[string]int{"Store.Claim": 3, "Store.Commit": 2, "Run": 2, "Do": 2}

func runDiscarded(pass *analysis.Pass) (any, error) {
	// A wrapper knows what its handler's own claim, that of FromContext, was given; nobody knows it of those of Store.Claim.
	checked, own := comparedWithNil(pass), claimed(pass, "Store.Claim")

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ExprStmt:
				discards(pass, n.X, nil, nil)
			case *ast.DeferStmt:
				discards(pass, n.Call, nil, nil)
			case *ast.GoStmt:
				discards(pass, n.Call, nil, nil)
			case *ast.AssignStmt:
				if len(n.Rhs) == 1 {
					discards(pass, n.Rhs[0], n.Lhs, checked)
				}
			case *ast.ReturnStmt:
				returnsSettlement(pass, n, own)
			}

			return true
		})
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// comparedWithNil returns the variables that are somewhere compared with nil. A claim that is compared says itself whether the
// work was done before.
func comparedWithNil(pass *analysis.Pass) map[types.Object]bool {
	all := map[types.Object]bool{}

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			b, ok := n.(*ast.BinaryExpr)
			if !ok {
				return true
			}

			for _, sides := range [][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
				if id, ok := ast.Unparen(sides[0]).(*ast.Ident); ok && isNil(pass.TypesInfo, sides[1]) {
					all[pass.TypesInfo.ObjectOf(id)] = true
				}
			}

			return true
		})
	}

	return all
}

// discards reports what of a call's results is not in names; nil names are none.
func discards(pass *analysis.Pass, e ast.Expr, names []ast.Expr, checked map[types.Object]bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return
	}

	f := callee(pass.TypesInfo, call)
	if f == nil || pathOf(f) != core {
		return
	}

	name := fullName(f)
	what, isKnown := lost[name]

	if name == "Store.Claim" && len(names) == 3 && !isBlank(names[2]) {
		claim, ok := names[0].(*ast.Ident)

		switch {
		case isBlank(names[0]) && isBlank(names[1]) && isTest(pass, pass.Fset.File(call.Pos())): // an example of a worker that dies
		case isBlank(names[0]):
			report(pass, call, noClaim)
		case isBlank(names[1]) && (!ok || !checked[pass.TypesInfo.ObjectOf(claim)]):
			report(pass, call, noRecord)
		}

		return
	}

	if isKnown && len(names) != max(1, results[name]) || isKnown && isBlank(names[len(names)-1]) {
		report(pass, call, "the error of "+name+" is thrown away: "+what)
	}
}

// claimed returns the variables that have a claim of one of these functions.
func claimed(pass *analysis.Pass, functions ...string) map[types.Object]bool {
	all := map[types.Object]bool{}

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Rhs) != 1 {
				return true
			}

			call, isCall := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
			claim, isNamed := a.Lhs[0].(*ast.Ident)

			if isCall && isNamed {
				if of := callee(pass.TypesInfo, call); of != nil && isFunc(of, core, functions...) {
					all[pass.TypesInfo.ObjectOf(claim)] = true
				}
			}

			return true
		})
	}

	return all
}

// returnsSettlement reports a failure that is returned as a success.
func returnsSettlement(pass *analysis.Pass, r *ast.ReturnStmt, own map[types.Object]bool) {
	if len(r.Results) == 0 {
		return
	}

	call, ok := ast.Unparen(r.Results[len(r.Results)-1]).(*ast.CallExpr)
	if !ok || len(call.Args) != 2 || isNil(pass.TypesInfo, call.Args[1]) {
		return
	}

	of := callee(pass.TypesInfo, call)
	if of == nil || !isFunc(of, core, "Claim.Release", "Claim.Fail") {
		return
	}

	method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}

	if claim, ok := ast.Unparen(method.X).(*ast.Ident); ok && own[pass.TypesInfo.ObjectOf(claim)] {
		report(pass, call, fullName(of)+" returns nil once it is written, so the caller takes the failed work for done: "+
			"return the cause with it, by errors.Join")
	}
}
