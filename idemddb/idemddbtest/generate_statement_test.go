package idemddbtest_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// statements draws a call of some statements, and for each the single request with the same meaning, nil if the statement is
// spoiled.
func (g *generator) statements() any {
	in := &dynamodb.BatchExecuteStatementInput{}
	g.singles = nil

	keys := rapid.Permutation(g.keys()).Draw(g.T, "keys")
	for _, k := range keys[:rapid.IntRange(1, 4).Draw(g.T, "statements")] {
		g.names, g.values = map[string]string{}, attributes{}
		spoiled := g.spoil(&k)

		var (
			statement types.BatchStatementRequest
			single    any
		)
		if g.chance(25, "INSERT") {
			statement, single = g.insert(k)
		} else {
			statement, single = g.updateStatement(k)
		}

		if g.chance(4, "broken") {
			spoiled = true

			g.breakStatement(&statement)
		}

		if spoiled {
			single = nil
		}

		in.Statements = append(in.Statements, statement)
		g.singles = append(g.singles, single)
	}

	return in
}

func (g *generator) insert(k itemKey) (types.BatchStatementRequest, any) {
	it := g.item(k.key)
	if g.chance(5, "quote") {
		it["it's"] = g.number()
	}

	t := &translator{g: g}
	t.text.WriteString(g.keyword("INSERT") + g.space() + g.keyword("INTO") + g.space() + t.name(k.table) + g.space() + g.keyword("VALUE") + g.pick("{", "{", " { "))

	for i, name := range slices.Sorted(maps.Keys(it)) {
		if i > 0 {
			t.text.WriteString(g.pick(",", ",", ", "))
		}

		t.text.WriteString("'" + strings.ReplaceAll(name, "'", "''") + "'" + g.pick(":", ":", ": ") + t.value(it[name]))
	}

	t.text.WriteString("}")

	return t.request(), &dynamodb.PutItemInput{TableName: &k.table, Item: it, ConditionExpression: new("attribute_not_exists(pk)")}
}

// updateStatement draws an UPDATE of top-level attributes, with the expressions that the library uses.
func (g *generator) updateStatement(k itemKey) (types.BatchStatementRequest, any) {
	condition, update := g.conditionAndUpdate()
	single := &dynamodb.UpdateItemInput{
		TableName: &k.table, Key: maps.Clone(k.key), ReturnValues: types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	t := &translator{g: g}
	t.text.WriteString(g.keyword("UPDATE") + " " + t.name(k.table) + g.space())
	t.translate(update)
	t.clause = "" // from here on a comma stands between operands
	t.text.WriteString(g.keyword("WHERE"))

	var equal []string

	for i, name := range slices.Sorted(maps.Keys(k.key)) {
		alias, value := g.alias(name), g.placeholder(k.key[name])
		equal = append(equal, alias+" = "+value)

		if i > 0 {
			t.text.WriteString(" " + g.keyword("AND"))
		}

		if g.chance(10, "turned") {
			t.translate(value + " = " + alias)
		} else {
			t.translate(alias + " = " + value)
		}
	}

	if condition != "" {
		equal = append(equal, condition)

		t.text.WriteString(" " + g.keyword("AND"))
		t.translate(condition)
	}

	if g.chance(60, "RETURNING") {
		t.text.WriteString(" " + g.keyword("RETURNING") + " " + g.keyword("ALL") + g.space() + g.keyword("OLD") + " *")
	} else {
		single.ReturnValues = types.ReturnValueNone
	}

	single.UpdateExpression, single.ConditionExpression = &update, new(strings.Join(equal, " AND "))
	used := expressionWords.FindAllString(update+" "+*single.ConditionExpression, -1)

	maps.DeleteFunc(g.names, func(alias, _ string) bool { return !slices.Contains(used, alias) })
	maps.DeleteFunc(g.values, func(name string, _ types.AttributeValue) bool { return !slices.Contains(used, name) })
	single.ExpressionAttributeNames, single.ExpressionAttributeValues = g.names, g.values

	statement := t.request()
	if strings.Contains(condition, "#pk") { // a statement does not take a second equality of the key as a condition
		return statement, nil
	}

	single.ReturnValuesOnConditionCheckFailure = statement.ReturnValuesOnConditionCheckFailure

	return statement, single
}

// conditionAndUpdate draws a condition, which may be empty, and an update: random ones, or those of a record.
func (g *generator) conditionAndUpdate() (condition, update string) {
	if g.chance(40, "record") {
		in := g.idemddb(itemKey{}).(*dynamodb.UpdateItemInput)
		g.values = in.ExpressionAttributeValues
		condition, update = *in.ConditionExpression, *in.UpdateExpression
		condition = strings.TrimPrefix(condition, "attribute_not_exists(pk) OR ")
		update = strings.ReplaceAll(strings.ReplaceAll(update, "if_not_exists(fence, :now)", "fence"), "if_not_exists(att, :zero)", "att")
		update = strings.ReplaceAll(strings.ReplaceAll(update, "if_not_exists(born, :now)", "v"), " ADD att :minus", ", att = att + :minus")

		maps.Copy(g.names, in.ExpressionAttributeNames)

		return condition, update
	}

	if !g.chance(20, "unconditional") {
		condition = g.flat(0)
	}

	return condition, g.flatUpdate()
}

func (g *generator) alias(name string) string {
	alias := "#" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}

		return '0' + r%10
	}, name)
	g.names[alias] = name

	return alias
}

