package protocol_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/contract"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// mutant is one change to what is sent: From becomes To.
type mutant struct {
	Name, From, To string
	Whole          bool // From is the whole expression, not a part of it
	Grouped        bool // only in statements; else only in requests of their own
}

// equivalent are the mutants that change nothing, each with the reason.
var equivalent = map[string]string{
	`condExtend: flip "lease <" to <=`:                         "an extension to the lease that is there already writes what is there",
	`in a group, condExtend: flip "lease <" to <=`:             "an extension to the lease that is there already writes what is there",
	`condSameInput: drop attribute_not_exists(fp)`:             notBegins,
	`in a group, condSameInput: drop attribute_not_exists(fp)`: notBegins,
	`in a group, updateAgain: drop v = :v`:                     "condAgain demands that it is there",
	`in a group, updateAgain: drop st = :inprogress`:           "condAgain demands that it is there",
}

const notBegins = "NOT begins_with(fp, :fpver) is true of a record without fp, too"

// TestEveryMutationOfAnExpressionIsNoticed drops every term of every condition, flips every comparison and connective, and drops
// every clause of every update; the contract must fail under each. The change is made to the request, with the values that are no
// longer used taken out, so that it is the meaning that is noticed and not a validation error. Expressions that are also sent in
// statements are changed twice: in requests of their own, and in statements, where the cases of batches alone must notice.
func TestEveryMutationOfAnExpressionIsNoticed(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("each of more than 200 mutants runs the contract")
	}

	if around.HasRaceDetector() {
		t.Skip("ten times as slow with the race detector; internal/checks/mutation runs it in a build without")
	}

	all := mutants()
	if len(all) < 200 {
		t.Fatalf("only %d mutants: are the expressions still read?", len(all))
	}

	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()

			reason, known := equivalent[m.Name]
			by := contract.FirstFailure(t, m.Grouped, m.engine)

			if by == "" && !known { // which claims share a request may depend on the order in which goroutines run
				by = contract.FirstFailure(t, m.Grouped, m.engine)
			}

			switch {
			case known && by != "":
				t.Errorf("it is listed as equivalent, and noticed: %s", by)
			case known:
				t.Logf("equivalent: %s", reason)
			case by == "":
				t.Errorf("not noticed:\n  %s\n→ %s", m.From, m.To)
			default:
				t.Logf("noticed: %s", by)
			}
		})
	}
}

// engine is the engine in memory behind a wire that makes the change.
func (m mutant) engine(t *testing.T, schema *dynamodb.CreateTableInput) contract.Engine {
	t.Helper()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), schema); err != nil {
		t.Fatal(err)
	}

	statements := statementsOf(schema)

	return mutated{&around.Client{DB: db, Do: func(ctx context.Context, in any, send around.Send) (any, error) {
		change := func(_ string, expression *string) *string { return m.change(expression) }

		switch shared, isShared := in.(*dynamodb.BatchExecuteStatementInput); {
		case isShared && m.Grouped:
			in = m.changeStatements(shared, statements)
		case !isShared && !m.Grouped:
			in = around.Altered(in, change, change)
		}

		return send(ctx, in)
	}}}
}

// statementsOf knows every statement on a table by its text. A text that is not among them fails the case that sends it.
func statementsOf(schema *dynamodb.CreateTableInput) map[string][]statement {
	all := map[string][]statement{}

	for _, ttl := range []string{"exp", `the user's "TTL" ?`} { // the contract uses these names
		c := protocol.Config{Table: *schema.TableName, PartitionKey: *schema.KeySchema[0].AttributeName, TTLAttribute: ttl}
		if len(schema.KeySchema) > 1 {
			c.SortKey = *schema.KeySchema[1].AttributeName
		}

		for _, pair := range protocol.GroupPairs() {
			text, placeholders := protocol.StatementOf(c, pair)
			all[text] = append(all[text], statement{c, pair, placeholders})
		}
	}

	return all
}

