package main

import (
	"strings"
	"testing"

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

	s := status{
		queue:     pipeline.Depth{Waiting: 1, Hidden: 2},
		letters:   pipeline.Depth{Waiting: 1},
		announced: pipeline.Depth{Waiting: 1},
		dead:      []string{poison},
		records:   map[string]pipeline.Record{"p-01": {State: "COMPLETED", Attempts: 1, Unsent: 2}, poison: {State: "FAILED", Attempts: 1, Err: "not above 0"}},
		accounts:  map[string]pipeline.Account{"anna": {Balance: 100, Payments: 1}},
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

RECORDS  2
key      state      attempts  last failure
p-01     COMPLETED  1         
p-07     FAILED     1         not above 0

LEDGER   1
account  balance  payments
anna     100      1
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
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
