// Package partiql translates the expressions of an UpdateItem into PartiQL, so that each condition and each update is written once.
package partiql

import (
	"regexp"
	"slices"
	"strings"
)

// Statement is a write or a read in PartiQL.
type Statement struct {
	Text       string
	Parameters []string // what stands for the values of its parameters, in their order: placeholders, or attributes of an INSERT
}

// Update returns the statement that updates an item if the condition is true. The condition also names the key of the item. names are the
// expression attribute names. It knows the language of package idemddb's expressions, in which no update has a function.
func Update(table, update, condition string, names map[string]string) Statement {
	set, values := translate(update, names)
	where, compared := translate(condition, names)

	return Statement{"UPDATE " + quoted(table) + " " + set + " WHERE " + where, slices.Concat(values, compared)}
}

// Insert returns the statement that creates an item with these attributes if no item has its key.
func Insert(table string, attributes []string) Statement {
	texts := make([]string, len(attributes))
	for i, name := range attributes {
		texts[i] = "'" + strings.ReplaceAll(name, "'", "''") + "': ?"
	}

	return Statement{"INSERT INTO " + quoted(table) + " VALUE {" + strings.Join(texts, ", ") + "}", attributes}
}

// Select returns the statement that reads the item of a key. The condition names it.
func Select(table, condition string, names map[string]string) Statement {
	where, values := translate(condition, names)

	return Statement{"SELECT * FROM " + quoted(table) + " WHERE " + where, values} //nolint:unqueryvet // DynamoDB reads items whole
}

var (
	notExists = regexp.MustCompile(`attribute_not_exists\((.+?)\)`)
	exists    = regexp.MustCompile(`attribute_exists\((.+?)\)`)
	words     = regexp.MustCompile(`[#:]?\w+|<>|[<>]=?|[=+,()]`)
	keyword   = regexp.MustCompile(`^(AND|OR|NOT|IS|MISSING|begins_with)$`)
	name      = regexp.MustCompile(`^[A-Za-z_]`)
)

// translate goes through the words of an expression. The two languages differ in how they write values, names and lists, and in
// whether an attribute exists.
func translate(expression string, names map[string]string) (text string, parameters []string) {
	expression = notExists.ReplaceAllString(expression, "$1 IS MISSING")
	expression = exists.ReplaceAllString(expression, "$1 IS NOT MISSING")
	clause := "," // each item of a list repeats its SET or REMOVE

	translated := words.FindAllString(expression, -1)
	for i, word := range translated {
		switch {
		case word == "SET", word == "REMOVE":
			clause = word
		case word == ",":
			translated[i] = clause
		case word[0] == ':':
			parameters = append(parameters, word)
			translated[i] = "?"
		case word[0] == '#':
			translated[i] = quoted(names[word])
		case name.MatchString(word) && !keyword.MatchString(word):
			translated[i] = quoted(word)
		}
	}

	return strings.Join(translated, " "), parameters
}

// quoted returns a name as PartiQL writes it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
