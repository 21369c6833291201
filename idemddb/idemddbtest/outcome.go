package idemddbtest

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// outcome is what a write would do to its item. Nothing is stored before all writes of a request have one.
type outcome struct {
	before, after item // nil is a missing item
	units         int
	refused       bool
}

// evaluate returns what the write would do. It does not return an error for a refused condition, because a transaction lists all of them.
func (w *write) evaluate() (outcome, error) {
	o := outcome{before: w.table.items[w.id]}
	if w.condition != nil && !w.bound.holds(w.parsed.condition.condition, o.before) {
		o.refused, o.units = true, writeUnits(o.before)

		return o, nil
	}

	var err error

	switch w.kind {
	case putWrite:
		o.after = w.adopted
	case checkWrite:
		o.after = o.before
	case updateWrite:
		o.after, err = w.updated(o.before)
	case deleteWrite:
	}

	size := itemSize(o.after)
	if err == nil && size > maxItemSize {
		err = invalid("Item size to update has exceeded the maximum allowed size")
	}

	if err != nil {
		return outcome{}, err
	}

	o.units = units(max(itemSize(o.before), size), writeUnit)

	return o, nil
}

func (w *write) updated(before item) (item, error) {
	for _, p := range w.paths {
		if w.table.isKey(p[0].name) {
			return nil, invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", p[0].name)
		}
	}

	if before == nil {
		before = w.adopted
	}

	if w.update == nil {
		return before, nil
	}

	return w.bound.apply(w.parsed.update.update, before)
}

func (w *write) store(o outcome) {
	if o.after == nil {
		delete(w.table.items, w.id)

		return
	}

	w.table.items[w.id] = o.after
}

// attributes returns what the answer carries of the item; nil if that is nothing.
func (o outcome) attributes(rv types.ReturnValue, paths []path) item {
	switch rv {
	case types.ReturnValueAllOld:
		return copyItem(o.before)
	case types.ReturnValueAllNew:
		return copyItem(o.after)
	case types.ReturnValueUpdatedOld:
		return touched(o.before, paths)
	case types.ReturnValueUpdatedNew:
		return touched(o.after, paths)
	case types.ReturnValueNone:
	}

	return nil
}

// touched returns the whole top-level attribute of each path that exists, as DynamoDB Local does.
func touched(it item, paths []path) item {
	var out item

	for _, p := range paths {
		if p.lookup(it) == nil {
			continue
		}

		if out == nil {
			out = item{}
		}

		out[p[0].name] = copyValue(it[p[0].name])
	}

	return out
}

func capacity(want types.ReturnConsumedCapacity, t *table, n int) *types.ConsumedCapacity {
	if want != types.ReturnConsumedCapacityTotal && want != types.ReturnConsumedCapacityIndexes {
		return nil
	}

	c := &types.ConsumedCapacity{TableName: new(t.name), CapacityUnits: new(float64(n))}
	if want == types.ReturnConsumedCapacityIndexes {
		c.Table = &types.Capacity{CapacityUnits: new(float64(n))}
	}

	return c
}

func errLegacy() error {
	return invalid("idemddbtest: AttributeUpdates and Expected, the parameters from before expressions, are not supported")
}
