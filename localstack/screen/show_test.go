package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// paidOnce is what a first run leaves, and a payment of the reader's own to an account of it, as docs/local.md sends one.
func paidOnce(t *testing.T) status {
	t.Helper()

	entries := map[string]pipeline.Entry{"order-17": {Account: "anna", Amount: 100}}

	for id, entry := range sent() {
		if entry.Amount > 0 {
			entries[id] = entry
		}
	}

	if len(entries) != 10 {
		t.Fatalf("%d payments were sent", len(entries)-1)
	}

	return status{entries: entries, accounts: pipeline.AccountsOf(entries)}
}

func TestScreenShowsAllOfThePipeline(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")

	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	born := now.Add(-90 * time.Second)
	s := status{
		now:       now,
		queue:     pipeline.Depth{Waiting: 1, Hidden: 2},
		letters:   pipeline.Depth{Waiting: 1},
		announced: pipeline.Depth{Waiting: 1},
		dead:      []string{poison},
		accounts:  map[string]pipeline.Account{"anna": {Balance: 100, Payments: 1}},
		records: map[string]pipeline.Record{
			"p-01": {State: "COMPLETED", Born: born, Lease: now.Add(time.Hour), Attempts: 1, Unsent: 2},
			poison: {State: "FAILED", Born: born, Attempts: 1, Err: "not above 0"},
			"p-08": {State: "INPROGRESS", Born: born, Lease: now.Add(9500 * time.Millisecond), Attempts: 1},
			"p-09": {State: "INPROGRESS", Born: born, Lease: now.Add(-4 * time.Second), Attempts: 2},
			"p-10": {State: "INPROGRESS", Born: born, Attempts: 1, Err: "timeout"},
		},
	}

	var out strings.Builder
	if err := s.show(&out, "payments"); err != nil {
		t.Fatal(err)
	}

	want := `
payments on http://127.0.0.1:4566

QUEUE         1 waiting, 2 that failed or are at work
DEAD LETTERS  1 p-07
CAPTURED      1 announced, 2 unsent

RECORDS  5
key      state       age    lease        attempts  last failure
p-01     COMPLETED   1m30s  -            1         
p-07     FAILED      1m30s  -            1         not above 0
p-08     INPROGRESS  1m30s  9s left      1         
p-09     INPROGRESS  1m30s  over for 4s  2         
p-10     INPROGRESS  1m30s  given back   1         timeout

LEDGER   1
account  balance  payments
anna     100      1

LOOK: payments that were given up and wait for a person: 1
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}

func TestScreenEndsWithAVerdict(t *testing.T) {
	t.Parallel()

	now := time.Now()
	one := pipeline.Depth{Hidden: 1}
	lost := map[string]pipeline.Record{"p-1": {State: "INPROGRESS", Lease: now.Add(-time.Second)}, "p-2": {State: "INPROGRESS"}}
	held := map[string]pipeline.Record{"p-1": {State: "INPROGRESS", Lease: now.Add(time.Second)}}

	for want, s := range map[string]status{
		"STUCK: nobody works on p-1 p-2, ":                           {records: lost, letters: one},
		"LOOK: announcements that can never be sent as they are: 2":  {records: map[string]pipeline.Record{"p-1": {State: "COMPLETED", Parked: 2}}, letters: one},
		"LOOK: payments that were given up and wait for a person: 1": {letters: one, queue: one},
		"AT WORK: messages not done yet: 1, payments in progress: 2": {records: lost, queue: one},
		"AT WORK: messages not done yet: 0, payments in progress: 1": {records: held},
		"DONE: ": {records: map[string]pipeline.Record{"p-1": {State: "COMPLETED"}}},
	} {
		if s.now = now; !strings.HasPrefix(s.verdict(), want) {
			t.Errorf("got %q, want %q", s.verdict(), want)
		}
	}
}

func TestScreenFailsUnlessEachPaymentIsThereOnce(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		change func(status)
		ok     bool
	}{
		"each once":            {func(status) {}, true},
		"one is counted twice": {func(s status) { s.accounts["anna"] = pipeline.Account{Balance: 1700, Payments: 5} }, false},
		"one is not counted":   {func(s status) { s.accounts["cleo"] = pipeline.Account{Balance: 1200, Payments: 2} }, false},
		"one is missing":       {func(s status) { delete(s.entries, "p-03"); delete(s.accounts, "cleo") }, false},
		"one has another sum":  {func(s status) { s.entries["p-01"] = pipeline.Entry{Account: "anna", Amount: 1} }, false},
		"the poison is paid":   {func(s status) { s.entries[poison] = pipeline.Entry{Account: "ben", Amount: -700} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := paidOnce(t)
			test.change(s)

			if err := s.check(); (err == nil) != test.ok {
				t.Errorf("got %v, want ok %t", err, test.ok)
			}
		})
	}
}
