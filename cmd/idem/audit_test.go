package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/tablestream"
	"github.com/idemddb/go-idemddb/localstack/auditing"
)

// streaming is a table with a stream that has every change.
func streaming(t *testing.T) *night {
	t.Helper()

	n := onDynamoDBLocal(t)
	if err := auditing.Enable(t.Context(), n.client, n.table); err != nil {
		t.Fatal(err)
	}

	return n
}

// item is the record of a key as it is stored.
func (n *night) item(key string) map[string]types.AttributeValue {
	n.t.Helper()

	in, err := n.store.GetItemInput(key)
	if err != nil {
		n.t.Fatal(err)
	}

	out, err := n.client.GetItem(n.t.Context(), in)
	if err != nil {
		n.t.Fatal(err)
	}

	return out.Item
}

// put writes an item as another program does, without any condition.
func (n *night) put(item map[string]types.AttributeValue) {
	n.t.Helper()

	if _, err := n.client.PutItem(n.t.Context(), &dynamodb.PutItemInput{TableName: &n.table, Item: item}); err != nil {
		n.t.Fatal(err)
	}
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func TestAnAuditOfATableWithoutFaultsSaysWhatHappened(t *testing.T) {
	t.Parallel()

	n := streaming(t)
	n.complete("p-1")
	n.complete("p-2")
	n.claim("p-3", "8f6e1c1e")
	n.clock.Advance(time.Minute)
	n.complete("p-3")
	n.put(map[string]types.AttributeValue{"pk": text("order-7"), "note": text("no record")})

	n.idem("audit")
	n.expect(exitDone, "audit: 7 changes judged: 3 new claim, 1 takeover, 3 completion; 0 violations, 0 late, 0 gaps; "+
		"1 changes of other items; times not judged", "8 changes read in ")

	n.idem("audit", "--json")

	var report struct {
		Judged int            `json:"judged"`
		Kinds  map[string]int `json:"kinds"`
		AtEnd  bool           `json:"read_to_its_end"`
	}
	if err := json.Unmarshal([]byte(n.lastOut), &report); err != nil || report.Judged != 7 || report.Kinds["takeover"] != 1 || !report.AtEnd {
		t.Errorf("%s: got %+v, %v", n.lastOut, report, err)
	}

	// Without a namespace, what looks like a record is one.
	n.idem("audit", "--namespace", "")
	n.expect(exitDone, "audit: 7 changes judged")
	n.idem("audit", "--namespaces", "refunds,payments")
	n.expect(exitDone, "audit: 7 changes judged")
	n.idem("audit", "--old-workers", "--lease", "30s")
	n.expect(exitDone, "audit: 7 changes judged")
	n.idem("audit", "--namespaces", "refunds")
	n.expect(exitDone, "audit: 0 changes judged", "8 changes of other items")
}

// Each fault is one that only the stream shows. The operator reads which payment to look at.
func TestAnAuditFindsEachFault(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		plant func(n *night)
		flags []string
		want  []string
	}{
		"another program writes records": {
			func(n *night) {
				n.put(map[string]types.AttributeValue{"pk": text("payments#p-9"), "status": text("DONE"), "expiration": number("1767322800")})
			},
			nil, []string{"VIOLATION (state)"},
		},
		"an old item is written back over a newer one": {
			func(n *night) {
				n.claim("p-9", "8f6e1c1e")
				old := n.item("p-9")
				n.clock.Advance(time.Minute)
				n.complete("p-9")
				n.put(old)
			},
			nil, []string{"takes the key over", "completes the key", "VIOLATION"},
		},
		"a person edits a record": {
			func(n *night) {
				n.complete("p-9")
				edited := n.item("p-9")
				edited["st"] = text("INPROGRESS")
				n.put(edited)
			},
			nil, []string{"completes the key", "st changed", "VIOLATION"},
		},
		"a person deletes a record": {
			func(n *night) {
				n.complete("p-9")

				in, err := n.store.GetItemInput("p-9")
				if err == nil {
					_, err = n.client.DeleteItem(n.t.Context(), &dynamodb.DeleteItemInput{TableName: &n.table, Key: in.Key})
				}

				if err != nil {
					n.t.Fatal(err)
				}
			},
			nil, []string{"The record is deleted. VIOLATION (deletion)"},
		},
		"workers of an older version": {
			func(n *night) {
				n.claim("p-9", "8f6e1c1e")
				older := n.item("p-9")
				older["own"], older["fence"], older["lease"] = text("another/token"), number("1767322800002"), number("1767322920000")
				older["prev"], older["att"], older["exp"] = number("1767322830000"), number("2"), number("1767927720")
				n.put(older)
			},
			nil, []string{"VIOLATION (sets): In a change of the kind \"takeover\", \"took\""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			n := streaming(t)
			n.complete("p-8")
			c.plant(n)
			n.idem(append([]string{"audit"}, c.flags...)...)
			n.expect(exitRefused, append(c.want, "payments#p-9 (hash sha256:Nrs9CSgXRKWb)", "1 violations", "idem: violations: 1")...)

			if strings.Contains(n.lastOut, "p-8") {
				t.Errorf("the story of a key without a violation is told:\n%s", n.shown())
			}

			n.idem(append([]string{"audit", "--json"}, c.flags...)...)
			n.expect(exitRefused, `"partition":"payments#p-9"`, `"violations":[{"rule":`)
			n.idem("audit", "p-8")
			n.expect(exitDone, "payments#p-8")
		})
	}
}