// statement is an update in PartiQL.
type statement struct {
	config       protocol.Config
	pair         protocol.Pair
	placeholders []string
}

// constants distinguish pairs whose text is the same.
var constants = map[string]string{":zero": "0", ":returned": "-1"}

func (s statement) fits(in types.BatchStatementRequest) bool {
	for i, name := range s.placeholders {
		n, ok := in.Parameters[i].(*types.AttributeValueMemberN)
		if want := constants[name]; want != "" && (!ok || n.Value != want) {
			return false
		}
	}

	return true
}

// change translates the changed expressions, with the parameters that they still name.
func (s statement) change(m mutant, in types.BatchStatementRequest) types.BatchStatementRequest {
	values := map[string]types.AttributeValue{}
	for i, name := range s.placeholders {
		values[name] = in.Parameters[i]
	}

	pair := s.pair.Changed(*m.change(&s.pair.Condition), *m.change(&s.pair.Update))
	text, placeholders := protocol.StatementOf(s.config, pair)
	in.Statement, in.Parameters = &text, nil

	for _, name := range placeholders {
		in.Parameters = append(in.Parameters, values[name])
	}

	return in
}

var inserted = regexp.MustCompile(`'((?:[^']|'')*)': \?`)

// changeInsert takes the attribute out of a new record.
func (m mutant) changeInsert(in types.BatchStatementRequest) types.BatchStatementRequest {
	for i, at := range inserted.FindAllStringSubmatchIndex(*in.Statement, -1) {
		if name := (*in.Statement)[at[2]:at[3]]; name == m.From {
			in.Statement = new((*in.Statement)[:at[0]-len(", ")] + (*in.Statement)[at[1]:]) // the key is the first attribute
			in.Parameters = slices.Delete(slices.Clone(in.Parameters), i, i+1)

			break
		}
	}

	return in
}

var (
	term       = regexp.MustCompile(`attribute_\w+\(\S+?\)|NOT begins_with\(\w+, :\w+\)|[\w#]+ (=|<>|<|>) :\w+`)
	comparison = regexp.MustCompile(` (=|<>|<|>) `)
	connective = regexp.MustCompile(` (AND|OR) `)
	negation   = regexp.MustCompile(`NOT `)
	clause     = regexp.MustCompile(`[\w#]+ = (if_not_exists\([^)]*\)( [+-] (:\w+|if_not_exists\([^)]*\)))?|\w+ \+ :?\w+|:\w+)`)
	flips      = map[string][]string{"=": {"<>"}, "<>": {"="}, "<": {"<=", ">"}, ">": {">=", "<"}}
)

func mutants() []mutant {
	var all []mutant

	each := func(expressions map[string]string, whole bool, change func(from string, add func(what, to string))) {
		for _, name := range slices.Sorted(maps.Keys(expressions)) {
			from := expressions[name]
			change(from, func(what, to string) {
				all = append(all, mutant{Name: name + ": " + what, From: from, To: to, Whole: whole})
			})
		}
	}

	each(protocol.Conditions, true, changeCondition)
	each(protocol.ConditionParts, false, changeCondition)
	each(protocol.Updates, true, changeUpdate)
	each(protocol.UpdateParts, false, changeUpdate)
	each(protocol.TransactionParts, false, changeUpdate)

	alone := len(all)

	each(protocol.GroupConditions, true, changeCondition)
	each(protocol.GroupConditionParts, false, changeCondition)
	each(protocol.GroupUpdates, true, changeUpdate)
	each(protocol.GroupUpdateParts, false, changeUpdate)

	traced := protocol.Config{PartitionKey: "pk", TTLAttribute: "exp", IsTraced: true}

	_, attributes := protocol.Insert(traced, true)
	for _, name := range attributes[1:] { // the key is the first attribute
		all = append(all, mutant{Name: "insert: drop " + name, From: name, Whole: true})
	}

	for i := range all[alone:] {
		m := &all[alone+i]
		m.Name, m.Grouped = "in a group, "+m.Name, true
	}

	return all
}

