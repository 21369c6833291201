package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/expression"
)

// outcome is what a write would do to its item. Nothing is stored before all writes of a request have one.
type outcome struct {
	before, after attribute.Item // nil is a missing item
	cost          consumption
	refused       bool
}

// evaluate returns what the write would do. It does not return an error for a refused condition, because a transaction lists all
// of them.
func (w *write) evaluate() (outcome, error) {
	if err := w.checkTypes(); err != nil {
		return outcome{}, err
	}

	o := outcome{before: w.table.items[w.id]}
	if w.condition != nil && !w.bound.Holds(w.parsed.condition.Condition, o.before) {
		o.refused, o.cost = true, written(writeUnits(o.before))

		return o, nil
	}

	var err error

	switch w.kind {
	case putWrite:
		o.after = w.adopted
	case checkWrite:
		o.after = o.before
	case updateWrite:
		if o.after, err = w.updated(o.before); err == nil {
			err = w.table.checkIndexed(o.after)
		}
	case deleteWrite:
	}

	size := attribute.ItemSize(o.after)
	if err == nil && size > maxItemSize {
		err = exception.Validation("Item size to update has exceeded the maximum allowed size")
	}

	if err != nil {
		return outcome{}, err
	}

	o.cost = w.table.cost(o.before, o.after)

	return o, nil
}

// checkTypes checks the types of the key attributes, and of what a put has for the keys of indexes.
func (w *write) checkTypes() error {
	if err := w.table.checkTypes(w.adopted); err != nil || w.kind != putWrite {
		return err
	}

	for _, ix := range w.table.indexes {
		if err := ix.checkTypes(w.adopted); err != nil {
			return err
		}
	}

	return nil
}

// checkIndexed checks what an update has made of the keys of indexes.
func (t *table) checkIndexed(it attribute.Item) error {
	for _, ix := range t.indexes {
		if err := ix.checkTypes(it); err != nil {
			return err
		}

		if err := ix.checkSizes(it); err != nil {
			return err
		}
	}

	return nil
}

// cost returns the price of a write in the table and in its indexes. In the table the larger of the two items counts.
func (t *table) cost(before, after attribute.Item) consumption {
	c := written(units(max(attribute.ItemSize(before), attribute.ItemSize(after)), writeUnit))

	for _, ix := range t.indexes {
		if n := ix.units(before, after); n > 0 {
			c.add(consumption{indexes: map[string]float64{ix.name: float64(n)}})
		}
	}

	return c
}

func (w *write) updated(before attribute.Item) (attribute.Item, error) {
	for _, p := range w.paths {
		if w.table.isKey(p[0].Name) {
			return nil, exception.Validation("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", p[0].Name)
		}
	}

	if before == nil {
		before = w.adopted
	}

	if w.update == nil {
		return before, nil
	}

	return w.bound.Apply(w.parsed.update.Update, before)
}

// attributes returns what the answer carries of the item; nil if that is nothing.
func (o outcome) attributes(rv types.ReturnValue, paths []expression.Path) attribute.Item {
	switch rv {
	case types.ReturnValueAllOld:
		return attribute.CopyItem(o.before)
	case types.ReturnValueAllNew:
		return attribute.CopyItem(o.after)
	case types.ReturnValueUpdatedOld:
		return touched(o.before, paths)
	case types.ReturnValueUpdatedNew:
		return touched(o.after, paths)
	case types.ReturnValueNone:
	}

	return nil
}

// touched returns the whole top-level attribute of each path that exists, as DynamoDB Local does.
func touched(it attribute.Item, paths []expression.Path) attribute.Item {
	var out attribute.Item

	for _, p := range paths {
		if p.Lookup(it) == nil {
			continue
		}

		if out == nil {
			out = attribute.Item{}
		}

		out[p[0].Name] = attribute.CopyValue(it[p[0].Name])
	}

	return out
}

func errLegacy() error {
	return exception.Validation("idemddbtest: AttributeUpdates and Expected, the parameters from before expressions, are not supported")
}
