package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// events returns what a part of a function does, in the order of the source.
func (w *world) events(n ast.Node) []event {
	v := &visitor{world: w, called: map[ast.Node]bool{}, tokens: hasToken(w.pass.TypesInfo, n)}
	ast.Inspect(n, v.visit)

	return v.events
}

// visitor collects the events of a part of a function.
type visitor struct {
	*world

	events []event
	called map[ast.Node]bool // the functions of calls, which are no values
	tokens bool              // the part gives a token, by which another system knows what it has done
	lazily []span            // parts that run once in a process
}

type span struct{ from, to token.Pos }

func (v *visitor) add(k kind, at ast.Node, d deed, safe bool) {
	v.events = append(v.events, event{kind: k, at: at, deed: d, safe: safe})
}

func (v *visitor) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if to := v.targetOf(n); to != "" {
			v.add(addressing, n, v.deed(to, n), false)
		}
	case *ast.BlockStmt:
		v.behind(n)
	case *ast.IfStmt:
		if isMissing, _ := v.asks(n.Cond); isMissing {
			v.lazily = append(v.lazily, span{n.Body.Pos(), n.Body.End()})
		}
	case *ast.CallExpr:
		v.call(n)
	case *ast.KeyValueExpr:
		if id, ok := n.Key.(*ast.Ident); ok && isCondition(v.pass.TypesInfo, id.Name, n.Value) {
			v.add(guard, n, deed{}, false)
		}
	case *ast.AssignStmt:
		if field, ok := n.Lhs[0].(*ast.SelectorExpr); ok && isCondition(v.pass.TypesInfo, field.Sel.Name, n.Rhs[0]) {
			v.add(guard, n, deed{}, false)
		}
	case *ast.Ident, *ast.SelectorExpr:
		if f := functionOf(v.pass.TypesInfo, n.(ast.Expr)); f != nil && !v.called[n] { //nolint:forcetypeassert // both are expressions
			v.value(n, f)
		}

		if s, ok := n.(*ast.SelectorExpr); ok {
			v.called[s.Sel] = true // it is not met a second time, as an identifier
		}
	}

	return true
}

// call adds what a call does.
func (v *visitor) call(call *ast.CallExpr) {
	v.called[ast.Unparen(call.Fun)] = true

	f := callee(v.pass.TypesInfo, call)
	if f == nil {
		return
	}

	if runsOnce(f) {
		v.lazily = append(v.lazily, span{call.Pos(), call.End()})
	}

	c := site{info: v.pass.TypesInfo, call: call, f: f}

	switch _, hasBody := v.bodies[f]; {
	case isFunc(f, core, "Stage"):
		v.add(staging, call, deed{}, false)
	case isFunc(f, core, "New"):
		if !v.isLazy(call.Pos()) {
			v.add(making, call, deed{}, false)
		}
	case isGuard(c):
		v.add(guard, call, deed{}, false)
	case isLibrary(pathOf(f)):
	case hasBody || v.hasFact(f):
		v.follow(call, f)
	default:
		v.outside(c)
	}
}

// value adds what a function does that is handed on, to be called by others.
func (v *visitor) value(at ast.Node, f *types.Func) {
	if namesGuard(f) {
		v.add(guard, at, deed{}, false)

		return
	}

	v.follow(at, f)
}

func (v *visitor) isLazy(at token.Pos) bool {
	for _, s := range v.lazily {
		if s.from <= at && at < s.to {
			return true
		}
	}

	return false
}

func (v *visitor) hasFact(f *types.Func) bool {
	return f.Pkg() != nil && f.Pkg() != v.pass.Pkg && v.pass.ImportObjectFact(f, new(summary))
}

