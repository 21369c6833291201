package idemddb

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// partiql is a write in PartiQL: its text, and the placeholders whose values are its parameters, in order.
type partiql struct {
	text       string
	parameters []string
}

// Placeholders of the key in a statement: expressions have none, requests name the key beside them.
const (
	placePartition = ":partition"
	placeSort      = ":sort"
)

// partiql translates a condition and an update of expr.go, for a record that exists, into PartiQL. So there is one set of
// expressions, and one argument for each. Each pair is translated once; there are few.
func (s *Store) partiql(condition, update string) partiql {
	pair := [2]string{condition, update}

	if known, ok := s.statements.Load(pair); ok {
		return known.(partiql) //nolint:forcetypeassert // nothing else is stored there
	}

	made := s.translated(condition, update)
	s.statements.Store(pair, made)

	return made
}

// translated returns the statement of a condition and an update.
func (s *Store) translated(condition, update string) partiql {
	t := translation{names: s.expr.names}
	t.text.WriteString("UPDATE " + quoted(s.table))
	t.translate(update)
	t.clause = "" // a comma is one from here on
	t.text.WriteString(" WHERE " + quoted(s.opts.PartitionKey) + " =")
	t.word(placePartition)

	if s.opts.SortKey != "" {
		t.text.WriteString(" AND " + quoted(s.opts.SortKey) + " =")
		t.word(placeSort)
	}

	t.text.WriteString(" AND (")
	t.translate(condition)
	t.text.WriteString(" )")

	if strings.HasPrefix(update, updateAgain) { // the new fencing token follows from the old one
		t.text.WriteString(" RETURNING ALL OLD *")
	}

	return partiql{t.text.String(), t.parameters}
}

// statement is the write as one statement of a shared request.
func (w write) statement(s *Store) types.BatchStatementRequest {
	st := s.partiql(w.condition, w.update)
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
	is         string            // what the next closing parenthesis means, which ends attribute_exists or attribute_not_exists
}

const (
	notExists  = "attribute_not_exists"
	exists     = "attribute_exists"
	beginsWith = "begins_with"
)

var words = regexp.MustCompile(notExists + `\(|` + exists + `\(|[#:]?\w+|<>|[<>]=?|[=+,()]`)

// translate goes through the words of an expression. The two languages differ in how they write values, names and lists, and in
// attribute_not_exists.
func (t *translation) translate(expression string) {
	for _, word := range words.FindAllString(expression, -1) {
		t.word(word)
	}
}

func (t *translation) word(word string) {
	switch {
	case word == notExists+"(":
		t.is = "IS MISSING"

		return
	case word == exists+"(":
		t.is = "IS NOT MISSING"

		return
	case word == ")" && t.is != "":
		word, t.is = t.is, ""
	case word == "SET", word == "REMOVE":
		t.clause = word
	case word == ",":
		if t.clause != "" {
			word = t.clause
		}
	case word[0] == ':':
		t.parameters = append(t.parameters, word)
		word = "?"
	case word[0] == '#':
		word = quoted(t.names[word])
	case word != "AND" && word != "OR" && word != "NOT" && word != beginsWith && isName(word[0]):
		word = quoted(word)
	}

	t.text.WriteByte(' ')
	t.text.WriteString(word)
}

func isName(first byte) bool { return first == '_' || 'a' <= first|0x20 && first|0x20 <= 'z' }

// quoted is a name in PartiQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// insertion is the statement that creates a record if no item has its key.
func (s *Store) insertion(record item, fingerprint bool) types.BatchStatementRequest {
	text, names := &s.expr.insert, s.expr.inserted
	if fingerprint {
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

// statement is the claim as one statement of a shared request.
func (a *acquisition) statement() types.BatchStatementRequest {
	s := a.store
	again := s.expr.setAgain
	a.last = s.stamp(a.deadline)

	switch {
	case a.insert:
		return s.insertion(a.newRecord(firstFence(a.last)), a.fingerprint != "")
	case a.fingerprint != "":
		return write{a.partition, s.expr.againFP, again + updateSetFP, a.values()}.statement(s)
	default:
		return write{a.partition, s.expr.again, again + updateDropFP, a.values()}.statement(s)
	}
}

// newRecord is the item of a new record of this claim.
func (a *acquisition) newRecord(fence int64) item {
	s := a.store
	record := s.key(a.partition)
	record[attrVersion] = versionValue
	record[attrState] = inProgressValue
	record[attrToken] = stringValue(a.token)
	record[attrFence] = numberValue(fence)
	record[attrPrevious] = zeroValue
	record[attrLease] = numberValue(a.last.lease.UnixMilli())
	record[attrAttempts] = oneValue
	record[attrBorn] = numberValue(a.last.now.UnixMilli())
	record[s.opts.TTLAttribute] = numberValue(s.expiry(a.last.now, a.last.lease))

	if a.fingerprint != "" {
		record[attrFingerprint] = stringValue(a.fingerprint)
	}

	if s.opts.Trace != nil {
		record[attrTrace] = stringValue(a.trace)
		record[attrPrevTrace] = noTraceValue
	}

	return record
}

// firstFence is the fencing token of a new record.
func firstFence(t stamp) int64 { return t.now.UnixMilli() + 1 }
