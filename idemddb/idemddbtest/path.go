package idemddbtest

import (
	"cmp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// path names a place in an item, such as a.b[0].#c.
type path []step

// step is a name, an alias that stands for a name, or, if name is empty, an index.
type step struct {
	name  string
	index int
}

func (s step) isIndex() bool { return s.name == "" }
func (s step) isAlias() bool { return s.name != "" && s.name[0] == '#' }

// resolved returns the path with names in place of its aliases.
func (p path) resolved(names map[string]string) path {
	for i, s := range p {
		if !s.isAlias() {
			continue
		}

		out := append(path(nil), p...)
		for j := i; j < len(out); j++ {
			if out[j].isAlias() {
				out[j].name = names[out[j].name]
			}
		}

		return out
	}

	return p
}

// lookup returns the value at a resolved path, nil if there is none.
func (p path) lookup(it attribute.Item) types.AttributeValue {
	v := it[p[0].name]
	for _, s := range p[1:] {
		v = s.child(v)
	}

	return v
}

func (s step) child(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		if !s.isIndex() {
			return v.Value[s.name]
		}
	case *types.AttributeValueMemberL:
		if s.isIndex() && s.index < len(v.Value) {
			return v.Value[s.index]
		}
	}

	return nil
}

// holds reports whether a value can have this step below it.
func (s step) holds(parent types.AttributeValue) bool {
	switch parent.(type) {
	case *types.AttributeValueMemberM:
		return !s.isIndex()
	case *types.AttributeValueMemberL:
		return s.isIndex()
	}

	return false
}

// compare orders paths so that the elements of a list are in the order of their indexes.
func (p path) compare(q path) int {
	for i := range min(len(p), len(q)) {
		if c := strings.Compare(p[i].name, q[i].name); c != 0 {
			return c
		}

		if c := cmp.Compare(p[i].index, q[i].index); c != 0 {
			return c
		}
	}

	return cmp.Compare(len(p), len(q))
}

// clash refuses two paths that may not be in one update: one of them leads to a part of the other, or they take the same value
// for a list and for a map.
func (p path) clash(q path) error {
	for i := range min(len(p), len(q)) {
		if p[i].isIndex() != q[i].isIndex() {
			return exception.Validation("Two document paths conflict with each other; must remove or rewrite one of these paths")
		}

		if p[i] != q[i] {
			return nil
		}
	}

	return exception.Validation("Two document paths overlap with each other; must remove or rewrite one of these paths")
}
