package idemddb

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// statement is a write in PartiQL: its text, and the placeholders whose values are its parameters, in order.
type statement struct {
	text       string
	parameters []string
}

// Placeholders of the key in a statement: expressions have none, requests name the key beside them.
const (
	placePartition = ":partition"
	placeSort      = ":sort"
)

// statement says in PartiQL what a condition and an update of expr.go say, for a record that is there: there is one set of
// expressions, and one argument for each. Every pair is translated once; they are few.
func (s *Store) statement(condition, update string) statement {
	pair := [2]string{condition, update}

	if known, ok := s.statements.Load(pair); ok {
		return known.(statement) //nolint:forcetypeassert // nothing else is stored there
	}

	t := translation{names: s.expr.names}
	t.text.WriteString("UPDATE " + quoted(s.table))
	t.translate(update)
	t.text.WriteString(" WHERE " + quoted(s.opts.PartitionKey) + " =")
	t.word(placePartition)

	if s.opts.SortKey != "" {
		t.text.WriteString(" AND " + quoted(s.opts.SortKey) + " =")
		t.word(placeSort)
	}

	t.text.WriteString(" AND (")
	t.translate(condition)
	t.text.WriteString(" )")

	if strings.HasPrefix(update, updateAgain) { // the new fence follows from the old one
		t.text.WriteString(" RETURNING ALL OLD *")
	}

	made := statement{t.text.String(), t.parameters}
	s.statements.Store(pair, made)

	return made
}

// request is a write as one statement of a group.
func (w write) request(s *Store) types.BatchStatementRequest {
	st := s.statement(w.condition, w.update)
	parameters := make([]types.AttributeValue, len(st.parameters))

	for i, name := range st.parameters {
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
		Statement:                           &st.text,
		Parameters:                          parameters,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// translation is an expression on its way into PartiQL.
type translation struct {
	text       strings.Builder
	parameters []string
	names      map[string]string // expression attribute names
	clause     string            // SET or REMOVE
	missing    bool              // the next closing parenthesis ends attribute_not_exists
}

const notExists = "attribute_not_exists"

var words = regexp.MustCompile(notExists + `\(|[#:]?\w+|<>|[<>]=?|[=+,()]`)

// translate goes through the words of an expression: the languages differ in how they spell values, names and lists, and in the
// one function that is used.
func (t *translation) translate(expression string) {
	for _, word := range words.FindAllString(expression, -1) {
		t.word(word)
	}
}

func (t *translation) word(word string) {
	switch {
	case word == notExists+"(":
		t.missing = true

		return
	case word == ")" && t.missing:
		t.missing = false
		word = "IS MISSING"
	case word == "SET", word == "REMOVE":
		t.clause = word
	case word == ",":
		word = t.clause
	case word[0] == ':':
		t.parameters = append(t.parameters, word)
		word = "?"
	case word[0] == '#':
		word = quoted(t.names[word])
	case word != "AND" && word != "OR" && isName(word[0]):
		word = quoted(word)
	}

	t.text.WriteByte(' ')
	t.text.WriteString(word)
}

func isName(first byte) bool { return first == '_' || 'a' <= first|0x20 && first|0x20 <= 'z' }

// quoted is a name in PartiQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// insertion is a claim as the statement that makes its record, if there is no item with its key.
func (c *claimCall) insertion(a attempted) types.BatchStatementRequest {
	s, record := c.store, c.record(firstFence(a), a)
	text, names := &s.expr.insert, s.expr.inserted

	if c.fingerprint != "" {
		text, names = &s.expr.insertFP, s.expr.insertedFP
	}

	parameters := make([]types.AttributeValue, len(names))
	for i, name := range names {
		parameters[i] = record[name]
	}

	return types.BatchStatementRequest{Statement: text, Parameters: parameters}
}

// insertStatement is the text for a record with these attributes.
func insertStatement(table string, names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = "'" + strings.ReplaceAll(name, "'", "''") + "': ?"
	}

	return "INSERT INTO " + quoted(table) + " VALUE {" + strings.Join(texts, ", ") + "}"
}
