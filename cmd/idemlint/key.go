package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var key = &analysis.Analyzer{
	Name: "key",
	Doc: `find key functions that return a constant, or something new each time

With one key for all messages, the first one is done and all others are taken for its duplicates. With a key that is new each time, no duplicate is
known. A key must come from the message, or from the context of its delivery.`,
	Run: runKey,
}

// keyFields are the fields of options that hold functions which find a key. Of HTTP's key, Caller is only a part.
var keyFields = map[string][]string{"Options": {"Key"}, "StreamOptions": {"Key"}, "FuncOptions": {"Key"}, "KafkaOptions": {"Key"}}

func runKey(pass *analysis.Pass) (any, error) {
	k := keys{pass: pass, definitions: definitionsOf(pass), bodies: map[types.Object]*ast.FuncDecl{}}

	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				k.bodies[pass.TypesInfo.Defs[d.Name]] = d
			}
		}
	}

	for _, f := range pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				k.literal(n)
			case *ast.AssignStmt:
				if field, ok := n.Lhs[0].(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) {
					k.field(pass.TypesInfo.TypeOf(field.X), field.Sel.Name, n.Rhs[0])
				}
			}

			return true
		})
	}

	return nil, nil //nolint:nilnil // an analyzer without a result
}

// keys looks for the key functions of a package.
type keys struct {
	pass        *analysis.Pass
	definitions definitions
	bodies      map[types.Object]*ast.FuncDecl
}

func (k *keys) literal(literal *ast.CompositeLit) {
	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := pair.Key.(*ast.Ident); ok {
				k.field(k.pass.TypesInfo.TypeOf(literal), id.Name, pair.Value)
			}
		}
	}
}

// field looks at a function that a field of the options gets.
func (k *keys) field(t types.Type, name string, value ast.Expr) {
	named := namedOf(t)
	if named == nil || pathOf(named.Obj()) != wrap || listed(name, "is", keyFields[named.Obj().Name()]...) == "" {
		return
	}

	value = k.definitions.of(k.pass.TypesInfo, value)

	if f, ok := value.(*ast.FuncLit); ok {
		k.function(f.Type, f.Body)

		return
	}

	if f := functionOf(k.pass.TypesInfo, value); f != nil {
		if d := k.bodies[f]; d != nil {
			k.function(d.Type, d.Body)
		}
	}
}

// function reports what a key function returns without an error, if that does not come from what it is called with.
func (k *keys) function(t *ast.FuncType, body *ast.BlockStmt) {
	parameters := map[types.Object]bool{}

	for _, field := range t.Params.List {
		for _, name := range field.Names {
			parameters[k.pass.TypesInfo.Defs[name]] = true
		}
	}

	uses := false

	ast.Inspect(body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		uses = uses || ok && parameters[k.pass.TypesInfo.Uses[id]]

		return true
	})

	var (
		constants, others []*ast.ReturnStmt
		texts             = map[string]bool{}
	)

	for _, r := range returnsOf(body) {
		if len(r.Results) != 2 || !isNil(k.pass.TypesInfo, r.Results[1]) {
			if len(r.Results) != 2 {
				others = append(others, r)
			}

			continue
		}

		if text, ok := textOf(k.pass.TypesInfo, k.definitions.of(k.pass.TypesInfo, r.Results[0])); ok && text != "" {
			constants = append(constants, r)
			texts[text] = true
		} else {
			others = append(others, r)
		}
	}

	switch {
	case len(texts) == 1 && len(others) == 0:
		report(k.pass, constants[0],
			"this key function returns a constant: the first message is done, and all others are taken for its duplicates; make the key from the message")
	case len(others) > 0 && !uses:
		report(k.pass, others[0],
			"this key function does not look at its message: the key is the same for all messages, or new for each delivery; make the key from the message")
	}
}

// returnsOf returns the return statements of a function, without those of the functions in it.
func returnsOf(body *ast.BlockStmt) []*ast.ReturnStmt {
	var all []*ast.ReturnStmt

	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			all = append(all, n)
		}

		return true
	})

	return all
}