// The story of a key is printed in the order of its changes, also when its record is gone.
func TestAnAuditTellsTheStoryOfAKey(t *testing.T) {
	t.Parallel()

	n := streaming(t)
	n.claim("#123", "8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b")
	n.complete("p-8")
	n.clock.Advance(time.Minute)

	if err := n.claim("#123", "c2a7b1de").Release(t.Context(), errors.New("the bank is closed")); err != nil {
		t.Fatal(err)
	}

	n.complete("#123")
	n.idem("forget", "123", "--why", "a test payment", "--yes")
	n.expect(exitDone)
	n.screen.Reset()

	for _, args := range [][]string{{"123"}, {"--hash", record.KeyHash("#123")}, {"payments##123"}} {
		n.idem(append([]string{"audit"}, args...)...)
		n.expect(exitDone, "payments##123", "claims the key with fencing token", "takes the key over from \"8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b/",
			"releases the key", "claims the key again", "completes the key", `The operator "anna" writes forget (stamp), because "a test payment".`,
			"The record is deleted.", "audit: 7 changes judged")

		if strings.Contains(n.lastOut, "p-8") {
			t.Errorf("another key is told:\n%s", n.shown())
		}

		n.screen.Reset()
	}

	n.idem("audit", "p-7")
	n.expect(exitNothing, "the stream has no change of this key; DynamoDB keeps a change for 24 hours")
	n.idem("audit", "--exact", "123")
	n.expect(exitNothing)
	n.idem("audit", "--json", "123")
	n.expect(exitDone, `"partition":"payments##123","story":["`)
}

