package idemddbtest_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// translator translates expressions into PartiQL.
type translator struct {
	g          *generator
	text       strings.Builder
	parameters []types.AttributeValue
	clause     string
	missing    bool
}

var expressionWords = regexp.MustCompile(`attribute_(?:not_)?exists|[#:]?\w+|<>|[<>]=?|[-=+,()]`)

func (t *translator) translate(expression string) {
	for _, word := range expressionWords.FindAllString(expression, -1) {
		t.text.WriteString(t.g.space() + t.word(word))
	}

	t.text.WriteString(" ")
}

func (t *translator) word(word string) string {
	upper := strings.ToUpper(word)
	switch {
	case word[0] == ':':
		return t.value(t.g.values[word])
	case word[0] == '#':
		return t.name(t.g.names[word])
	case word == "attribute_not_exists" && t.g.chance(70, "MISSING"):
		t.missing = true

		return ""
	case t.missing && word == "(":
		return ""
	case t.missing && word == ")":
		t.missing = false

		return t.g.keyword("IS") + " " + t.g.keyword("MISSING")
	case upper == "SET", upper == "REMOVE":
		t.clause = upper

		return t.g.keyword(upper)
	case word == "," && (t.clause == "REMOVE" || t.clause == "SET" && t.g.chance(50, "SET again")):
		return t.g.keyword(t.clause)
	case oneOf(upper, "AND", "OR", "NOT"):
		return t.g.keyword(upper)
	case strings.HasPrefix(word, "attribute_"), word == "begins_with":
		return word
	case word[0] >= 'a' && word[0] <= 'z':
		return t.name(word)
	}

	return word
}

func oneOf(s string, words ...string) bool { return slices.Contains(words, s) }

var bare = regexp.MustCompile(`^[a-z]+$`)

// name writes a name in quotes, or sometimes without them where that is allowed.
func (t *translator) name(name string) string {
	if bare.MatchString(name) && name != "status" && t.g.chance(20, "bare") {
		return name
	}

	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// value writes a value as a parameter, or sometimes as a literal.
func (t *translator) value(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		if t.g.chance(5, "literal") {
			return "'" + strings.ReplaceAll(v.Value, "'", "''") + "'"
		}
	case *types.AttributeValueMemberN:
		if regexp.MustCompile(`^\d{1,9}$`).MatchString(v.Value) && t.g.chance(10, "literal") {
			return v.Value
		}
	}

	t.parameters = append(t.parameters, v)

	return "?"
}

func (t *translator) request() types.BatchStatementRequest {
	return types.BatchStatementRequest{
		Statement: new(t.text.String()), Parameters: t.parameters, ReturnValuesOnConditionCheckFailure: t.g.onFailure(),
	}
}
