package main

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// definitions are the expressions that variables got, by variable.
type definitions map[types.Object][]ast.Expr

// definitionsOf finds what each variable of a package is set to. A variable that gets one of several results of a call gets the
// call. What a parameter is, only its callers know, and what a range sets its variables to, only the run: they are set to
// themselves.
func definitionsOf(pass *analysis.Pass) definitions {
	d := definitions{}

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				d.set(pass.TypesInfo, n.Lhs, n.Rhs)
			case *ast.RangeStmt:
				all := []ast.Expr{n.Key, n.Value}
				d.set(pass.TypesInfo, all, all)
			case *ast.FuncType:
				for _, field := range n.Params.List {
					d.set(pass.TypesInfo, expressions(field.Names), expressions(field.Names))
				}
			case *ast.ValueSpec:
				d.set(pass.TypesInfo, expressions(n.Names), n.Values)
			}

			return true
		})
	}

	return d
}

// set notes that variables are set to values.
func (d definitions) set(info *types.Info, names, values []ast.Expr) {
	if len(values) == 0 {
		return
	}

	for i, name := range names {
		id, ok := name.(*ast.Ident)
		if !ok {
			continue
		}

		if o := info.ObjectOf(id); o != nil {
			d[o] = append(d[o], values[min(i, len(values)-1)])
		}
	}
}

func expressions(names []*ast.Ident) []ast.Expr {
	var all []ast.Expr
	for _, name := range names {
		all = append(all, name)
	}

	return all
}

// of returns what an expression is: that of a variable which is set once, else the expression itself.
func (d definitions) of(info *types.Info, e ast.Expr) ast.Expr {
	for range 10 { // a variable may be set to itself
		e = ast.Unparen(e)

		id, ok := e.(*ast.Ident)
		if !ok {
			return e
		}

		values := d[info.ObjectOf(id)]
		if len(values) != 1 || values[0] == e {
			return e
		}

		e = values[0]
	}

	return e
}

// literalOf returns the composite literal that an expression is, or points to, also by way of a variable; nil for others.
func (d definitions) literalOf(info *types.Info, e ast.Expr) *ast.CompositeLit {
	e = d.of(info, e)
	if address, ok := e.(*ast.UnaryExpr); ok && address.Op == token.AND {
		e = ast.Unparen(address.X)
	}

	literal, _ := e.(*ast.CompositeLit)

	return literal
}

// fieldOf returns the value that a literal of a struct gives to a field; nil for none.
func fieldOf(literal *ast.CompositeLit, name string) ast.Expr {
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}

		if id, ok := pair.Key.(*ast.Ident); ok && id.Name == name {
			return pair.Value
		}
	}

	return nil
}
