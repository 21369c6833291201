package idemddbtest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

const (
	maxStatements = 25
	maxStatement  = 8192
)

func (db *DB) batchExecuteStatement(in *dynamodb.BatchExecuteStatementInput, r *Request) (*dynamodb.BatchExecuteStatementOutput, error) {
	parameters, err := db.checkStatements(in.Statements, r)
	if err != nil {
		return nil, err
	}

	writes := make([]*storage.Write, len(in.Statements))
	for i := range in.Statements {
		writes[i], r.Items[i].Err = db.tables.PrepareStatement(db.statements.Parse(*in.Statements[i].Statement), &in.Statements[i], parameters[i])
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
		if part.Err == nil && w.Kind != storage.ReadStatement && db.holds(w.Table, w.ID) {
			part.Err = exception.Conflict()
		}

		out.Responses[i] = db.execute(w, part, r.Fault)
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
	switch n := len(aws.ToString(s.Statement)); {
	case n == 0:
		return exception.Validation("The statement was empty.")
	case n > maxStatement:
		return exception.Validation("Member must have length less than or equal to 8192")
	}

	return storage.CheckGiveItem(s.ReturnValuesOnConditionCheckFailure)
}

// repeated reports whether two writes have the same item. A write that was refused before its item was known does not count.
func repeated(writes []*storage.Write) bool {
	type itemID struct {
		table *storage.Table
		id    string
	}

	seen := make(map[itemID]struct{}, len(writes))
	n := 0

	for _, w := range writes {
		if w.ID != "" { // no key is empty
			seen[itemID{w.Table, w.ID}] = struct{}{}
			n++
		}
	}

	return len(seen) < n
}

// execute does a prepared statement, unless it was refused or its fault refuses it.
func (db *DB) execute(w *storage.Write, r *Request, ofCall Fault) (out types.BatchStatementResponse) {
	if w.Table != nil {
		out.TableName = new(w.Table.Name)
	}

	if err := r.Fault.statementRefusal(*r); err != nil {
		r.Err = err
	}

	if r.Err == nil && w.Kind == storage.ReadStatement {
		out.Item, r.Err = db.readStatement(w, r)
	} else if r.Err == nil {
		var o storage.Outcome
		if o, r.Err = db.do(w, r); r.Err == nil {
			out.Item = o.Attributes(w.Returns, nil)
		} else if r.Refused && w.Kind == storage.PutWrite {
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

// readStatement reads the item of a statement.
func (db *DB) readStatement(w *storage.Write, r *Request) (attribute.Item, error) {
	it := w.Table.Items[w.ID]
	n := storage.ReadCost(it, w.Consistent).Total()

	if err := db.throughput.ChargeRead(w.Table.Place(w.Adopted), n); err != nil {
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
