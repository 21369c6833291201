package protocol

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/partiql"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Write is one conditional update of one record. It travels as an UpdateItem, as a statement of a shared request, or in a transaction.
type Write struct {
	partition string
	form      form
	values    Item // by placeholder
}

// form is a condition and an update of expr.go.
type form struct{ condition, update string }

// Update returns the write as an UpdateItem. answer must ask for attributes, because an answer without any proves nothing.
func (t *Table) Update(w Write, answer types.ReturnValue) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:                           &t.Table,
		Key:                                 t.Key(w.partition),
		ConditionExpression:                 &w.form.condition,
		UpdateExpression:                    &w.form.update,
		ExpressionAttributeNames:            t.names(w),
		ExpressionAttributeValues:           w.values,
		ReturnValues:                        answer,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Part returns the write as a part of a transaction.
func (t *Table) Part(w Write) *types.TransactWriteItem {
	return &types.TransactWriteItem{Update: &types.Update{
		TableName:                           &t.Table,
		Key:                                 t.Key(w.partition),
		ConditionExpression:                 &w.form.condition,
		UpdateExpression:                    &w.form.update,
		ExpressionAttributeNames:            t.names(w),
		ExpressionAttributeValues:           w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// names returns the names for the aliases in the expressions, because DynamoDB refuses a name that they do not use. Only a claim names the
// key, and all that set the TTL attribute give it a value.
func (t *Table) names(w Write) map[string]string {
	switch {
	case strings.Contains(w.form.condition, namePK):
		return t.expr.names
	case w.values[":exp"] != nil:
		return t.expr.nameOfExp
	default:
		return nil
	}
}

// Statement returns the write as one statement of a shared request.
func (t *Table) Statement(w Write) types.BatchStatementRequest {
	st, ok := t.statements[w.form]
	if !ok {
		st = t.translate(w.form)
	}

	parameters := make([]types.AttributeValue, len(st.Parameters))

	for i, name := range st.Parameters {
		switch name {
		case placePartition:
			parameters[i] = record.Text(w.partition)
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

// Placeholders of the key in a statement: expressions have none, requests name the key beside them.
const (
	placePartition = ":partition"
	placeSort      = ":sort"
)

// translate translates a condition and an update, for a record that exists, into PartiQL. So there is one set of expressions, and one
// argument for each.
func (t *Table) translate(f form) partiql.Statement {
	made := partiql.Update(t.Table, f.update, t.expr.hasKey+" AND ("+f.condition+")", t.expr.translated)
	if strings.HasPrefix(f.update, updateAgain) { // the new fencing token follows from the old one
		made.Text += " RETURNING ALL OLD *"
	}

	return made
}

// sharedForms returns the forms of the writes that travel in shared requests as a rule. Each is translated once.
func (t *Table) sharedForms() []form {
	forms := []form{
		{t.expr.again.unnamed, t.expr.setAgain.unnamed},
		{t.expr.again.named, t.expr.setAgain.named},
		{condOwn, updateRelease + updateUnused},
		{condUnsent, updateSent},
	}

	for _, tookAt := range []string{"", updateTookAt} {
		forms = append(forms,
			form{condHeld, updateComplete + tookAt + updateDropError},
			form{condHeld, updateComplete + tookAt + updateSetResult + updateDropError},
			form{condHeld, updateFail + tookAt},
			form{condOwn, updateRelease + tookAt},
			form{condOwn, updateRelease + tookAt + updateSetError},
			form{condOwn, updateReturn + tookAt},
			form{condExtend, updateExtend + tookAt},
		)
	}

	return forms
}
