package main

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The keys were printed by the two libraries themselves: Powertools for Python 3.37.0, for a function `pay` of a module `app` with
// idempotent_function, and for TypeScript 2.35.0, with makeIdempotent; both with the key paymentId, in the Lambda function "payments".
func TestEarlierKeysAreThoseOfPowertools(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, got, want string }{
		{"Python", pythonKey("payments.app.pay")("p-1"), "payments.app.pay#ed915f3bb9db2ff3c27d09465bdde0b5"},
		{"TypeScript", typescriptKey("payments")("p-1"), "payments#7ZFfO7nbL/PCfQlGW93gtQ=="},
		{"Python, with quotes", pythonKey("payments.app.pay")(`a"b\c/<d>`), "payments.app.pay#6068b1ee20cb82468c92afb5e09d97ac"},
		{"TypeScript, with quotes", typescriptKey("payments")(`a"b\c/<d>`), "payments#YGix7iDLgkaMkq+14J2XrA=="},
	} {
		if test.got != test.want {
			t.Errorf("%s: key %s, want %s", test.name, test.got, test.want)
		}
	}
}

// table is a table with one item; a failing one has an error.
type table struct {
	item map[string]any
	err  error
}

func (s table) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	id, _ := in.Key["id"].(*types.AttributeValueMemberS)
	if s.err != nil || s.item == nil || id.Value != s.item["id"] || !*in.ConsistentRead {
		return &dynamodb.GetItemOutput{}, s.err
	}

	item, err := attributevalue.MarshalMap(s.item)

	return &dynamodb.GetItemOutput{Item: item}, err
}

func TestWorkThatTheEarlierFunctionHasDoneIsNotDoneAgain(t *testing.T) {
	t.Parallel()

	now := time.Unix(1_790_000_000, 0)
	record := func(changes map[string]any) map[string]any {
		item := map[string]any{"id": "payments.app.pay#ed915f3bb9db2ff3c27d09465bdde0b5", "expiration": now.Unix() + 60}
		maps.Copy(item, changes)

		return item
	}

	for name, test := range map[string]struct {
		id    string
		table table
		paid  bool
		err   string
	}{
		"no record":                      {"p-1", table{}, true, ""},
		"completed":                      {"p-1", table{item: record(map[string]any{"status": "COMPLETED"})}, false, ""},
		"completed, another payment":     {"p-2", table{item: record(map[string]any{"status": "COMPLETED"})}, true, ""},
		"completed, past its expiration": {"p-1", table{item: record(map[string]any{"status": "COMPLETED", "expiration": now.Unix()})}, true, ""},
		"still at work": {
			"p-1", table{item: record(map[string]any{"status": "INPROGRESS", "in_progress_expiration": now.UnixMilli() + 1})}, false, errAtWork.Error(),
		},
		"died at work":      {"p-1", table{item: record(map[string]any{"status": "INPROGRESS", "in_progress_expiration": now.UnixMilli()})}, true, ""},
		"the table is away": {"p-1", table{err: errors.New("away")}, false, "earlier record: away"},
		"not a record":      {"p-1", table{item: record(map[string]any{"status": []int{1}})}, false, "earlier record"},
		"another alphabet":  {"ü", table{}, false, "visible ASCII"},
		"no id":             {"", table{}, false, "visible ASCII"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			paid := false
			p := payer{
				earlier{test.table, "idempotency", pythonKey("payments.app.pay"), func() time.Time { return now }},
				func(context.Context, payment) error { paid = true; return nil },
			}

			err := p.handle(t.Context(), payment{test.id})
			if paid != test.paid || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("paid %v, error %v; want %v, %q", paid, err, test.paid, test.err)
			}
		})
	}
}
