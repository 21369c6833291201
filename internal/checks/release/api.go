package main

import (
	"bytes"
	"context"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// public are the packages that users import.
var public = []string{"./idemddb/...", "./lambdawrap", "./idemotel"}

// load returns the public packages as the compiler has them.
func load(ctx context.Context, patterns []string) ([]*types.Package, error) {
	// -export compiles them. A package that is only a dependency is marked by DepOnly.
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.DepOnly}}"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // of this file
	cmd.Stderr = os.Stderr

	listed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}

	files, wanted := map[string]string{}, []string{}

	for line := range strings.Lines(string(listed)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if files[fields[0]] = fields[1]; fields[2] == "false" {
			wanted = append(wanted, fields[0])
		}
	}

	open := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", open)

	packages := make([]*types.Package, 0, len(wanted))

	for _, path := range wanted {
		pkg, err := compiled.Import(path)
		if err != nil {
			return nil, fmt.Errorf("read what was compiled of %s: %w", path, err)
		}

		packages = append(packages, pkg)
	}

	return packages, nil
}

// api lists what users of the packages may name: a line for each constant, variable, function, type, field and method. The names
// of parameters are left out. A method of an interface is part of the line of its interface, because another method is a change
// for all that implement it.
func api(packages []*types.Package) []string {
	var lines []string

	for _, pkg := range packages {
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			if token.IsExported(name) {
				lines = append(lines, object(scope.Lookup(name))...)
			}
		}
	}

	slices.Sort(lines)

	return slices.Compact(lines)
}

// object returns the lines of one name of a package.
func object(o types.Object) []string {
	name := qualified(o.Pkg()) + "." + o.Name()

	switch o := o.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("const %s %s = %s", name, text(o.Type()), o.Val().ExactString())}
	case *types.Var:
		return []string{fmt.Sprintf("var %s %s", name, text(o.Type()))}
	case *types.Func:
		return []string{fmt.Sprintf("func %s%s", name, strings.TrimPrefix(text(o.Type()), "func"))}
	case *types.TypeName:
		return typeLines(name, o)
	default:
		return nil
	}
}

func typeLines(name string, o *types.TypeName) []string {
	named, ok := o.Type().(*types.Named)
	if o.IsAlias() || !ok {
		return []string{fmt.Sprintf("type %s = %s", name, text(types.Unalias(o.Type())))}
	}

	var lines []string

	switch under := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, fmt.Sprintf("type %s%s struct", name, parameters(named.TypeParams())))

		for i := range under.NumFields() {
			if f := under.Field(i); f.Exported() {
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("field %s.%s %s %s", name, f.Name(), text(f.Type()), under.Tag(i))))
			}
		}
	default:
		lines = append(lines, fmt.Sprintf("type %s%s %s", name, parameters(named.TypeParams()), text(under)))
	}

	if types.IsInterface(named) {
		return lines
	}

	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		m := selection.Obj()
		if m.Exported() {
			lines = append(lines, fmt.Sprintf("method %s.%s%s", name, m.Name(), strings.TrimPrefix(text(m.Type()), "func")))
		}
	}

	return lines
}

// text writes a type, without the names of parameters and the receiver.
func text(t types.Type) string {
	switch t := t.(type) {
	case *types.Signature:
		without := types.NewSignatureType(nil, nil, nil, unnamed(t.Params()), unnamed(t.Results()), t.Variadic())

		return strings.Replace(types.TypeString(without, qualified), "func", "func"+parameters(t.TypeParams()), 1)
	case *types.Interface:
		if t.NumEmbeddeds() > 0 || t.NumMethods() == 0 {
			return types.TypeString(t, qualified)
		}

		methods := make([]string, 0, t.NumMethods())
		for m := range t.Methods() {
			methods = append(methods, m.Name()+strings.TrimPrefix(text(m.Type()), "func"))
		}

		return "interface { " + strings.Join(methods, "; ") + " }"
	default:
		return types.TypeString(t, qualified)
	}
}

func unnamed(tuple *types.Tuple) *types.Tuple {
	vars := make([]*types.Var, 0, tuple.Len())

	for v := range tuple.Variables() {
		t := v.Type()
		if f, ok := t.(*types.Signature); ok {
			t = types.NewSignatureType(nil, nil, nil, unnamed(f.Params()), unnamed(f.Results()), f.Variadic())
		}

		vars = append(vars, types.NewVar(token.NoPos, nil, "", t))
	}

	return types.NewTuple(vars...)
}

func parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}

	names := make([]string, 0, list.Len())
	for p := range list.TypeParams() {
		names = append(names, p.Obj().Name()+" "+types.TypeString(p.Constraint(), qualified))
	}

	return "[" + strings.Join(names, ", ") + "]"
}

// qualified names a package by its path, without the beginning that names this module or the organisation of the SDK.
func qualified(pkg *types.Package) string {
	if pkg == nil {
		return ""
	}

	return strings.TrimPrefix(strings.TrimPrefix(pkg.Path(), library+"/"), "github.com/aws/")
}

func apiText(ctx context.Context) ([]byte, error) {
	packages, err := load(ctx, public)
	if err != nil {
		return nil, err
	}

	var b bytes.Buffer
	for _, line := range api(packages) {
		b.WriteString(line + "\n")
	}

	return b.Bytes(), nil
}
