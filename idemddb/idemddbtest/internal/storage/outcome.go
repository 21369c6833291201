package storage

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

// Outcome is what a write would do to its item. Nothing is stored before all writes of a request have one.
type Outcome struct {
	Before, After attribute.Item // nil is a missing item
	Cost          Consumption
	Refused       bool
}

// Evaluate returns what the write would do. It does not return an error for a refused condition, because a transaction lists all
// of them.
func (w *Write) Evaluate() (Outcome, error) {
	if err := w.checkTypes(); err != nil {
		return Outcome{}, err
	}

	o := Outcome{Before: w.Table.Items[w.ID]}
	if w.Condition != nil && !w.bound.Holds(w.parsed.condition.Condition, o.Before) {
		o.Refused, o.Cost = true, written(writeUnits(o.Before))

		return o, nil
	}

	var err error

	switch w.Kind {
	case PutWrite:
		o.After = w.Adopted
	case CheckWrite:
		o.After = o.Before
	case UpdateWrite:
		if o.After, err = w.updated(o.Before); err == nil {
			err = w.Table.checkIndexed(o.After)
		}
	case DeleteWrite:
	}

	size := attribute.ItemSize(o.After)
	if err == nil && size > maxItemSize {
		err = exception.Validation("Item size to update has exceeded the maximum allowed size")
	}

	if err != nil {
		return Outcome{}, err
	}

	o.Cost = w.Table.cost(o.Before, o.After)

	return o, nil
}

// Unevaluated returns the outcome of a write that DynamoDB does not evaluate, because it was refused before. It costs what the
// item costs that is there.
func (w *Write) Unevaluated() Outcome {
	return Outcome{Cost: written(writeUnits(w.Table.Items[w.ID]))}
}

// checkTypes checks the types of the key attributes, and of what a put has for the keys of indexes.
func (w *Write) checkTypes() error {
	if err := w.Table.Key.CheckTypes(w.Adopted); err != nil || w.Kind != PutWrite {
		return err
	}

	for _, ix := range w.Table.indexes {
		if err := ix.checkTypes(w.Adopted); err != nil {
			return err
		}
	}

	return nil
}

// checkIndexed checks what an update has made of the keys of indexes.
func (t *Table) checkIndexed(it attribute.Item) error {
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
func (t *Table) cost(before, after attribute.Item) Consumption {
	c := written(units(max(attribute.ItemSize(before), attribute.ItemSize(after)), writeUnit))

	for _, ix := range t.indexes {
		if n := ix.units(before, after); n > 0 {
			c.Add(Consumption{indexes: map[string]float64{ix.name: float64(n)}})
		}
	}

	return c
}

func (w *Write) updated(before attribute.Item) (attribute.Item, error) {
	for _, p := range w.Paths {
		if w.Table.Key.Has(p[0].Name) {
			return nil, exception.Validation(
				"One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", p[0].Name,
			)
		}
	}

	if before == nil {
		before = w.Adopted
	}

	if w.Update == nil {
		return before, nil
	}

	after, err := w.bound.Apply(w.parsed.update.Update, before)

	for _, p := range w.Paths { // what is set inside of a document may make it too deep
		if v, ok := after[p[0].Name]; ok && len(p) > 1 && err == nil {
			_, err = attribute.AdoptValue(v)
		}
	}

	return after, err
}

// Attributes returns what the answer carries of the item; nil if that is nothing.
func (o Outcome) Attributes(rv types.ReturnValue, paths []expression.Path) attribute.Item {
	switch rv {
	case types.ReturnValueAllOld:
		return attribute.CopyItem(o.Before)
	case types.ReturnValueAllNew:
		return attribute.CopyItem(o.After)
	case types.ReturnValueUpdatedOld:
		return touched(o.Before, paths)
	case types.ReturnValueUpdatedNew:
		return touched(o.After, paths)
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
