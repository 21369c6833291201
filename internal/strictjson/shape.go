package strictjson

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"unicode"
)

// Shape is what encoding/json fills in a value of a type: the fields of its structs, at each level. It is safe for concurrent
// use. The nil Shape is that of types that have no fields, or that decode themselves.
type Shape struct {
	fields   map[string]*Shape // of a struct, by the names in JSON; nil for other types
	elements *Shape            // of a slice, an array or a map
}

// ShapeOf returns the shape of the values to which encoding/json decodes for a pointer to a T.
func ShapeOf[T any]() *Shape { return shapes{}.of(reflect.TypeFor[*T]()) }

// Exact returns a text in which encoding/json finds the members with the exact names of fields, and no others. The names of the
// others are hidden, and the text has the same length. A text that is not one JSON value is returned as it is. The errors are
// those of [Read].
func (s *Shape) Exact(text string) (string, error) {
	if !json.Valid([]byte(text)) {
		return text, nil
	}

	w := walker{scanner: scanner{text: text}}
	if err := w.value(s); err != nil {
		return "", err
	}

	if w.exact == nil {
		return text, nil
	}

	return string(w.exact), nil
}

// member returns the shape of a member, and whether the member must keep its name.
func (s *Shape) member(name string) (shape *Shape, isKnown bool) {
	if s == nil || s.fields == nil {
		return s.element(), true
	}

	shape, isKnown = s.fields[name]

	return shape, isKnown
}

func (s *Shape) element() *Shape {
	if s == nil {
		return nil
	}

	return s.elements
}

// shapes holds the shapes of types that are known already, because a type can contain itself.
type shapes map[reflect.Type]*Shape

// of follows encoding/json, which asks a pointer to a value of a named type whether it decodes itself.
func (known shapes) of(t reflect.Type) *Shape {
	if t.Name() != "" {
		t = reflect.PointerTo(t)
	}

	for ; t.Kind() == reflect.Pointer; t = t.Elem() {
		if t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return nil
		}
	}

	shape, isKnown := known[t]
	if isKnown {
		return shape
	}

	shape = &Shape{}
	known[t] = shape

	switch t.Kind() { //nolint:exhaustive // the others have neither fields nor elements
	case reflect.Struct:
		shape.fields = map[string]*Shape{}
		for name, field := range fieldsOf(t) {
			shape.fields[name] = known.of(field)
		}
	case reflect.Slice, reflect.Array, reflect.Map:
		shape.elements = known.of(t.Elem())
	}

	return shape
}

// fieldsOf returns the types of a struct's fields by their names, by the rules of encoding/json: a field hides those of the same
// name that are embedded more deeply; of those on one level, the one with a tag counts; and where two are left, none does.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{} // nil for a name that is taken by none
	visited := map[reflect.Type]bool{}

	for level := map[reflect.Type]int{t: 1}; len(level) > 0; {
		found, next := found{}, map[reflect.Type]int{}

		for embedded, count := range level {
			if !visited[embedded] {
				visited[embedded] = true
				found.scan(embedded, count, next)
			}
		}

		for name, candidates := range found {
			if _, isHidden := fields[name]; !isHidden {
				fields[name] = candidates.dominant()
			}
		}

		level = next
	}

	maps.DeleteFunc(fields, func(_ string, field reflect.Type) bool { return field == nil })

	return fields
}

// found has the fields of one level by their names.
type found map[string]*candidates

// candidates are the types of the fields with one name.
type candidates struct{ tagged, untagged []reflect.Type }

func (c *candidates) dominant() reflect.Type {
	fields := c.tagged
	if len(fields) == 0 {
		fields = c.untagged
	}

	if len(fields) > 1 {
		return nil
	}

	return fields[0]
}

// scan adds the fields of a struct that is embedded count times, and counts the structs that it embeds itself.
func (f found) scan(t reflect.Type, count int, next map[reflect.Type]int) {
	for field := range t.Fields() {
		tag := field.Tag.Get("json")
		if tag == "-" || isIgnored(field) {
			continue
		}

		name, _, _ := strings.Cut(tag, ",")
		isTagged := isValidTag(name)

		if embedded := target(field.Type); field.Anonymous && !isTagged && embedded.Kind() == reflect.Struct {
			next[embedded]++

			continue
		}

		if !isTagged {
			name = field.Name
		}

		if f[name] == nil {
			f[name] = &candidates{}
		}

		for range min(count, 2) { // A second one is enough to show that the name is not unique.
			f[name].add(field.Type, isTagged)
		}
	}
}

func (c *candidates) add(field reflect.Type, isTagged bool) {
	if isTagged {
		c.tagged = append(c.tagged, field)
	} else {
		c.untagged = append(c.untagged, field)
	}
}

// isIgnored reports whether encoding/json passes over a field. An unexported struct that is embedded may have exported fields.
func isIgnored(field reflect.StructField) bool {
	return !field.IsExported() && (!field.Anonymous || target(field.Type).Kind() != reflect.Struct)
}

// target returns the type to which a pointer leads. Nothing of a named pointer type can be embedded.
func target(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}

	return t
}

// isValidTag reports whether encoding/json takes the name in a tag.
func isValidTag(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}

	return name != ""
}
