package idemddbtest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
)

// Request describes one request and its answer. Each try of the SDK is a request. An interceptor gets only what was sent:
// Operation, Table, Key, the expressions and Items.
type Request struct {
	Operation string                          // "UpdateItem"
	Table     string                          // "" for a transaction and a call of statements
	Index     string                          // IndexName of a Query or a Scan; "" for the table itself
	Key       map[string]types.AttributeValue // of the item; for a PutItem or a statement nil if there is no such table

	// Condition is ConditionExpression; for a statement the text after WHERE, for a Query KeyConditionExpression, for a Scan
	// FilterExpression.
	Condition string

	Update string // UpdateExpression; for an UPDATE its SET and REMOVE clauses, for an INSERT the text after VALUE

	// Items are the parts of a transaction (Operation Put, Update, Delete or ConditionCheck) or the statements of a call (INSERT,
	// UPDATE or SELECT).
	Items []Request

	WriteUnits int     // write units that were consumed; a refused condition consumes them, too
	ReadUnits  float64 // read units that were consumed
	Refused    bool    // a condition did not hold or an INSERT found an item; for a call, whether that is so for any of its statements

	// Err is the error of the service, unwrapped, or of a statement's response, or why [Limits] throttle a part of a transaction. It
	// is nil for a success, and if nothing was applied.
	Err error

	Fault Fault // the fault that was injected; the sender then did not get Err, or not all of it
}

func (r Request) clone() Request {
	r.Key = attribute.CopyItem(r.Key)

	r.Items = slices.Clone(r.Items)
	for i := range r.Items {
		r.Items[i] = r.Items[i].clone()
	}

	return r
}

// transactWrite is the name of the operation of a transaction.
const transactWrite = "TransactWriteItems"

// operation returns the name of the operation that takes this input.
func operation(in any) string {
	switch in.(type) {
	case *dynamodb.UpdateItemInput:
		return "UpdateItem"
	case *dynamodb.PutItemInput:
		return "PutItem"
	case *dynamodb.TransactWriteItemsInput:
		return transactWrite
	case *dynamodb.BatchExecuteStatementInput:
		return "BatchExecuteStatement"
	}

	return strings.TrimSuffix(reflect.TypeOf(in).Elem().Name(), "Input")
}
