package main

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var unguarded = &analysis.Analyzer{
	Name: "unguarded",
	Doc: `list handlers that get messages at least once, and reach a write, a send or a payment without a guard

A handler is what lambda.Start gets for SQS, SNS, Kinesis, DynamoDB streams, EventBridge, Kafka or S3, or code behind a receipt of the common Go
clients of queues. A guard is a wrapper or a function of go-idemddb, another library's of such a name, a condition of DynamoDB, an INSERT that
ignores what is there, or a token that the other system knows the request by. It runs only if it is asked for.`,
	Run:       runUnguarded,
	Requires:  []*analysis.Analyzer{reach},
	FactTypes: nil,
}

func runUnguarded(pass *analysis.Pass) (any, error) {
	w := finderOf(pass)
	if !isOwn(pass) {
		return nil, nil //nolint:nilnil // an analyzer without a result
	}

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				w.checkStart(call)
			}

			return true
		})
	}

	for f, d := range w.bodies {
		w.checkConsumer(f, d)
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// checkStart looks at a function that Lambda is to call.
func (w *finder) checkStart(call *ast.CallExpr) {
	f := callee(w.pass.TypesInfo, call)
	if f == nil || len(call.Args) == 0 || !isFunc(f, "github.com/aws/aws-lambda-go/lambda",
		"Start", "StartWithOptions", "StartHandlerFunc", "StartWithContext", "NewHandler", "NewHandlerWithOptions") {
		return
	}

	handler := call.Args[0]
	if isFunc(f, "github.com/aws/aws-lambda-go/lambda", "StartWithContext") && len(call.Args) > 1 {
		handler = call.Args[1]
	}

	from, ok := w.originOf(handler)
	if !ok {
		return
	}

	if d := summarize(w.handlerEvents(handler)).Effect; d != (deed{}) {
		w.report(call, fmt.Sprintf(
			"%s delivers at least once, and this handler reaches %s without a guard, so it can happen again with each delivery; guard it: %s",
			from.name, d, from.advice,
		))
	}
}

// originOf returns the source of a handler's events, also of one that something is wrapped around, or that a function makes.
func (w *finder) originOf(handler ast.Expr) (origin, bool) {
	handler = w.definitions.of(w.pass.TypesInfo, handler)

	if o, ok := originOfType(w.pass.TypesInfo.TypeOf(handler)); ok {
		return o, true
	}

	call, ok := handler.(*ast.CallExpr)
	if !ok {
		return origin{}, false
	}

	for _, argument := range call.Args {
		if o, ok := w.originOf(argument); ok {
			return o, true
		}
	}

	return origin{}, false
}

// originOfType returns the source of the events that a function takes, or one of several results.
func originOfType(t types.Type) (origin, bool) {
	if tuple, ok := t.(*types.Tuple); ok { // handler, err := wire()
		for result := range tuple.Variables() {
			if o, ok := originOfType(result.Type()); ok {
				return o, true
			}
		}
	}

	if t == nil {
		return origin{}, false
	}

	signature, ok := t.Underlying().(*types.Signature)
	if !ok {
		return origin{}, false
	}

	return originOf(signature)
}

// handlerEvents returns what a handler does: the function that is named, or what the call that makes the handler mentions.
func (w *finder) handlerEvents(handler ast.Expr) []event {
	handler = w.definitions.of(w.pass.TypesInfo, handler)

	call, ok := handler.(*ast.CallExpr)
	if !ok {
		return w.events(handler)
	}

	all := w.events(call)

	for _, argument := range call.Args {
		if value := w.definitions.of(w.pass.TypesInfo, argument); value != ast.Unparen(argument) {
			all = append(all, w.handlerEvents(argument)...)
		}
	}

	return all
}

// checkConsumer looks at a function that receives messages, or that a client calls with them.
func (w *finder) checkConsumer(f *types.Func, d *ast.FuncDecl) {
	var (
		from    = consumerOf(f.Signature())
		guarded = false
		at      ast.Node
	)

	if from != "" {
		at = d.Name
	}

	for _, e := range w.events(d.Body) {
		switch {
		case e.kind == guard:
			guarded = true
		case e.kind == receipt && at == nil:
			from, at = e.deed.What, e.at
		case e.kind == effect && at != nil && !guarded && !e.safe:
			w.report(at, fmt.Sprintf("%s delivers at least once, and what is done with its messages here reaches %s without a guard, "+
				"so it can happen again with each delivery; guard it: %s", from, e.deed, run))

			return
		}
	}
}
