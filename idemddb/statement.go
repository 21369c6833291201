package idemddb

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/partiql"
)

// Placeholders of the key in a statement: expressions have none, requests name the key beside them.
const (
	placePartition = ":partition"
	placeSort      = ":sort"
)

// statement translates a condition and an update of expr.go, for a record that exists, into PartiQL. So there is one set of
// expressions, and one argument for each. Each pair is translated once; there are few.
func (s *Store) statement(condition, update string) partiql.Statement {
	pair := [2]string{condition, update}

	known, ok := s.statements.Load(pair)
	if !ok {
		made := partiql.Update(s.table, update, s.expr.hasKey+" AND ("+condition+")", s.expr.translated)
		if strings.HasPrefix(update, updateAgain) { // the new fencing token follows from the old one
			made.Text += " RETURNING ALL OLD *"
		}

		known, _ = s.statements.LoadOrStore(pair, made)
	}

	return known.(partiql.Statement) //nolint:forcetypeassert // nothing else is stored there
}

// statement is the write as one statement of a shared request.
func (w write) statement(s *Store) types.BatchStatementRequest {
	st := s.statement(w.condition, w.update)
	parameters := make([]types.AttributeValue, len(st.Parameters))

	for i, name := range st.Parameters {
		switch name {
		case placePartition:
			parameters[i] = stringValue(w.partition)
		case placeSort:
			parameters[i] = sortValue
		default:
			parameters[i] = w.values[name]
		}
	}

	return types.BatchStatementRequest{
		Statement:                           &st.Text,
		Parameters:                          parameters,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}
