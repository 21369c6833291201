package expression

import "github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"

// Reading are the expressions of a Query or a Scan, nil for one that is missing.
type Reading struct {
	*Binding

	Condition, Filter *Node
}

// BindReading parses and binds the expressions.
func (c Cache) BindReading(condition, filter *string, names map[string]string, values attribute.Item) (r Reading, err error) {
	var used []Parsed

	for _, e := range []*string{condition, filter} {
		if e != nil {
			used = append(used, c.ParseCondition(*e))
		}
	}

	if r.Binding, err = Bind(names, values, used...); err != nil {
		return r, err
	}

	for _, e := range used {
		if err := r.Check(e.Condition); err != nil {
			return r, err
		}
	}

	if filter != nil {
		r.Filter = used[len(used)-1].Condition
	}

	if condition != nil {
		r.Condition = used[0].Condition
	}

	return r, nil
}
