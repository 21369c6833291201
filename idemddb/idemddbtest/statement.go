package idemddbtest

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/expression"
)

// BatchExecuteStatement does writes or reads in PartiQL. Each statement has a response of its own, and its error keeps no other
// from being applied. Statements are INSERT, UPDATE with SET, REMOVE, a WHERE with an equality for each key attribute, and
// RETURNING ALL OLD *, and SELECT * with a WHERE that has only these equalities. Values are parameters, integers or 'strings'.
// Conditions have comparisons, AND, OR, NOT, parentheses, IS [NOT] MISSING, attribute_exists, attribute_not_exists and
// begins_with; right sides have + and -. A name that is a reserved word needs double quotes. The answer has no ConsumedCapacity.
func (db *DB) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	return call[dynamodb.BatchExecuteStatementOutput](ctx, db, in)
}

const (
	maxStatements = 25
	maxStatement  = 8192
)

func (db *DB) batchExecuteStatement(in *dynamodb.BatchExecuteStatementInput, r *Request) (*dynamodb.BatchExecuteStatementOutput, error) {
	parameters, err := db.checkStatements(in.Statements, r)
	if err != nil {
		return nil, err
	}

	writes := make([]*write, len(in.Statements))
	for i := range in.Statements {
		writes[i], r.Items[i].Err = db.prepareStatement(&in.Statements[i], parameters[i])
	}

	if repeated(writes) {
		for i := range r.Items {
			r.Items[i].Err = nil // only the call has an error
		}

		return nil, exception.Validation("Provided list of item keys contains duplicates")
	}

	out := &dynamodb.BatchExecuteStatementOutput{Responses: make([]types.BatchStatementResponse, len(writes))}
	for i, w := range writes {
		part := &r.Items[i]
		if part.Err == nil && w.kind != readKind && db.holds(w.table, w.id) {
			part.Err = exception.Conflict()
		}

		out.Responses[i] = w.execute(part, r.Fault)
		r.WriteUnits += part.WriteUnits
		r.ReadUnits += part.ReadUnits
		r.Refused = r.Refused || part.Refused
	}

	return out, nil
}

// checkStatements refuses a call that is wrong as a whole, and adopts the parameters of the statements that can be parsed.
func (db *DB) checkStatements(statements []types.BatchStatementRequest, r *Request) ([][]types.AttributeValue, error) {
	switch n := len(statements); {
	case n == 0:
		return nil, exception.Validation("The statement was empty.")
	case n > maxStatements:
		return nil, exception.Validation("Value at 'statements' failed to satisfy constraint: Member must have length less than or equal to 25")
	}

	reads := 0

	parameters := make([][]types.AttributeValue, len(statements))
	for i, s := range statements {
		if err := checkStatement(s); err != nil {
			return nil, err
		}

		if r.Items[i].Operation == expression.SelectStatement {
			reads++
		}

		if db.statements.Parse(*s.Statement).Err != nil {
			continue
		}

		parameters[i] = make([]types.AttributeValue, len(s.Parameters))
		for j, v := range s.Parameters {
			var err error
			if parameters[i][j], err = attribute.AdoptValue(v); err != nil {
				return nil, err
			}
		}
	}

	if reads > 0 && reads < len(statements) {
		return nil, exception.Validation("Read and write requests together in the same batch is not supported.")
	}

	return parameters, nil
}

func checkStatement(s types.BatchStatementRequest) error {
	give := s.ReturnValuesOnConditionCheckFailure

	switch n := len(aws.ToString(s.Statement)); {
	case n == 0:
		return exception.Validation("The statement was empty.")
	case n > maxStatement:
		return exception.Validation("Member must have length less than or equal to 8192")
	case !slices.Contains(givenItems, give):
		return exception.Validation("Value %q at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint", give)
	}

	return nil
}

// kinds are the writes of statements, by verb.
var kinds = map[string]writeKind{expression.InsertStatement: putWrite, expression.UpdateStatement: updateWrite, expression.SelectStatement: readKind}

// prepareStatement makes the same write of a statement as the single operations make of their expressions. The write has a table
// once the response names it: the response to a statement that cannot be parsed, or whose table does not exist, names none.
func (db *DB) prepareStatement(in *types.BatchStatementRequest, parameters []types.AttributeValue) (w *write, err error) {
	st := db.statements.Parse(*in.Statement)

	w = &write{kind: kinds[st.Verb], tableName: &st.Table, condition: &st.Where, update: &st.Action, giveItem: in.ReturnValuesOnConditionCheckFailure, consistent: in.ConsistentRead}
	if st.Returning {
		w.returns = types.ReturnValueAllOld
	}

	if st.Err != nil {
		return w, st.Err
	}

	if w.bound, err = st.Bind(parameters); err != nil {
		return w, err
	}

	t, err := db.understand(w, st)
	if err != nil {
		return w, err
	}

	w.table = t
	if err := t.checkKey(w.adopted); err != nil {
		return w, err
	}

	return w, w.identify()
}

