package expression

import (
	"cmp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// Path names a place in an item, such as a.b[0].#c.
type Path []Step

// Step is a name, an alias that stands for a name, or, if name is empty, an index.
type Step struct {
	Name  string
	Index int
}

func (s Step) isIndex() bool { return s.Name == "" }
func (s Step) isAlias() bool { return s.Name != "" && s.Name[0] == '#' }

// Resolved returns the path with names in place of its aliases.
func (p Path) Resolved(names map[string]string) Path {
	for i, s := range p {
		if !s.isAlias() {
			continue
		}

		out := append(Path(nil), p...)
		for j := i; j < len(out); j++ {
			if out[j].isAlias() {
				out[j].Name = names[out[j].Name]
			}
		}

		return out
	}

	return p
}

// Lookup returns the value at a resolved path, nil if there is none.
func (p Path) Lookup(it attribute.Item) types.AttributeValue {
	v := it[p[0].Name]
	for _, s := range p[1:] {
		v = s.child(v)
	}

	return v
}

func (s Step) child(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		if !s.isIndex() {
			return v.Value[s.Name]
		}
	case *types.AttributeValueMemberL:
		if s.isIndex() && s.Index < len(v.Value) {
			return v.Value[s.Index]
		}
	}

	return nil
}

// holds reports whether a value can have this step below it.
func (s Step) holds(parent types.AttributeValue) bool {
	switch parent.(type) {
	case *types.AttributeValueMemberM:
		return !s.isIndex()
	case *types.AttributeValueMemberL:
		return s.isIndex()
	}

	return false
}

// compare orders paths so that the elements of a list are in the order of their indexes.
func (p Path) compare(q Path) int {
	for i := range min(len(p), len(q)) {
		if c := strings.Compare(p[i].Name, q[i].Name); c != 0 {
			return c
		}

		if c := cmp.Compare(p[i].Index, q[i].Index); c != 0 {
			return c
		}
	}

	return cmp.Compare(len(p), len(q))
}

// clash refuses two paths that may not be in one update: one of them leads to a part of the other, or they take the same value
// for a list and for a map.
func (p Path) clash(q Path) error {
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
