package audited_test

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// request is a conditional write on its way.
type request struct {
	operation, condition string
	parameters           []types.AttributeValue // of a statement, those of its condition
}

// client is the engine behind a way on which others act, and on which conditions are altered.
type client struct {
	*idemddbtest.DB

	h *history
}

func (c client) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	c.between()
	defer c.between()

	sent := *in
	sent.ConditionExpression = c.altered("update", in.ConditionExpression)
	sent.ExpressionAttributeNames = used(in.ExpressionAttributeNames, sent.ConditionExpression, sent.UpdateExpression)
	sent.ExpressionAttributeValues = used(in.ExpressionAttributeValues, sent.ConditionExpression, sent.UpdateExpression)

	return c.DB.UpdateItem(ctx, &sent, opts...)
}

func (c client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	c.between()
	defer c.between()

	sent := *in
	sent.ConditionExpression = c.altered("put", in.ConditionExpression)
	sent.ExpressionAttributeNames = used(in.ExpressionAttributeNames, sent.ConditionExpression)
	sent.ExpressionAttributeValues = used(in.ExpressionAttributeValues, sent.ConditionExpression)

	return c.DB.PutItem(ctx, &sent, opts...)
}

func (c client) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	c.between()
	defer c.between()

	sent := *in
	sent.TransactItems = slices.Clone(in.TransactItems)

	for i, it := range in.TransactItems {
		if u := it.Update; u != nil {
			changed := *u
			changed.ConditionExpression = c.altered("update in a transaction", u.ConditionExpression)
			changed.ExpressionAttributeNames = used(u.ExpressionAttributeNames, changed.ConditionExpression, changed.UpdateExpression)
			changed.ExpressionAttributeValues = used(u.ExpressionAttributeValues, changed.ConditionExpression, changed.UpdateExpression)
			sent.TransactItems[i].Update = &changed
		}

		if p := it.Put; p != nil {
			changed := *p
			changed.ConditionExpression = c.altered("put in a transaction", p.ConditionExpression)
			changed.ExpressionAttributeNames = used(p.ExpressionAttributeNames, changed.ConditionExpression)
			changed.ExpressionAttributeValues = used(p.ExpressionAttributeValues, changed.ConditionExpression)
			sent.TransactItems[i].Put = &changed
		}
	}

	return c.DB.TransactWriteItems(ctx, &sent, opts...)
}

const where = " WHERE "

func (c client) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	c.between()
	defer c.between()

	sent := *in
	sent.Statements = slices.Clone(in.Statements)

	for i, s := range in.Statements {
		set, condition, isUpdate := strings.Cut(*s.Statement, where)
		if !isUpdate {
			continue
		}

		inSet := strings.Count(set, "?")
		r := c.arrives(request{"statement", condition, s.Parameters[inSet:]})
		sent.Statements[i].Statement = new(set + where + r.condition)
		sent.Statements[i].Parameters = append(slices.Clone(s.Parameters[:inSet]), r.parameters...)
	}

	return c.DB.BatchExecuteStatement(ctx, &sent, opts...)
}

// between lets others act while a request is on its way, before it arrives or before its answer does.
func (c client) between() {
	if h := c.h; h.draw(4) == 0 && h.enter() {
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
func (c client) altered(operation string, condition *string) *string {
	if condition == nil {
		return nil
	}

	r := c.arrives(request{operation: operation, condition: *condition})
	if r.condition == "" {
		return nil
	}

	return &r.condition
}

func (c client) arrives(r request) request {
	c.h.mu.Lock()
	c.h.seen[r.operation+": "+r.condition] = true
	c.h.mu.Unlock()

	if c.h.alter == nil {
		return r
	}

	return c.h.alter(r)
}

var placeholder = regexp.MustCompile(`[#:]\w+`)

// used keeps what the expressions still name; nil if that is nothing.
func used[V any](all map[string]V, expressions ...*string) map[string]V {
	kept := map[string]V{}

	for _, expression := range expressions {
		if expression == nil {
			continue
		}

		for _, name := range placeholder.FindAllString(*expression, -1) {
			if v, ok := all[name]; ok {
				kept[name] = v
			}
		}
	}

	if len(kept) == 0 {
		return nil
	}

	return kept
}
