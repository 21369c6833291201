package expression

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// The verbs of the statements that are executed.
const (
	InsertStatement = "INSERT"
	UpdateStatement = "UPDATE"
	SelectStatement = "SELECT"
)

// Statement is a parsed statement. An UPDATE has the condition and the update of an UpdateItem, an INSERT the attributes of a
// PutItem, a SELECT only a key. It holds its literals and no values of a request.
type Statement struct {
	Verb       string // INSERT, UPDATE, SELECT, or another word
	Table      string
	Where      string // the text of the condition
	Action     string // the text of SET and REMOVE, or of VALUE
	Condition  *Node
	Update     *Update
	Attributes []Named // of an INSERT
	Equalities []Named // that the condition demands
	Returning  bool
	Parameters []string       // placeholders, in order
	literals   attribute.Item // by placeholder
	Err        error
}

// Named is an attribute and the placeholder of its value.
type Named struct{ Name, Value string }

// Errors of a statement that also the schema of its table decides about.
var (
	ErrNoKeyEquality = exception.Validation("Where clause does not contain a mandatory equality on all key attributes")
	ErrMoreThanKey   = unsupported("a SELECT with a condition beside its key")
)

// Bind returns the values of the statement's placeholders. The parameters are adopted. As for the service, one too many is no
// error.
func (st *Statement) Bind(parameters []types.AttributeValue) (*Binding, error) {
	if len(parameters) < len(st.Parameters) {
		return nil, exception.Validation("Number of parameters in request and statement don't match.")
	}

	values := make(attribute.Item, len(st.Parameters)+len(st.literals))
	maps.Copy(values, st.literals)

	for i, placeholder := range st.Parameters {
		values[placeholder] = parameters[i]
	}

	return &Binding{Values: values}, nil
}

// ValueOf returns a function that finds the value of a placeholder.
func (st *Statement) ValueOf(parameters []types.AttributeValue) func(placeholder string) types.AttributeValue {
	return func(placeholder string) types.AttributeValue {
		for i, p := range st.Parameters {
			if p == placeholder {
				return parameters[i]
			}
		}

		return st.literals[placeholder]
	}
}

func unsupported(what string) error {
	return exception.Validation("idemddbtest does not support %s in a statement", what)
}
