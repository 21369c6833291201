package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var storeOnce = &analysis.Analyzer{
	Name: "storeonce",
	Doc: `find Stores that are made in each invocation

A Store lets the writes of all that a process does share requests, and remembers records and denials. One that is made in each invocation or for
each request shares nothing. Make it once, before the handler.`,
	Run:      runStoreOnce,
	Requires: []*analysis.Analyzer{reach},
}

const madeAgain = "a Store is made in each invocation: its writes share no requests with those of others, and what it has learned is lost; make it once, before the handler"

func runStoreOnce(pass *analysis.Pass) (any, error) {
	w := finderOf(pass)
	if !isOwn(pass) {
		return nil, nil //nolint:nilnil // an analyzer without a result
	}

	seen := map[ast.Node]bool{}

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			body := w.handlerBody(n)
			if body == nil {
				return true
			}

			for _, e := range w.events(body) {
				if e.kind == making && !seen[e.at] {
					seen[e.at] = true

					w.report(e.at, madeAgain)
				}
			}

			return true
		})
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// handlerBody returns the body of a function that is called for each invocation, request or piece of work: it takes an event of
// Lambda, or an HTTP request and its writer, or is the work of Run and Do. For others it returns nil.
func (w *finder) handlerBody(n ast.Node) *ast.BlockStmt {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if f, ok := w.pass.TypesInfo.Defs[n.Name].(*types.Func); ok && isHandler(f.Signature()) {
			return n.Body
		}
	case *ast.FuncLit:
		if t, ok := w.pass.TypesInfo.TypeOf(n).(*types.Signature); ok && isHandler(t) {
			return n.Body
		}
	case *ast.CallExpr:
		f := callee(w.pass.TypesInfo, n)
		if f == nil || !isFunc(f, core, "Run", "Do") && !isFunc(f, "github.com/aws/aws-lambda-go/lambda", "Start", "StartWithOptions", "StartHandlerFunc") {
			return nil
		}

		for _, argument := range n.Args {
			if literal, ok := w.definitions.of(w.pass.TypesInfo, argument).(*ast.FuncLit); ok {
				return literal.Body
			}

			if d := w.bodies[functionOf(w.pass.TypesInfo, argument)]; d != nil {
				return d.Body
			}
		}
	}

	return nil
}

// isHandler reports whether a function takes an event of Lambda, or an HTTP request and its writer.
func isHandler(signature *types.Signature) bool {
	for parameter := range signature.Params().Variables() {
		t := parameter.Type()
		named := namedOf(t)

		if isType(t, "net/http", "ResponseWriter") || named != nil && pathOf(named.Obj()) == lambdaEvents {
			return true
		}
	}

	return false
}