func TestAnAuditThatDoesNotComeToTheEndSaysSo(t *testing.T) {
	t.Parallel()

	t.Run("because there is no stream", func(t *testing.T) {
		t.Parallel()

		n := onDynamoDBLocal(t)
		n.idem("audit")
		n.expect(exitError, "has no stream: set the table's StreamSpecification to StreamEnabled: true and StreamViewType: NEW_AND_OLD_IMAGES")
	})
	t.Run("because the stream has not both items", func(t *testing.T) {
		t.Parallel()

		n := onDynamoDBLocal(t)
		if _, err := n.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &n.table, StreamSpecification: &types.StreamSpecification{
			StreamEnabled: new(true), StreamViewType: types.StreamViewTypeNewImage,
		}}); err != nil {
			t.Fatal(err)
		}

		n.idem("audit")
		n.expect(exitError, "has NEW_IMAGE: disable it, and then set the table's StreamSpecification")
	})
	t.Run("because it was denied", func(t *testing.T) {
		t.Parallel()

		n := streaming(t)
		n.complete("p-9")

		for _, action := range []string{"DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"} {
			n.aws.set(func(c *cloud) { c.denied = action })
			n.idem("audit")
			n.expect(exitError, "AccessDeniedException")
			n.idem("policy", "audit")

			if !strings.Contains(n.lastOut, `"dynamodb:`+action+`"`) {
				t.Errorf("%s is in no policy:\n%s", action, n.lastOut)
			}
		}
	})

	for name, c := range map[string]struct {
		args  []string
		code  int
		wants []string
	}{
		"because the budget ended": {
			[]string{"--budget", "1"}, exitError,
			[]string{"audit: 2 changes judged", "the budget ended before the stream was read to its end; raise --budget"},
		},
		"which is not so where the changes are young": {[]string{"--since", "1h"}, exitDone, []string{"audit: 2 changes judged"}},
		"because a time is wrong": {
			[]string{"--resolution", "-1s"}, exitError, []string{"--resolution: must not be negative"},
		},
		"because a namespace is wrong": {
			[]string{"--namespaces", "a#b"}, exitError, []string{`--namespaces: "a#b" must not contain`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			n := streaming(t)
			n.complete("p-9")
			n.idem(append([]string{"audit"}, c.args...)...)
			n.expect(c.code, c.wants...)
		})
	}
}

// A stream that is followed is read until the operator interrupts it, and its violations are printed when they come.
func TestAnAuditFollowsTheStream(t *testing.T) {
	t.Parallel()

	n := streaming(t)
	n.complete("p-9")

	edited := n.item("p-9")
	edited["fence"] = number("1")
	n.put(edited)

	n.aws.set(func(c *cloud) { c.scans = 4 })
	n.idem("audit", "--follow")
	n.expect(exitRefused, "payments#p-9", "VIOLATION", "idem: violations: 1; the stream was not read to its end: it was interrupted")

	n.aws.set(func(c *cloud) { c.scans = 4 })
	n.idem("audit", "--follow", "--namespaces", "refunds")
	n.expect(exitError, "the stream was not read to its end")
}

func TestAnAuditOfADisabledStreamEnds(t *testing.T) {
	t.Parallel()

	n := streaming(t)
	n.complete("p-9")

	if _, err := n.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: &n.table, StreamSpecification: &types.StreamSpecification{StreamEnabled: new(false)},
	}); err != nil {
		t.Fatal(err)
	}

	n.idem("audit", "--follow")
	n.expect(exitDone, "audit: 2 changes judged", "The stream is disabled: what was changed after that is not in it.")
}

// The drill of the runbook: somebody has edited a record, and an audit says which payment to look at.
func TestDrillAnAudit(t *testing.T) {
	t.Parallel()

	n := streaming(t)
	n.complete("p-8")
	n.claim("p-9", "8f6e1c1e")
	n.clock.Advance(time.Minute)
	n.complete("p-9")

	edited := n.item("p-9")
	edited["st"] = text("INPROGRESS")
	n.put(edited)

	n.idem("audit", "--since", "2h")
	n.expect(exitRefused)
	n.onThePage("audit")
	n.screen.Reset()
	n.idem("audit", "p-8")
	n.expect(exitDone)
	n.onThePage("story")
}