func changeCondition(from string, add func(what, to string)) {
	for _, at := range term.FindAllStringIndex(from, -1) {
		add("drop "+from[at[0]:at[1]], drop(from, at))
	}

	for _, at := range comparison.FindAllStringSubmatchIndex(from, -1) {
		for _, op := range flips[from[at[2]:at[3]]] {
			add(fmt.Sprintf("flip %q to %s", strings.TrimSpace(from[max(0, at[0]-5):at[3]]), op), from[:at[2]]+op+from[at[3]:])
		}
	}

	for _, at := range connective.FindAllStringSubmatchIndex(from, -1) {
		op := map[string]string{"AND": "OR", "OR": "AND"}[from[at[2]:at[3]]]
		add(fmt.Sprintf("%s before %q", op, from[at[1]:min(len(from), at[1]+10)]), from[:at[2]]+op+from[at[3]:])
	}

	for _, at := range negation.FindAllStringIndex(from, -1) {
		add("drop NOT", from[:at[0]]+from[at[1]:])
	}
}

func changeUpdate(from string, add func(what, to string)) {
	clauses := clause.FindAllStringIndex(from, -1)
	for _, at := range clauses {
		if len(clauses) > 1 {
			add("drop "+from[at[0]:at[1]], dropClause(from, at))
		}
	}

	before, list, _ := strings.Cut(from, "REMOVE ")
	if names := strings.Split(list, ", "); len(names) > 1 {
		for i, name := range names {
			add("do not remove "+name, before+"REMOVE "+strings.Join(slices.Delete(slices.Clone(names), i, i+1), ", "))
		}
	}

	if !strings.HasPrefix(from, "SET") {
		add("drop it", "")
	}
}

// drop takes a term out, with the connective that binds it.
func drop(text string, at []int) string {
	before, after := text[:at[0]], text[at[1]:]

	for _, op := range []string{" AND ", " OR "} {
		if rest, ok := strings.CutPrefix(after, op); ok {
			return before + rest
		}

		if rest, ok := strings.CutSuffix(before, op); ok {
			return rest + after
		}
	}

	return before + after
}

func dropClause(text string, at []int) string {
	before, after := text[:at[0]], text[at[1]:]
	if rest, ok := strings.CutPrefix(after, ", "); ok {
		return before + rest
	}

	return strings.TrimSuffix(before, ", ") + after
}

// mutated is the engine behind a wire that changes expressions.
type mutated struct{ *around.Client }

// OnChange hides that of the engine: the cases of the contract themselves must notice the change, as on an engine that shows
// none.
func (mutated) OnChange() {}

// changeStatements changes those of a shared request. They are known by their text.
func (m mutant) changeStatements(in *dynamodb.BatchExecuteStatementInput, all map[string][]statement) *dynamodb.BatchExecuteStatementInput {
	changed := *in
	changed.Statements = slices.Clone(in.Statements)

	for i, one := range in.Statements {
		known := slices.IndexFunc(all[*one.Statement], func(s statement) bool { return s.fits(one) })

		switch {
		case known >= 0:
			changed.Statements[i] = all[*one.Statement][known].change(m, one)
		case strings.HasPrefix(*one.Statement, "INSERT "):
			changed.Statements[i] = m.changeInsert(one)
		default:
			panic("an unknown statement: " + *one.Statement)
		}
	}

	return &changed
}

func (m mutant) change(expression *string) *string {
	switch {
	case expression == nil || m.From == "" || m.Whole && *expression != m.From:
		return expression
	case strings.Contains(*expression, m.From+",") && strings.Contains(m.From, "REMOVE"): // From is only the beginning of another part
		return expression
	default:
		return new(strings.Replace(*expression, m.From, m.To, 1))
	}
}