// outside adds what a call does into code that is not the user's.
func (v *visitor) outside(c site) {
	if source := c.source(); source != "" {
		v.add(receipt, c.call, deed{What: source}, false)

		return
	}

	if text := c.announcement(); text != "" {
		v.add(logging, c.call, v.deed(text, c.call), false)

		return
	}

	guarded := false

	for _, f := range v.implementations(c.f) {
		v.follow(c.call, f)

		guarded = guarded || v.summary(f).Guards
	}

	if what := c.effect(); what != "" && !guarded {
		v.add(effect, c.call, v.deed(what, c.call), v.tokens || c.isConditional())
	}
}

// follow adds what a function does that is called, or handed on to be called.
func (v *visitor) follow(at ast.Node, f *types.Func) {
	s := v.summary(f)

	if s.Source != "" {
		v.add(receipt, at, deed{What: s.Source}, false)
	}

	if s.Any != (deed{}) && s.Any != s.Effect {
		v.add(effect, at, s.Any, true)
	}

	if s.Effect != (deed{}) {
		v.add(effect, at, s.Effect, false)
	}

	if s.Log != (deed{}) {
		v.add(logging, at, s.Log, false)
	}

	if s.LogDone != (deed{}) {
		v.add(logging, at, s.LogDone, true)
	}

	if s.Stages {
		v.add(staging, at, deed{}, false)
	}

	if s.Guards {
		v.add(guard, at, deed{}, false)
	}

	for _, target := range s.Targets {
		v.add(addressing, at, target, false)
	}

	if s.NewStore && !v.isLazy(at.Pos()) {
		v.add(making, at, deed{}, false)
	}
}

// targetOf returns the target of a message that a literal makes; "" if it is none, or its target is not a constant.
func (w *world) targetOf(literal *ast.CompositeLit) string {
	if !isType(w.pass.TypesInfo.TypeOf(literal), core, "Message") {
		return ""
	}

	to := fieldOf(literal, "To")
	if to == nil {
		return ""
	}

	text, _ := textOf(w.pass.TypesInfo, to)

	return text
}

// runsOnce reports whether a function calls its argument once, whatever calls it.
func runsOnce(f *types.Func) bool {
	return isFunc(f, "sync", "Once.Do", "OnceFunc", "OnceValue", "OnceValues")
}

// behind notes that what stands behind `if x != nil` and `if ok` that return runs only when it is needed first.
func (v *visitor) behind(block *ast.BlockStmt) {
	for _, s := range block.List {
		n, ok := s.(*ast.IfStmt)
		if !ok || len(n.Body.List) == 0 {
			continue
		}

		_, returns := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt)
		if _, isThere := v.asks(n.Cond); isThere && returns {
			v.lazily = append(v.lazily, span{n.End(), block.End()})
		}
	}
}

// asks reports whether a condition asks if something is missing, or if it is there: by a comparison with nil, which an error does
// not count for, by a flag that is not set, or by the second value of a map or of a Load.
func (v *visitor) asks(e ast.Expr) (isMissing, isThere bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		if isNil(v.pass.TypesInfo, e.Y) && !isError(v.pass.TypesInfo.TypeOf(e.X)) {
			return e.Op == token.EQL, e.Op == token.NEQ
		}

		missingX, thereX := v.asks(e.X)
		missingY, thereY := v.asks(e.Y)

		return missingX || missingY, thereX || thereY
	case *ast.UnaryExpr:
		_, isCall := ast.Unparen(e.X).(*ast.CallExpr)

		return e.Op == token.NOT && !isCall, false
	case *ast.Ident:
		return false, v.isLookedUp(e)
	default:
		return false, false
	}
}

// isLookedUp reports whether a variable is what a map or a Load has found.
func (v *visitor) isLookedUp(id *ast.Ident) bool {
	switch e := v.definitions.of(v.pass.TypesInfo, id).(type) {
	case *ast.IndexExpr:
		return true
	case *ast.CallExpr:
		f := callee(v.pass.TypesInfo, e)

		return f != nil && f.Name() == "Load"
	default:
		return false
	}
}
