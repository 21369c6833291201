package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// The packages of the library that programs call.
const (
	library = "github.com/idemddb/go-idemddb/"
	core    = library + "idemddb"
	wrap    = library + "lambdawrap"
)

// page is where each finding is explained.
const page = "https://github.com/idemddb/go-idemddb/blob/main/docs/testing.md#what-idemlint-finds"

// report reports a finding, unless it is in a test, which makes mistakes on purpose, or a comment on its line or the line above
// says why it is none: "//idemlint:ignore" and the reason. Examples are looked at, because people copy them.
func report(pass *analysis.Pass, at ast.Node, text string) {
	file := pass.Fset.File(at.Pos())
	if isTest(pass, file) && !strings.HasPrefix(filepath.Base(file.Name()), "example_") {
		return
	}

	for _, f := range pass.Files {
		if f.FileStart <= at.Pos() && at.Pos() < f.FileEnd && isIgnored(f, file, file.Line(at.Pos())) {
			return
		}
	}

	pass.Report(analysis.Diagnostic{Pos: at.Pos(), End: at.End(), Message: text, URL: page})
}

// isTest reports whether a file is one of tests, or of a package that helps them.
func isTest(pass *analysis.Pass, file *token.File) bool {
	const end = "_test.go"

	if strings.HasSuffix(file.Name(), end) {
		return true
	}

	for _, f := range pass.Files {
		if strings.HasSuffix(pass.Fset.File(f.FileStart).Name(), end) {
			continue
		}

		for _, i := range f.Imports {
			if i.Path.Value == `"testing"` {
				return true
			}
		}
	}

	return false
}

// isIgnored reports whether a comment says why a finding on a line is none.
func isIgnored(f *ast.File, file *token.File, line int) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			reason, ok := strings.CutPrefix(c.Text, "//idemlint:ignore ")
			at := file.Line(c.Pos())

			if ok && strings.TrimSpace(reason) != "" && (at == line || at == line-1) {
				return true
			}
		}
	}

	return false
}

// callee returns the function or the method that a call names; nil for a value of a function type, a conversion and a built-in
// function.
func callee(info *types.Info, call *ast.CallExpr) *types.Func {
	f, _ := typeutil.Callee(info, call).(*types.Func)
	if f == nil {
		return nil
	}

	return f.Origin()
}

// isFunc reports whether a function is one of those with a name of a package. A method has the name of its type before it:
// "Claim.Complete".
func isFunc(f *types.Func, path string, names ...string) bool {
	if pathOf(f) != path {
		return false
	}

	return slices.Contains(names, fullName(f))
}

// pathOf returns the import path of an object; "" for none.
func pathOf(o types.Object) string {
	if o == nil || o.Pkg() == nil {
		return ""
	}

	return o.Pkg().Path()
}

// fullName returns the name of a function, with the type of its receiver.
func fullName(f *types.Func) string {
	if receiver := f.Signature().Recv(); receiver != nil {
		if named := namedOf(receiver.Type()); named != nil {
			return named.Obj().Name() + "." + f.Name()
		}
	}

	return f.Name()
}

// namedOf returns the named type of a value or of what it points to; nil for others.
func namedOf(t types.Type) *types.Named {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}

	named, _ := types.Unalias(t).(*types.Named)

	return named
}

// isType reports whether t or what it points to is a named type of a package.
func isType(t types.Type, path string, names ...string) bool {
	named := namedOf(t)

	return named != nil && pathOf(named.Obj()) == path && slices.Contains(names, named.Obj().Name())
}

// textOf returns the value of a constant string.
func textOf(info *types.Info, e ast.Expr) (string, bool) {
	v := info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}

	return constant.StringVal(v), true
}

// isTrue reports whether an expression is the constant true.
func isTrue(info *types.Info, e ast.Expr) bool {
	v := info.Types[e].Value

	return v != nil && v.Kind() == constant.Bool && constant.BoolVal(v)
}

// isNil reports whether an expression is nil.
func isNil(info *types.Info, e ast.Expr) bool { return info.Types[e].IsNil() }

// isBlank reports whether an expression is the blank identifier.
func isBlank(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)

	return ok && name.Name == "_"
}

// functionOf returns the function that an expression names; nil for others.
func functionOf(info *types.Info, e ast.Expr) *types.Func {
	var name *ast.Ident

	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		name = e
	case *ast.SelectorExpr:
		name = e.Sel
	case *ast.IndexExpr: // with type arguments
		return functionOf(info, e.X)
	case *ast.IndexListExpr:
		return functionOf(info, e.X)
	default:
		return nil
	}

	f, _ := info.Uses[name].(*types.Func)
	if f == nil {
		return nil
	}

	return f.Origin()
}
