package storage

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

// Write is what one request, one part of a transaction or one statement, also one that reads, asks for. Prepare and
// PrepareStatement fill the second half.
type Write struct {
	Kind      WriteKind
	TableName *string
	Key       attribute.Item // as it was sent; for a put the whole item
	Condition *string
	Update    *string
	Names     map[string]string
	Values    attribute.Item
	GiveItem  types.ReturnValuesOnConditionCheckFailure
	Returns   types.ReturnValue

	Consistent *bool // of a read

	Table   *Table
	Adopted attribute.Item // the key; for a put the whole item
	ID      string
	bound   *expression.Binding
	parsed  struct{ condition, update expression.Parsed }
	Paths   []expression.Path // that the update changes
}

// WriteKind says what a Write does.
type WriteKind byte

// The kinds of writes.
const (
	UpdateWrite WriteKind = iota
	PutWrite
	DeleteWrite
	CheckWrite
	ReadStatement // a SELECT
)

// Prepare checks what does not depend on the item. As in the service, a missing table comes before any other error.
func (w *Write) Prepare(ts Tables, c expression.Cache) (err error) {
	if w.Table, err = ts.Find(w.TableName); err != nil {
		return err
	}

	if err := w.checkReturns(); err != nil {
		return err
	}

	if err := w.bindExpressions(c); err != nil {
		return err
	}

	if w.Kind == PutWrite {
		if w.Adopted, err = attribute.Adopt(w.Key); err == nil {
			err = w.Table.Key.check(w.Adopted)
		}
	} else {
		w.Adopted, err = w.Table.Key.Adopt(w.Key)
	}

	if err != nil {
		return err
	}

	return w.identify()
}

// identify checks the sizes of what was sent, and sets the id of the item.
func (w *Write) identify() error {
	if w.Kind == PutWrite {
		for _, ix := range w.Table.indexes {
			if err := ix.checkSizes(w.Adopted); err != nil {
				return err
			}
		}
	}

	if attribute.ItemSize(w.Adopted) > maxItemSize {
		return exception.Validation("Item size has exceeded the maximum allowed size")
	}

	w.ID = w.Table.Key.ID(w.Adopted)

	return nil
}

// checkReturns refuses what an answer to this kind of write cannot carry.
func (w *Write) checkReturns() error {
	var known bool

	switch w.Returns {
	case "", types.ReturnValueNone, types.ReturnValueAllOld:
		known = true
	case types.ReturnValueAllNew, types.ReturnValueUpdatedOld, types.ReturnValueUpdatedNew:
		known = w.Kind == UpdateWrite
	}

	if !known {
		return exception.Validation("Return values set to invalid value")
	}

	return CheckGiveItem(w.GiveItem)
}

// CheckGiveItem refuses an unknown value of ReturnValuesOnConditionCheckFailure.
func CheckGiveItem(give types.ReturnValuesOnConditionCheckFailure) error {
	switch give {
	case "", types.ReturnValuesOnConditionCheckFailureNone, types.ReturnValuesOnConditionCheckFailureAllOld:
		return nil
	}

	return exception.Validation("Value %q at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint", give)
}

func (w *Write) bindExpressions(c expression.Cache) (err error) {
	var used [2]expression.Parsed

	n := 0

	if w.Condition != nil {
		w.parsed.condition = c.ParseCondition(*w.Condition)
		used[n] = w.parsed.condition
		n++
	}

	if w.Update != nil {
		w.parsed.update = c.ParseUpdate(*w.Update)
		used[n] = w.parsed.update
		n++
	}

	if w.bound, err = expression.Bind(w.Names, w.Values, used[:n]...); err != nil {
		return err
	}

	if err := w.Table.checkDocuments(w.bound); err != nil {
		return err
	}

	if w.Condition != nil {
		if err := w.bound.Check(w.parsed.condition.Condition); err != nil {
			return err
		}
	}

	if w.Update == nil {
		return nil
	}

	w.Paths, err = w.bound.CheckUpdate(w.parsed.update.Update)

	return err
}
