package protocol

import (
	"slices"
	"strings"
)

// statement is a write or a read in PartiQL. It is translated from the expressions of an UpdateItem, so that each condition and
// each update is written once.
type statement struct {
	text       string
	parameters []string // what stands for the values of its parameters, in their order: placeholders, or attributes of an INSERT
}

// updateStatement returns the statement that updates an item if the condition is true. The condition also names the key of the
// item. names are the expression attribute names. It knows the language of this package's expressions, in which no update has a
// function.
func updateStatement(table, update, condition string, names map[string]string) statement {
	set, values := translate(update, names)
	where, compared := translate(condition, names)

	return statement{"UPDATE " + quoted(table) + " " + set + " WHERE " + where, slices.Concat(values, compared)}
}

// insertStatement returns the statement that creates an item with these attributes if no item has its key.
func insertStatement(table string, attributes []string) statement {
	texts := make([]string, len(attributes))
	for i, name := range attributes {
		texts[i] = "'" + strings.ReplaceAll(name, "'", "''") + "': ?"
	}

	return statement{"INSERT INTO " + quoted(table) + " VALUE {" + strings.Join(texts, ", ") + "}", attributes}
}

// selectStatement returns the statement that reads the item of a key. The condition names it.
func selectStatement(table, condition string, names map[string]string) statement {
	where, values := translate(condition, names)

	return statement{"SELECT * FROM " + quoted(table) + " WHERE " + where, values} //nolint:unqueryvet // DynamoDB reads items whole
}

// translate goes through the words of an expression. The two languages differ in how they write values, names and lists, and in
// whether an attribute exists.
func translate(expression string, names map[string]string) (text string, parameters []string) {
	var translated []string

	clause, ending := ",", "" // each item of a list repeats its SET or REMOVE

	for _, word := range words(expression) {
		switch {
		case word == "SET", word == "REMOVE":
			clause = word
		case word == ",":
			word = clause
		case word == "attribute_exists", word == "attribute_not_exists":
			ending = endings[word]

			continue
		case ending != "" && word == "(":
			continue
		case ending != "" && word == ")":
			word, ending = ending, ""
		case word[0] == ':':
			parameters = append(parameters, word)
			word = "?"
		case word[0] == '#':
			word = quoted(names[word])
		case isName(word):
			word = quoted(word)
		}

		translated = append(translated, word)
	}

	return strings.Join(translated, " "), parameters
}

// endings are what stands behind an attribute in the place of a function around it.
var endings = map[string]string{"attribute_exists": "IS NOT MISSING", "attribute_not_exists": "IS MISSING"}

// isName reports whether a word is the name of an attribute.
func isName(word string) bool {
	switch word {
	case "AND", "OR", "NOT", "IS", "MISSING", "begins_with":
		return false
	default:
		return isInWord(rune(word[0])) && (word[0] < '0' || word[0] > '9')
	}
}

// words divides an expression. It uses no regular expression, because the start of every process would wait for those.
func words(expression string) (all []string) {
	for rest := strings.TrimSpace(expression); rest != ""; {
		n := lengthOfWord(rest)
		all = append(all, rest[:n])
		rest = strings.TrimSpace(rest[n:])
	}

	return all
}

// lengthOfWord returns how long the first word of a text is: a name, also behind # or :, a number, an operator, a comma or a
// parenthesis.
func lengthOfWord(text string) int {
	switch {
	case strings.HasPrefix(text, "<>"), strings.HasPrefix(text, "<="), strings.HasPrefix(text, ">="):
		return len("<>")
	case text[0] != '#' && text[0] != ':' && !isInWord(rune(text[0])):
		return 1
	}

	if end := strings.IndexFunc(text[1:], func(r rune) bool { return !isInWord(r) }); end >= 0 {
		return 1 + end
	}

	return len(text)
}

// isInWord reports whether a name or a number can have this character.
func isInWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// quoted returns a name as PartiQL writes it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
