package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

func paidOnce() map[string]pipeline.Account {
	return map[string]pipeline.Account{
		"anna": {Balance: 1500, Payments: 3}, "ben": {Balance: 1500, Payments: 3}, "cleo": {Balance: 1800, Payments: 3},
	}
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
		change func(map[string]pipeline.Account)
		ok     bool
	}{
		"each once":                   {func(map[string]pipeline.Account) {}, true},
		"other accounts do not count": {func(a map[string]pipeline.Account) { a["dan"] = pipeline.Account{Balance: 1, Payments: 1} }, true},
		"one twice":                   {func(a map[string]pipeline.Account) { a["anna"] = pipeline.Account{Balance: 1600, Payments: 4} }, false},
		"one missing":                 {func(a map[string]pipeline.Account) { delete(a, "cleo") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			accounts := paidOnce()
			test.change(accounts)

			if err := (status{accounts: accounts}).check(); (err == nil) != test.ok {
				t.Errorf("got %v, want ok %t", err, test.ok)
			}
		})
	}
}