// understand checks the statement, first by itself and then with its table. It sets the expressions of the write, and its key or
// item.
func (db *DB) understand(w *write, st *expression.Statement) (t *table, err error) {
	if st.Verb == expression.UpdateStatement {
		if st.Condition == nil {
			return nil, expression.ErrNoKeyEquality
		}

		w.parsed.condition.Condition, w.parsed.update.Update = st.Condition, st.Update
		if err := w.bound.Check(st.Condition); err != nil {
			return nil, err
		}

		if w.paths, err = w.bound.CheckUpdate(st.Update); err != nil {
			return nil, err
		}
	}

	if t, err = db.table(&st.Table); err != nil {
		return nil, err
	}

	if st.Verb == expression.InsertStatement {
		w.adopted = make(attribute.Item, len(st.Attributes))
		for _, a := range st.Attributes {
			w.adopted[a.Name] = w.bound.Values[a.Value]
		}

		w.parsed.condition.Condition = expression.NotExists(t.key[0].name)
	} else if w.adopted, err = t.keyDemanded(st, w.bound.Values); err != nil {
		return nil, err
	}

	if st.Verb == expression.SelectStatement && len(st.Equalities) > len(t.key) {
		return nil, expression.ErrMoreThanKey
	}

	return t, t.checkAttributes(w.adopted)
}

// checkAttributes refuses an item or a key without all key attributes, or with one of another type.
func (t *table) checkAttributes(it attribute.Item) error {
	for _, k := range t.key {
		switch v, ok := it[k.name]; {
		case !ok:
			return exception.Validation("Key attribute should be present in the item: Key %s", k.name)
		case attribute.TypeOf(v) != k.typ:
			return exception.Validation("Key attribute's data type should match its data type in table's schema: Key %s", k.name)
		}
	}

	return nil
}

// keyDemanded returns the key that the WHERE demands. It is an error if the WHERE demands two values for one key attribute.
func (t *table) keyDemanded(st *expression.Statement, values attribute.Item) (attribute.Item, error) {
	key := make(attribute.Item, len(t.key))
	for _, e := range st.Equalities {
		if !t.isKey(e.Name) {
			continue
		}

		if v, ok := key[e.Name]; ok && !attribute.Equal(v, values[e.Value]) {
			return nil, exception.Validation("Multiple conditions on same key %s", e.Name)
		}

		key[e.Name] = values[e.Value]
	}

	if len(key) < len(t.key) {
		return nil, expression.ErrNoKeyEquality
	}

	return key, nil
}

// repeated reports whether two writes have the same item. A write that was refused before its item was known does not count.
func repeated(writes []*write) bool {
	type itemID struct {
		table *table
		id    string
	}

	seen := make(map[itemID]struct{}, len(writes))
	n := 0

	for _, w := range writes {
		if w.id != "" { // no key is empty
			seen[itemID{w.table, w.id}] = struct{}{}
			n++
		}
	}

	return len(seen) < n
}

// execute does a prepared statement, unless it was refused or its fault refuses it.
func (w *write) execute(r *Request, ofCall Fault) (out types.BatchStatementResponse) {
	if w.table != nil {
		out.TableName = new(w.table.name)
	}

	if err := r.Fault.statementRefusal(*r); err != nil {
		r.Err = err
	}

	if r.Err == nil && w.kind == readKind {
		out.Item, r.Err = w.read(r)
	} else if r.Err == nil {
		var o outcome
		if o, r.Err = w.do(r); r.Err == nil {
			out.Item = o.attributes(w.returns, nil)
		} else if r.Refused && w.kind == putWrite {
			r.Err = &types.DuplicateItemException{Message: new("Duplicate primary key exists in table")}
		}
	}

	if ofCall == ConditionWithoutItem || r.Fault == ConditionWithoutItem {
		stripItem(r.Err)
	}

	answered := r.Err
	if r.Fault == ServerErrorApplied {
		answered, out.Item = exception.InternalServer(), nil
	}

	out.Error = statementError(answered)

	return out
}

// read reads the item of a statement.
func (w *write) read(r *Request) (attribute.Item, error) {
	it := w.table.items[w.id]
	n := readUnits(attribute.ItemSize(it), w.consistent)

	if err := w.table.chargeRead("", w.adopted[w.table.key[0].name], n); err != nil {
		return nil, err
	}

	r.ReadUnits = n

	return attribute.CopyItem(it), nil
}

// statementError returns an error as it is in a response. Its codes are the names of the exceptions, shortened.
func statementError(err error) *types.BatchStatementError {
	api, ok := err.(smithy.APIError)
	if !ok {
		return nil
	}

	out := &types.BatchStatementError{Message: new(api.ErrorMessage())}
	switch code := strings.TrimSuffix(api.ErrorCode(), "Exception"); code {
	case "Validation", "Throttling":
		out.Code = types.BatchStatementErrorCodeEnum(code + "Error")
	default:
		out.Code = types.BatchStatementErrorCodeEnum(code)
	}

	if refused, ok := err.(*types.ConditionalCheckFailedException); ok {
		out.Item = refused.Item
	}

	return out
}

// describeStatement returns a statement as Requests lists it.
func (db *DB) describeStatement(in types.BatchStatementRequest) Request {
	st := db.statements.Parse(aws.ToString(in.Statement))
	r := Request{Operation: st.Verb, Table: tableName(&st.Table), Condition: st.Where, Update: st.Action}

	t, err := db.table(&st.Table)
	if err != nil || st.Err != nil || len(in.Parameters) < len(st.Parameters) {
		return r
	}

	values := st.ValueOf(in.Parameters)
	r.Key = make(attribute.Item, len(t.key))

	for _, of := range [][]expression.Named{st.Attributes, st.Equalities} {
		for _, a := range of {
			if t.isKey(a.Name) && r.Key[a.Name] == nil {
				r.Key[a.Name] = attribute.CopyValue(values(a.Value))
			}
		}
	}

	return r
}
