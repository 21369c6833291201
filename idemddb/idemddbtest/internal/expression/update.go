package expression

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// change sets the value at a path, or removes it if value is nil.
type change struct {
	path  Path
	value types.AttributeValue
}

// CheckUpdate refuses an update that is wrong for every item, and returns the paths that it changes.
func (b *Binding) CheckUpdate(u *Update) ([]Path, error) {
	paths := make([]Path, 0, len(u.sets)+len(u.removes)+len(u.adds)+len(u.deletes))
	for _, a := range u.sets {
		if err := b.checkSet(a.value); err != nil {
			return nil, err
		}

		paths = append(paths, a.path.Resolved(b.Names))
	}

	for _, p := range u.removes {
		paths = append(paths, p.Resolved(b.Names))
	}

	for _, a := range u.adds {
		if t := attribute.TypeOf(b.Values[a.value.Op]); !oneOf(t, "N SS NS BS") {
			return nil, exception.Validation("Incorrect operand type for operator or function; operator: ADD, operand type: %s", t)
		}

		paths = append(paths, a.path.Resolved(b.Names))
	}

	for _, a := range u.deletes {
		if t := attribute.TypeOf(b.Values[a.value.Op]); !oneOf(t, "SS NS BS") {
			return nil, exception.Validation("Incorrect operand type for operator or function; operator: DELETE, operand type: %s", t)
		}

		paths = append(paths, a.path.Resolved(b.Names))
	}

	for i, p := range paths {
		for _, q := range paths[:i] {
			if err := p.clash(q); err != nil {
				return nil, err
			}
		}
	}

	return paths, nil
}

func (b *Binding) checkSet(e *Node) error {
	for _, a := range e.Args {
		if err := b.checkSet(a); err != nil {
			return err
		}
	}

	switch {
	case e.Kind == SumNode:
		return b.checkTypes(e, "N", e.Args...)
	case e.Op == "if_not_exists" && e.Kind == SetFunctionNode:
		return b.checkDistinct(e)
	case e.Op == "list_append":
		return b.checkTypes(e, "L", e.Args...)
	}

	return nil
}

// Apply returns the item after a checked update. Every right side is evaluated with the item as it was before. A new item begins
// with its key.
func (b *Binding) Apply(u *Update, before attribute.Item) (attribute.Item, error) {
	changes := make([]change, 0, len(u.sets)+len(u.adds)+len(u.deletes))

	removals := make([]change, 0, len(u.removes)+len(u.deletes))
	for _, a := range u.sets {
		v, err := b.evaluate(a.value, before)
		if err != nil {
			return nil, err
		}

		changes = append(changes, change{a.path.Resolved(b.Names), v})
	}

	for _, p := range u.removes {
		removals = append(removals, change{path: p.Resolved(b.Names)})
	}

	added, err := b.combine(u.adds, before, add)
	if err != nil {
		return nil, err
	}

	reduced, err := b.combine(u.deletes, before, subtract)
	if err != nil {
		return nil, err
	}

	changes = append(changes, added...)

	for _, c := range reduced {
		if c.value == nil { // nothing of the set is left
			removals = append(removals, c)
		} else {
			changes = append(changes, c)
		}
	}

	return applyChanges(before, changes, removals)
}

// combine returns the changes of an ADD or a DELETE, which combines each value with the one that the item has at the path.
func (b *Binding) combine(
	list []assignment, before attribute.Item, action func(old, v types.AttributeValue) (types.AttributeValue, error),
) ([]change, error) {
	changes := make([]change, len(list))

	for i, a := range list {
		p := a.path.Resolved(b.Names)

		v, err := action(p.Lookup(before), b.Values[a.value.Op])
		if err != nil {
			return nil, err
		}

		changes[i] = change{p, v}
	}

	return changes, nil
}

// applyChanges sets values first and removes others last. An index counts in the list as it was before the update. A value that
// is set beyond the end of a list is appended, in order.
func applyChanges(before attribute.Item, changes, removals []change) (attribute.Item, error) {
	after := maps.Clone(before)

	nested := func(c change) bool { return len(c.path) > 1 }
	if slices.ContainsFunc(changes, nested) || slices.ContainsFunc(removals, nested) {
		slices.SortFunc(changes, func(a, b change) int { return a.path.compare(b.path) })
		slices.SortFunc(removals, func(a, b change) int { return b.path.compare(a.path) })

		for _, c := range slices.Concat(changes, removals) {
			if nested(c) && !c.path[len(c.path)-1].holds(c.path[:len(c.path)-1].Lookup(before)) {
				return nil, exception.Validation("The document path provided in the update expression is invalid for update")
			}
		}
	}

	for _, c := range changes {
		after[c.path[0].Name] = with(after[c.path[0].Name], c.path[1:], c.value)
	}

	for _, c := range removals {
		if len(c.path) == 1 {
			delete(after, c.path[0].Name)
		} else {
			after[c.path[0].Name] = without(after[c.path[0].Name], c.path[1:])
		}
	}

	return after, nil
}

// with returns a copy of v with another value at the path below it.
func with(v types.AttributeValue, p Path, value types.AttributeValue) types.AttributeValue {
	if len(p) == 0 {
		return value
	}

	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		m := maps.Clone(v.Value)
		m[p[0].Name] = with(m[p[0].Name], p[1:], value)

		return &types.AttributeValueMemberM{Value: m}
	case *types.AttributeValueMemberL:
		l := slices.Clone(v.Value)
		if p[0].Index >= len(l) {
			return &types.AttributeValueMemberL{Value: append(l, value)}
		}

		l[p[0].Index] = with(l[p[0].Index], p[1:], value)

		return &types.AttributeValueMemberL{Value: l}
	}

	return v
}

func without(v types.AttributeValue, p Path) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		m := maps.Clone(v.Value)
		if len(p) == 1 {
			delete(m, p[0].Name)
		} else {
			m[p[0].Name] = without(m[p[0].Name], p[1:])
		}

		return &types.AttributeValueMemberM{Value: m}
	case *types.AttributeValueMemberL:
		if p[0].Index >= len(v.Value) {
			return v
		}

		l := slices.Clone(v.Value)
		if len(p) == 1 {
			l = slices.Delete(l, p[0].Index, p[0].Index+1)
		} else {
			l[p[0].Index] = without(l[p[0].Index], p[1:])
		}

		return &types.AttributeValueMemberL{Value: l}
	}

	return v
}
