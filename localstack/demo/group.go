package main

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// BatchExecuteStatement makes up to 25 writes, each for itself, and is counted as one request. DynamoDB Local does not say what
// it costs, so that the items are measured, on every engine.
func (m *meter) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	statements := make([]statement, len(in.Statements))
	r := request{operation: "BatchExecuteStatement", parts: make([]request, len(in.Statements))}

	asking := *in
	asking.Statements = slices.Clone(in.Statements)

	for i, asked := range in.Statements {
		statements[i] = readStatement(asked)
		asking.Statements[i].Statement = new(returning(*asked.Statement))
		r.table, r.parts[i] = m.table(statements[i].table), statements[i].request
	}

	return send(ctx, m, r, func() (*dynamodb.BatchExecuteStatementOutput, error) {
		return m.api.BatchExecuteStatement(ctx, &asking, opts...)
	}, func(r *request, out *dynamodb.BatchExecuteStatementOutput) {
		for i, answer := range out.Responses {
			r.parts[i] = statements[i].answered(answer)
			r.units += r.parts[i].units
		}

		slices.SortFunc(r.parts, func(a, b request) int { return strings.Compare(a.key, b.key) })
	})
}

// returning asks for the item before the write, which is what there is to measure.
func returning(text string) string {
	const clause = " RETURNING ALL OLD *"

	if strings.HasPrefix(text, "INSERT") || strings.HasSuffix(text, clause) {
		return text
	}

	return text + clause
}

// statement is a write in PartiQL, as far as the meter reads it.
type statement struct {
	request

	table string
	item  item     // what it writes: all for an INSERT, for an UPDATE without what it counts up
	gone  []string // attributes that it removes
}

var (
	verbAndTable = regexp.MustCompile(`^(INSERT|UPDATE)(?: INTO)? "([^"]+)"`)
	inserted     = regexp.MustCompile(`'(\w+)': \?`)
	assigned     = regexp.MustCompile(`SET "(\w+)" = (\?|"\w+" \+ \?)`)
	removed      = regexp.MustCompile(`REMOVE "(\w+)"`)
)

func readStatement(in types.BatchStatementRequest) statement {
	st := statement{item: item{}}

	if match := verbAndTable.FindStringSubmatch(*in.Statement); match != nil {
		st.operation, st.table = match[1], match[2]
	}

	if st.operation == "INSERT" {
		for i, name := range inserted.FindAllStringSubmatch(*in.Statement, -1) {
			st.item[name[1]] = in.Parameters[i]
		}

		st.purpose, st.key = "claim", text(st.item["pk"])

		return st
	}

	sets := assigned.FindAllStringSubmatch(*in.Statement, -1)
	for i, set := range sets {
		if set[2] == "?" {
			st.item[set[1]] = in.Parameters[i]
		}
	}

	for _, name := range removed.FindAllStringSubmatch(*in.Statement, -1) {
		st.gone = append(st.gone, name[1])
	}

	st.purpose = purposeOf(st.item)
	st.key = text(in.Parameters[len(sets)]) // the first thing that WHERE asks for

	return st
}

// purposeOf names what an UPDATE is for, by the attributes that only such a one sets.
func purposeOf(sets item) string {
	for _, has := range []struct{ name, purpose string }{
		{"own", "claim"}, {"done", "complete"}, {"st", "fail"}, {"exp", "extend"},
	} {
		if _, ok := sets[has.name]; ok {
			return has.purpose
		}
	}

	return "release"
}

// answered is the statement with what became of it. A refused INSERT does not get to see the item: it costs 1 unit at least.
func (st *statement) answered(answer types.BatchStatementResponse) request {
	r := st.request

	switch e := answer.Error; {
	case e == nil:
		r.applied, r.outcome, r.units = true, written(r, answer.Item), st.price(answer.Item)
	case e.Code == types.BatchStatementErrorCodeEnumDuplicateItem:
		r.outcome, r.units = "refused: there is a record", 1
	case e.Code == types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		r.outcome, r.units = refusedBy(e.Item), price(e.Item)
	default:
		r.outcome = "not applied: " + string(e.Code)
	}

	return r
}

// price of a write is that of the larger item, the one before it and the one after.
func (st *statement) price(old item) float64 {
	after := item{}
	maps.Copy(after, old)
	maps.Copy(after, st.item)

	for _, name := range st.gone {
		delete(after, name)
	}

	return max(price(old), price(after))
}

func price(it item) float64 { return float64(idemddbtest.WriteUnits(it)) }
