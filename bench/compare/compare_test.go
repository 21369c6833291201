package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestThePageIsWhatARunHasFound keeps the numbers of the page those of the raw counts. make compare FLAGS=-page writes all three.
func TestThePageIsWhatARunHasFound(t *testing.T) {
	t.Parallel()

	var r report
	if err := json.Unmarshal([]byte(read(t, "docs", rawFile)), &r); err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(read(t, "docs", pageFile), firstLine)
	printed, _, _ := strings.Cut(rest, lastLine)

	if diff := cmp.Diff(r.tables(), printed); diff != "" {
		t.Errorf("the tables of the page are not those of the raw counts (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(r.plot(), read(t, "docs", plotFile)); diff != "" {
		t.Errorf("the plot is not that of the raw counts (-want +got):\n%s", diff)
	}

	if want := len(scenarios(false)) * len(contenders("", "", "")); len(r.Results) != want {
		t.Errorf("the page has %d rows, want %d: each consumer in each scenario", len(r.Results), want)
	}

	for i, sc := range scenarios(false) {
		if v := r.Results[i*len(contenders("", "", ""))]; v.Scenario != sc.name || v.Payments != sc.payments {
			t.Errorf("the page has %d payments of %s, the program %d of %s", v.Payments, v.Scenario, sc.payments, sc.name)
		}
	}

	if err := r.judge(); err != nil {
		t.Error(err)
	}
}

func TestTheVersionsOfThePageAreThoseThatAreInstalled(t *testing.T) {
	t.Parallel()

	for file, want := range map[string][]string{
		"bench/compare/workers/requirements.txt": {"aws-lambda-powertools==3.37.0\n", "boto3==1.44.8\n"},
		"bench/compare/workers/package.json":     {`"@aws-lambda-powertools/batch": "2.35.0"`, `"@aws-lambda-powertools/idempotency": "2.35.0"`},
		"localstack/dynamodb-local.sh":           {"version=3.3.1\n"},
	} {
		for _, text := range want {
			if !strings.Contains(read(t, file), text) {
				t.Errorf("%s lacks %q, which the page names: %s", file, text, versions)
			}
		}
	}
}

func read(t *testing.T, name ...string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(append([]string{root}, name...)...))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

func TestWhoseADoubleIs(t *testing.T) {
	t.Parallel()

	now := time.Now()
	ended := func(struck bool) *invocation { return &invocation{struck: struck, ended: now.Add(time.Second)} }
	one := ended(false)

	for name, c := range map[string]struct {
		first, second effect
		outage        [2]time.Time
		others        bool
	}{
		"two runs that nothing hit":                {first: effect{by: ended(false), at: now}, second: effect{by: ended(false)}},
		"a run after one that died":                {first: effect{by: ended(true), at: now}, second: effect{by: ended(false)}, others: true},
		"a run that was stopped before its effect": {first: effect{by: ended(false), at: now}, second: effect{by: ended(true)}, others: true},
		"a handler that did not get the answer":    {first: effect{by: ended(false), at: now, unheard: true}, second: effect{by: ended(false)}, others: true},
		"the SDK sends the effect again":           {first: effect{by: one, at: now}, second: effect{by: one}, others: true},
		"an outage before the first run had ended": {
			first: effect{by: ended(false), at: now}, second: effect{by: ended(false)},
			outage: [2]time.Time{now.Add(time.Millisecond), now.Add(time.Minute)}, others: true,
		},
		"an outage after the first run had ended": {
			first: effect{by: ended(false), at: now}, second: effect{by: ended(false)},
			outage: [2]time.Time{now.Add(2 * time.Second), now.Add(time.Minute)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := &world{outage: c.outage}
			if got := w.unavoidable([]effect{c.first}, c.second); got != c.others {
				t.Errorf("unavoidable: got %t, want %t", got, c.others)
			}
		})
	}
}

func TestWhatBecomesOfAPayment(t *testing.T) {
	t.Parallel()

	run := func() effect { return effect{by: &invocation{}} }
	w := &world{
		scenario: scenario{payments: 4},
		queue:    queue{messages: []*message{{payment: payment{ID: "p-0"}}, {payment: payment{ID: "p-1"}, deleted: true}}},
		effects:  map[string][]effect{"p-2": {run()}, "p-3": {run(), run(), run()}},
	}

	got := w.verdict()
	if want := (verdict{Stuck: 1, Lost: 1, DoublesLayer: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestATransactionUnderOneTokenHappensOnce(t *testing.T) {
	t.Parallel()

	w := &world{effects: map[string][]effect{}, tokens: map[string]bool{}}
	for _, token := range []string{"a", "a", "b", "", ""} {
		w.happened(&process{}, token, []string{"p"}, false)
	}

	if got := len(w.effects["p"]); got != 4 {
		t.Errorf("%d effects, want 4: the second one under the token a did not happen", got)
	}
}

func TestATransactionHoldsItsItems(t *testing.T) {
	t.Parallel()

	l := locks{held: map[string]bool{}}
	a := action{TableName: "accounts", Key: map[string]any{"pk": map[string]any{"S": "a"}}}
	b := action{TableName: "records", Item: map[string]any{"id": map[string]any{"S": "b"}, "other": 1}}

	release, conflict := l.hold("TransactWriteItems", []action{a, b})
	if conflict != -1 {
		t.Fatalf("got a conflict at %d, want none", conflict)
	}

	for operation, want := range map[string]int{"UpdateItem": 0, "TransactWriteItems": 0, "GetItem": -1} {
		if _, got := l.hold(operation, []action{a}); got != want {
			t.Errorf("%s of a held item: got %d, want %d", operation, got, want)
		}
	}

	release()

	if _, got := l.hold("UpdateItem", []action{a}); got != -1 {
		t.Errorf("after the transaction: got a conflict at %d, want none", got)
	}
}

func TestWriteUnits(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		operation string
		body      requestBody
		status    int
		answer    string
		want      float64
	}{
		"a write":                  {"UpdateItem", requestBody{}, http.StatusOK, `{"ConsumedCapacity":{"CapacityUnits":1}}`, 1},
		"a read":                   {"GetItem", requestBody{}, http.StatusOK, `{"ConsumedCapacity":{"CapacityUnits":1}}`, 0},
		"a refused write":          {"PutItem", requestBody{}, http.StatusBadRequest, `{}`, 1},
		"a transaction":            {"TransactWriteItems", requestBody{}, http.StatusOK, `{"ConsumedCapacity":[{"CapacityUnits":2},{"CapacityUnits":4}]}`, 6},
		"a cancelled one":          {"TransactWriteItems", requestBody{TransactItems: make([]transactionItem, 3)}, http.StatusBadRequest, `{}`, 6},
		"statements, of which one": {"BatchExecuteStatement", requestBody{}, http.StatusOK, `{"ConsumedCapacity":[{"CapacityUnits":1}],"Responses":[{},{"Error":{"Code":"DuplicateItem"}}]}`, 2},
	} {
		var m measure
		if m.count(c.operation, c.body, c.status, []byte(c.answer)); m.units != c.want {
			t.Errorf("%s: got %v units, want %v", name, m.units, c.want)
		}
	}
}

func TestARunFailsWhereTheLibraryOrTheFaultsDo(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		verdict verdict
		want    bool
	}{
		"a double of the library's":               {verdict{Contender: nameLibrary, DoublesLayer: 1}, true},
		"a double that nobody can avoid":          {verdict{Contender: nameLibrary, DoublesOthers: 1}, false},
		"that double with staging":                {verdict{Contender: nameStaged, DoublesOthers: 1}, true},
		"a payment that is lost":                  {verdict{Contender: nameStaged, Lost: 1}, true},
		"a payment that is stuck":                 {verdict{Contender: nameLibrary, Stuck: 1}, true},
		"a double of another's":                   {verdict{Contender: namePython, DoublesLayer: 1}, false},
		"kills that hurt nobody":                  {verdict{Contender: nameConditional, Scenario: "kills"}, true},
		"kills that hurt whom they must":          {verdict{Contender: nameConditional, Scenario: "kills", Lost: 2}, false},
		"conditional puts without a dead process": {verdict{Contender: nameConditional, Scenario: "calm"}, false},
	} {
		if err := (report{Results: []verdict{c.verdict}}).judge(); (err != nil) != c.want {
			t.Errorf("%s: got %v, want an error: %t", name, err, c.want)
		}
	}
}

func TestAReceivedMessageIsHidden(t *testing.T) {
	t.Parallel()

	now := time.Now()
	q := queue{messages: []*message{{id: "a"}, {id: "b", visible: now.Add(time.Second)}}}

	batch, left := q.receive(now)
	if len(batch) != 1 || batch[0].id != "a" || left != 2 {
		t.Fatalf("got %d messages of %d, want a of 2", len(batch), left)
	}

	if again, _ := q.receive(now); len(again) > 0 {
		t.Errorf("got %s twice", again[0].id)
	}

	q.delete(batch, map[string]bool{"a": true})

	if again, left := q.receive(now.Add(visibility)); len(again) != 2 || left != 2 || again[0].receipts != 2 {
		t.Errorf("got %d of %d after the visibility time-out, want both, a for the second time", len(again), left)
	}

	q.delete(q.messages, nil)

	if _, left := q.receive(now.Add(time.Hour)); left != 0 {
		t.Errorf("%d messages are left, want none", left)
	}
}