func (g *generator) topName() string {
	name := g.pick("name", "a", "b", "n", "n", "s", "l", "m", "zz", "x.y", "status", `q"q`, "pk")
	if name == "pk" && !g.chance(20, "the key") {
		name = "n"
	}

	return g.alias(name)
}

func (g *generator) flatOperand() string {
	if g.chance(30, "path") {
		return g.topName()
	}

	return g.placeholder(g.value(0))
}

// flat draws a condition of the library's grammar. An OR is written in parentheses; its first operand has none of its own.
func (g *generator) flat(depth int) string {
	kinds := []string{"compare", "compare", "compare", "exists", "missing", "begins", "and", "or", "not"}
	if depth > 2 {
		kinds = kinds[:6]
	}

	switch g.pick("condition", kinds...) {
	case "exists":
		return "attribute_exists(" + g.topName() + ")"
	case "missing":
		return "attribute_not_exists(" + g.topName() + ")"
	case "begins":
		return "begins_with(" + g.topName() + ", " + g.flatOperand() + ")"
	case "and":
		return g.flat(depth+1) + " AND " + g.flat(depth+1)
	case "or":
		return "( " + g.flat(3) + " OR " + g.flat(depth+1) + " )"
	case "not":
		return "NOT " + g.flat(3)
	}

	left := g.topName()
	if g.chance(10, "value first") {
		left = g.flatOperand()
	}

	return left + " " + g.pick("operator", "=", "=", "<>", "<", "<=", ">", ">=") + " " + g.flatOperand()
}

func (g *generator) flatUpdate() string {
	var sets, removes []string

	for range rapid.IntRange(0, 3).Draw(g.T, "sets") {
		right := g.flatOperand()
		if g.chance(30, "sum") {
			right = g.pick("term", "#n", g.placeholder(g.number()), right) + g.pick("sign", " + ", " - ") + g.pick("term", g.placeholder(g.number()), right)
			if strings.Contains(right, "#n") {
				g.names["#n"] = "n"
			}
		}

		sets = append(sets, g.topName()+" = "+right)
	}

	for range rapid.IntRange(0, 2).Draw(g.T, "removes") {
		removes = append(removes, g.topName())
	}

	if len(sets)+len(removes) == 0 {
		sets = append(sets, g.alias("a")+" = "+g.placeholder(g.number()))
	}

	var clauses []string
	if len(sets) > 0 {
		clauses = append(clauses, "SET "+strings.Join(sets, ", "))
	}

	if len(removes) > 0 {
		clauses = append(clauses, "REMOVE "+strings.Join(removes, ", "))
	}

	return strings.Join(clauses, " ")
}

func (g *generator) keyword(word string) string {
	return g.pick("case", word, word, strings.ToLower(word), word[:1]+strings.ToLower(word[1:]))
}

func (g *generator) space() string { return g.pick("space", " ", " ", "\n\t", "  ") }

// breakStatement changes a statement so that it probably makes no sense.
func (g *generator) breakStatement(s *types.BatchStatementRequest) {
	switch g.pick("break", "parameters", "more", "cut", "word", "WHERE", "empty") {
	case "parameters":
		s.Parameters = s.Parameters[:len(s.Parameters)-1]
	case "more":
		s.Parameters = append(s.Parameters, g.number())
	case "cut":
		text := (*s.Statement)[:len(*s.Statement)*2/3]
		s.Statement = &text
	case "word":
		s.Statement = new(*s.Statement + " x")
	case "WHERE":
		s.Statement = new(regexp.MustCompile(`(?is)\sWHERE.*`).ReplaceAllString(*s.Statement, ""))
	case "empty":
		s.Parameters = nil
	}
}
