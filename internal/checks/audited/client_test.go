package audited_test

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// request is a conditional write on its way.
type request struct {
	operation, condition string
	parameters           []types.AttributeValue // of a statement, those of its condition
}

// client is the engine behind a way on which others act while a write is on it, and on which conditions are altered.
func (h *history) client() *around.Client {
	return &around.Client{DB: h.db, Do: func(ctx context.Context, in any, send around.Send) (any, error) {
		switch in.(type) {
		case *dynamodb.GetItemInput, *dynamodb.QueryInput, *dynamodb.ScanInput:
			return send(ctx, in)
		}

		h.between()
		defer h.between()

		if shared, isShared := in.(*dynamodb.BatchExecuteStatementInput); isShared {
			return send(ctx, h.alteredStatements(shared))
		}

		return send(ctx, around.Altered(in, h.altered, nil))
	}}
}

const where = " WHERE "

func (h *history) alteredStatements(in *dynamodb.BatchExecuteStatementInput) *dynamodb.BatchExecuteStatementInput {
	sent := *in
	sent.Statements = slices.Clone(in.Statements)

	for i, s := range in.Statements {
		set, condition, isUpdate := strings.Cut(*s.Statement, where)
		if !isUpdate {
			continue
		}

		inSet := strings.Count(set, "?")
		r := h.arrives(request{"statement", condition, s.Parameters[inSet:]})
		sent.Statements[i].Statement = new(set + where + r.condition)
		sent.Statements[i].Parameters = append(slices.Clone(s.Parameters[:inSet]), r.parameters...)
	}

	return &sent
}

// between lets others act while a request is on its way, before it arrives or before its answer does.
func (h *history) between() {
	if h.draw(4) == 0 && h.enter() {
		defer h.leave()

		for range 1 + h.draw(2) {
			one(h, h.act, h.actAsHolder, h.actAsHolder, h.actAsOperator, h.beginAgain)()
		}
	}
}

// enter reports whether others may act: those who act while a request is on its way send requests, too.
func (h *history) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.depth > 1 {
		return false
	}

	h.depth++

	return true
}

func (h *history) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.depth--
}

// altered returns the condition as it arrives.
func (h *history) altered(operation string, condition *string) *string {
	if condition == nil {
		return nil
	}

	r := h.arrives(request{operation: operation, condition: *condition})
	if r.condition == "" {
		return nil
	}

	return &r.condition
}

func (h *history) arrives(r request) request {
	h.mu.Lock()
	h.seen[r.operation+": "+r.condition] = true
	h.mu.Unlock()

	if h.alter == nil {
		return r
	}

	return h.alter(r)
}