// DynamoDB Local has only the minute of a change, but who follows its stream knows when a change came: a worker's clock that is
// ahead is found.
func TestAnAuditThatFollowsFindsAClockThatIsAhead(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		ahead time.Duration
		code  int
		want  string
	}{
		"it is ahead": {5 * time.Second, exitRefused, "VIOLATION (clock ahead): The clock of the worker, by born,"},
		"it is right": {0, exitError, "; 0 violations, 0 late, 0 gaps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			n := streaming(t)
			n.clock.Advance(time.Since(n.clock.Now()) + c.ahead)

			began := time.Now()
			n.aws.set(func(aws *cloud) {
				aws.scans = 20
				aws.reads = func(page int) { // in one of these moments the machine is quick enough
					n.clock.Advance(time.Since(began))
					began = time.Now()

					if _, _, err := n.store.Claim(context.WithoutCancel(t.Context()), "p-"+strconv.Itoa(page), nil); err != nil {
						t.Error(err)
					}
				}
			})
			n.idem("audit", "--follow")
			n.expect(c.code, c.want)

			n.aws.set(func(aws *cloud) { aws.reads = nil })
			n.idem("audit")
			n.expect(exitDone, "times not judged")
		})
	}
}

// DynamoDB says when a change was made. An engine on this machine cuts that time to minutes, so there the time of arrival counts,
// unless somebody says how exact its times are.
func TestChangesOfAWSHaveTheTimeThatDynamoDBSays(t *testing.T) {
	t.Parallel()

	const remote, local = "https://dynamodb.eu-west-1.amazonaws.com", "http://localhost:8000"

	for _, test := range []struct {
		endpoint   string
		follow     bool
		resolution time.Duration // that was typed
		byArrival  bool
		want       time.Duration
	}{
		{"", true, 0, false, time.Second},
		{remote, true, 0, false, time.Second},
		{remote, false, 0, false, time.Second},
		{local, true, 0, true, tablestream.Fresh + 500*time.Millisecond},
		{local, true, 2 * time.Second, false, 2 * time.Second},
		{local, false, 0, false, time.Minute},
		{local, false, 2 * time.Second, false, 2 * time.Second},
	} {
		cfg := aws.Config{Region: "eu-west-1"}
		if test.endpoint != "" {
			cfg.BaseEndpoint = &test.endpoint
		}

		u := &auditRun{app: &app{now: time.Now}, follow: test.follow, resolution: test.resolution}
		d := connect(cfg)

		if byArrival, got := u.reading(d).Clock != nil, u.options(d).Resolution; byArrival != test.byArrival || got != test.want {
			t.Errorf("%+v: by the time of arrival: %v, resolution %v", test, byArrival, got)
		}
	}
}

// An audit that nobody watches has a budget of its own.
func TestAnAuditHasABudgetUnlessItFollows(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		follow      bool
		typed, want int
	}{{false, 0, defaultPages}, {false, 7, 7}, {true, 0, 0}, {true, 7, 7}} {
		u := &auditRun{app: &app{now: time.Now}, follow: test.follow, budget: test.typed}
		if got := u.reading(connect(aws.Config{Region: "eu-west-1"})).Budget; got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

// What was left out was read and paid all the same. Progress is shown once a second.
func TestAnAuditCountsWhatItLeavesOut(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		checker, err := audit.NewChecker(audit.Options{})
		if err != nil {
			t.Fatal(err)
		}

		var log strings.Builder

		u := &auditRun{app: &app{log: &log}, checker: checker}
		r := tablestream.Result{Changes: 3, Skipped: 2, Requests: 1, Last: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}
		report := u.progress()

		for range 2 {
			report(r)
			<-time.After(time.Second)
			report(r)
		}

		u.ended(r)

		const line = "read 5 changes in 1 requests, up to 2026-01-02 03:00:00Z, 0 violations\n"
		if got, want := log.String(), line+line+"5 changes read in 1 requests (about $0.000000), 2 of them from before --since.\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// The namespaces of --namespaces stand instead of the one of --namespace.
func TestAnAuditJudgesTheNamespacesThatAreNamed(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		one           string
		several, want []string
	}{
		{"payments", nil, []string{"payments"}},
		{"payments", []string{"api", "orders"}, []string{"api", "orders"}},
		{"", nil, nil},
	} {
		u := &auditRun{app: &app{now: time.Now}, namespaces: c.several}
		u.app.flags.namespace = c.one

		if got := u.options(connect(aws.Config{Region: "eu-west-1"})).Namespaces; !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
