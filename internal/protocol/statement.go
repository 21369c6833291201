package protocol

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Statement returns the write as one statement of a shared request.
func (t *Table) Statement(w Write) types.BatchStatementRequest {
	st, ok := t.statements[w.form]
	if !ok {
		st = t.translate(w.form)
	}

	return types.BatchStatementRequest{
		Statement:                           &st.text,
		Parameters:                          parametersOf(st, w.partition, w.values),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// parametersOf returns the values of the placeholders of a statement, those of its key among them.
func parametersOf(st statement, partition string, values Item) []types.AttributeValue {
	parameters := make([]types.AttributeValue, len(st.parameters))

	for i, name := range st.parameters {
		switch name {
		case placePartition:
			parameters[i] = text(partition)
		case placeSort:
			parameters[i] = sortValue
		default:
			parameters[i] = values[name]
		}
	}

	return parameters
}

// Placeholders of the key in a statement: expressions have none, requests name the key beside them.
const (
	placePartition = ":partition"
	placeSort      = ":sort"
)

// translate translates a condition and an update, for a record that exists, into PartiQL. So there is one set of expressions, and
// one argument for each.
func (t *Table) translate(f form) statement {
	made := updateStatement(t.Table, f.update, keyCondition(&t.Config)+" AND ("+f.condition+")", t.translated())
	if strings.HasPrefix(f.update, updateAgain) { // the new fencing token follows from the old one
		made.text += " RETURNING ALL OLD *"
	}

	return made
}

// sharedForms returns the forms of the writes that travel in shared requests as a rule. Each is translated once.
func (t *Table) sharedForms() []form {
	forms := []form{
		{t.forms[0].again, t.forms[0].setAgain},
		{t.forms[1].again, t.forms[1].setAgain},
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

// keyCondition returns the condition of a statement that names the key of the record.
func keyCondition(c *Config) string {
	if c.SortKey == "" {
		return namePK + " = " + placePartition
	}

	return namePK + " = " + placePartition + " AND " + nameSK + " = " + placeSort
}

// translated returns the names for the aliases in statements.
func (t *Table) translated() map[string]string {
	return map[string]string{namePK: t.PartitionKey, nameSK: t.SortKey, nameExp: t.TTLAttribute}
}
