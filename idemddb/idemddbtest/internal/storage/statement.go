package storage

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
)

// kinds are the writes of statements, by verb.
var kinds = map[string]WriteKind{
	expression.InsertStatement: PutWrite, expression.UpdateStatement: UpdateWrite, expression.SelectStatement: ReadStatement,
}

// PrepareStatement makes the same write of a statement as the single operations make of their expressions. The write has a table
// once the response names it: the response to a statement that cannot be parsed, or whose table does not exist, names none.
func (ts Tables) PrepareStatement(
	st *expression.Statement, in *types.BatchStatementRequest, parameters []types.AttributeValue,
) (w *Write, err error) {
	w = &Write{
		Kind: kinds[st.Verb], TableName: &st.Table, Condition: &st.Where, Update: &st.Action,
		GiveItem: in.ReturnValuesOnConditionCheckFailure, Consistent: in.ConsistentRead,
	}
	if st.Returning {
		w.Returns = types.ReturnValueAllOld
	}

	if st.Err != nil {
		return w, st.Err
	}

	if w.bound, err = st.Bind(parameters); err != nil {
		return w, err
	}

	t, err := w.understand(ts, st)
	if err != nil {
		return w, err
	}

	w.Table = t
	if err := t.Key.check(w.Adopted); err != nil {
		return w, err
	}

	return w, w.identify()
}

// understand checks the statement, first by itself and then with its table. It sets the expressions of the write, and its key or
// item.
func (w *Write) understand(ts Tables, st *expression.Statement) (t *Table, err error) {
	if st.Verb == expression.UpdateStatement {
		if st.Condition == nil {
			return nil, expression.ErrNoKeyEquality
		}

		w.parsed.condition.Condition, w.parsed.update.Update = st.Condition, st.Update
		if err := w.bound.Check(st.Condition); err != nil {
			return nil, err
		}

		if w.Paths, err = w.bound.CheckUpdate(st.Update); err != nil {
			return nil, err
		}
	}

	if t, err = ts.Find(&st.Table); err != nil {
		return nil, err
	}

	if st.Verb == expression.InsertStatement {
		w.Adopted = make(attribute.Item, len(st.Attributes))
		for _, a := range st.Attributes {
			w.Adopted[a.Name] = w.bound.Values[a.Value]
		}

		w.parsed.condition.Condition = expression.NotExists(t.Key[0].name)
	} else if w.Adopted, err = t.Key.demanded(st, w.bound.Values); err != nil {
		return nil, err
	}

	if st.Verb == expression.SelectStatement && len(st.Equalities) > len(t.Key) {
		return nil, expression.ErrMoreThanKey
	}

	return t, t.Key.checkAttributes(w.Adopted)
}

// checkAttributes refuses an item or a key without all key attributes, or with one of another type.
func (k Key) checkAttributes(it attribute.Item) error {
	for _, a := range k {
		switch v, ok := it[a.name]; {
		case !ok:
			return exception.Validation("Key attribute should be present in the item: Key %s", a.name)
		case attribute.TypeOf(v) != a.typ:
			return exception.Validation("Key attribute's data type should match its data type in table's schema: Key %s", a.name)
		}
	}

	return nil
}

// demanded returns the key that the WHERE demands. It is an error if the WHERE demands two values for one key attribute.
func (k Key) demanded(st *expression.Statement, values attribute.Item) (attribute.Item, error) {
	key := make(attribute.Item, len(k))
	for _, e := range st.Equalities {
		if !k.Has(e.Name) {
			continue
		}

		if v, ok := key[e.Name]; ok && !attribute.Equal(v, values[e.Value]) {
			return nil, exception.Validation("Multiple conditions on same key %s", e.Name)
		}

		key[e.Name] = values[e.Value]
	}

	if len(key) < len(k) {
		return nil, expression.ErrNoKeyEquality
	}

	return key, nil
}
