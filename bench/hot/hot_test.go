package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// TestMain makes the test program a worker, too, because the program starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == workArgument {
		exit(work(context.Background(), os.Stdin, os.Stdout))
	}

	m.Run()
}

func TestBothSidesAreMeasured(t *testing.T) {
	t.Parallel()

	for name, s := range map[string]settings{
		"on few accounts": {accounts: 2}, "on an account each": {}, "with announcements": {accounts: 2, announce: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var out strings.Builder

			s.processes, s.payments, s.twice, s.batch, s.seed, s.rounds = 2, 20, 40, 5, 1, 1
			if err := run(t.Context(), &out, s); err != nil {
				t.Fatal(err)
			}

			for _, r := range rows {
				if !strings.Contains(out.String(), "\n"+r.name+" ") {
					t.Errorf("the table has no %s:\n%s", r.name, out.String())
				}
			}
		})
	}
}

// The figures would be worth nothing if work that is not done, or done twice, were not noticed.
func TestWrongLedgersAreNoticed(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		update string
		key    string
		want   string
	}{
		"as it should be":                  {"ADD refunds :n", "account#account-000000", ""},
		"a payment was added twice":        {"ADD balance :n, payments :n", "account#account-000000", "account-000000 has"},
		"a payment has another entry":      {"ADD amount :n", "payment#payment-000001", "the entry of payment-000001"},
		"an account was credited too much": {"ADD balance :n", "account#account-000001", "account-000001 has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := settings{accounts: 2, payments: 4}
			load := newLoad(s, 1)

			w, err := newWorld(t.Context(), s, 1)
			if err != nil {
				t.Fatal(err)
			}

			t.Cleanup(w.http.Close)

			for _, p := range load.payments {
				add(t, w.engine, "account#"+p.Account, "ADD balance :n, payments :one", p.Amount)
				add(t, w.engine, "payment#"+p.PaymentID, "ADD amount :n", p.Amount)
			}

			add(t, w.engine, test.key, test.update, 1)

			if err := w.check(load.payments); (err == nil) != (test.want == "") || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func add(t *testing.T, db *idemddbtest.DB, key, update string, n int64) {
	t.Helper()

	values := map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: fmt.Sprint(n)}}
	if strings.Contains(update, ":one") {
		values[":one"] = &types.AttributeValueMemberN{Value: "1"}
	}

	if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: new(ledgerTable), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression: &update, ExpressionAttributeValues: values,
	}); err != nil {
		t.Fatal(err)
	}
}

func TestConflictsAreCounted(t *testing.T) {
	t.Parallel()

	canceled := func(codes ...string) error {
		e := &types.TransactionCanceledException{}
		for _, code := range codes {
			e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: &code})
		}

		return e
	}

	for name, test := range map[string]struct {
		request idemddbtest.Request
		want    bool
	}{
		"a transaction with an item that is held": {idemddbtest.Request{Err: canceled("None", "TransactionConflict")}, true},
		"a duplicate":               {idemddbtest.Request{Err: canceled("ConditionalCheckFailed", "None")}, false},
		"a write of a held item":    {idemddbtest.Request{Err: &types.TransactionConflictException{}}, true},
		"a call with one statement": {idemddbtest.Request{Items: []idemddbtest.Request{{}, {Err: &types.TransactionConflictException{}}}}, true},
		"a success":                 {idemddbtest.Request{Items: []idemddbtest.Request{{}}}, false},
	} {
		if got := isConflict(test.request); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestAFailedMessageComesBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		q := newQueue([]events.SQSMessage{received(events.SQSMessage{MessageId: "a"}, 1), received(events.SQSMessage{MessageId: "b"}, 1)})
		q.settle(q.take(2), map[string]bool{"b": true})

		again := q.take(2)
		if len(again) != 1 || again[0].MessageId != "b" || again[0].Attributes["ApproximateReceiveCount"] != "2" || time.Since(start) != visibility {
			t.Errorf("got %v after %v", again, time.Since(start))
		}

		q.settle(again, nil)

		if left := q.take(1); len(left) != 0 || q.returned() != 1 {
			t.Errorf("got %v, %d came back", left, q.returned())
		}
	})
}

func TestAQueueThatIsStoppedDeliversNothing(t *testing.T) {
	t.Parallel()

	q := newQueue([]events.SQSMessage{{MessageId: "a"}})
	q.stop()

	if got := q.take(1); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestSettingsThatMeasureNothingAreRefused(t *testing.T) {
	t.Parallel()

	for name, s := range map[string]settings{
		"no process":         {payments: 1, batch: 1, rounds: 1},
		"no payment":         {processes: 1, batch: 1, rounds: 1},
		"a negative latency": {processes: 1, payments: 1, batch: 1, rounds: 1, latency: -time.Second},
	} {
		if err := run(t.Context(), &strings.Builder{}, s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
