package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expected is what an invocation should do.
type expected struct {
	answer  string // the ids reported failed
	runs    int
	records int    // requests
	letters string // ids given to the dead-letter hook

	orRuns  int  // if not 0, as good as runs: a handler may begin in the instant in which its claim turns out to be lost
	atLeast bool // a renewal may be tried twice on a slow machine: no fewer requests for records than these
}

const noAnswer = "no answer"

// compare stops the story if an invocation did something else.
func (s *stage) compare(got, want expected) {
	if want.orRuns != 0 && got.runs == want.orRuns {
		want.runs = got.runs
	}

	if want.atLeast {
		want.records = max(want.records, got.records)
	}

	for _, check := range []struct {
		what      string
		got, want any
	}{
		{"messages reported failed", got.answer, want.answer},
		{"runs of the handler", got.runs, want.runs},
		{"requests for records", got.records, want.records},
		{"dead letters", got.letters, want.letters},
	} {
		if check.got != check.want {
			s.failsf("%s: got %v, want %v", check.what, quoted(check.got), quoted(check.want))
		}
	}
}

func quoted(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}

	return fmt.Sprint(value)
}

// account is what the ledger should hold.
type account struct {
	balance  string // minor units
	payments string
}

func (a account) String() string {
	n, _ := strconv.ParseInt(a.balance, 10, 64) // an account that is not there has none
	payments, _ := strconv.Atoi(a.payments)

	return fmt.Sprintf("%d.%02d in %s", n/100, n%100, count(payments, "payment"))
}

// ends shows the record and the ledger, and stops the story if they are not as they should be.
func (s *stage) ends(ctx context.Context, paymentID, state string, want account) item {
	if s.err != nil {
		return nil
	}

	record := s.read(ctx, s.engine.records, recordKey(paymentID))

	s.blank()
	s.record(record)
	s.owns(ctx, want)

	if got := text(record["st"]); got != state {
		s.failsf("the record of %s is %q, it should be %q", paymentID, got, state)
	}

	return record
}

// endAll is ends for several payments, which one call should have completed with its first attempt.
func (s *stage) endAll(ctx context.Context, paymentIDs []string, by string, want account) []item {
	if s.err != nil {
		return nil
	}

	records := make([]item, len(paymentIDs))

	for i, id := range paymentIDs {
		records[i] = s.read(ctx, s.engine.records, recordKey(id))

		got := [...]string{text(records[i]["st"]), claimant(records[i]), text(records[i]["att"])}
		if want := [...]string{"COMPLETED", by, "1"}; got != want {
			s.failsf("the record of %s (st, own, att) is %q, it should be %q", id, got, want)
		}
	}

	s.blank()

	if s.err == nil {
		s.field("records", fmt.Sprintf("%s to %s: all %s by %s, att 1", paymentIDs[0], paymentIDs[len(paymentIDs)-1],
			s.paint(green, "COMPLETED"), by))
	}

	s.owns(ctx, want)

	return records
}

// owns shows the ledger, and stops the story if it is not as it should be.
func (s *stage) owns(ctx context.Context, want account) {
	ledger := s.read(ctx, s.engine.ledger, accountKey)
	got := account{text(ledger["balance"]), text(ledger["payments"])}

	s.ledger(got, want)

	if got != want {
		s.failsf("the ledger is wrong: account a-1 has %v, it should have %v", got, want)
	}
}

const accountKey = "account#a-1"

func recordKey(paymentID string) string { return "payments#" + paymentID }

// read looks an item up, past every meter: the worker did not ask for it.
func (s *stage) read(ctx context.Context, table, key string) item {
	consistent := true

	out, err := s.engine.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: item{"pk": &types.AttributeValueMemberS{Value: key}}, ConsistentRead: &consistent,
	})
	if err != nil {
		s.failsf("reading %s: %w", key, err)

		return nil
	}

	return out.Item
}

// unchanged stops the story if a record is not what it was, attribute for attribute.
func (s *stage) unchanged(ctx context.Context, paymentID string, before item) {
	after := s.read(ctx, s.engine.records, recordKey(paymentID))
	if !reflect.DeepEqual(before, after) {
		s.failsf("the record of %s was changed by a worker that had lost it", paymentID)
	}
}
