package report_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

var update = flag.Bool("update", false, "write the pages of testdata anew; look at what has changed")

// ofEveryKind are records with each status, each age at and beside the bounds, each number of attempts, and each reason for a
// second run. Some times are not known.
func ofEveryKind() (all []operate.View) {
	add := func(v operate.View) {
		if v.Key == "" {
			v.Key = fmt.Sprintf("p-%d", len(all))
		}

		v.Hash = fmt.Sprintf("sha256:%012d", len(all))
		all = append(all, v)
	}

	for i, age := range []time.Duration{
		-time.Second, 0, time.Minute - 1, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7*24*time.Hour - 1, 7 * 24 * time.Hour,
		30 * 24 * time.Hour,
	} {
		at := now.Add(-age)
		add(operate.View{Status: operate.Held, State: "INPROGRESS", Attempts: i, Born: at, Lease: now.Add(time.Minute), ResultBytes: i})
		add(operate.View{Status: operate.Stuck, State: "INPROGRESS", Attempts: 1, Born: now.Add(-90 * time.Hour), Lease: at, Cause: "no answer"})
		add(operate.View{Status: operate.Released, State: "INPROGRESS", Attempts: 1, Born: at, Cause: fmt.Sprintf("p-%d was refused", 3*i+2)})
		add(operate.View{
			Status: operate.Failed, State: "FAILED", Attempts: 1, Born: at, Last: &operate.Change{What: "fail"},
			Cause: fmt.Sprintf("account %d of p-%d is closed", i, len(all)),
		})
		add(operate.View{
			Status: operate.Completed, State: "COMPLETED", Attempts: 1, Born: at.Add(-time.Duration(i*i*i) * 37 * time.Millisecond), Done: at, ResultBytes: 700 * i,
		})
	}

	add(operate.View{Status: operate.Expired, State: "COMPLETED", Attempts: 1, Born: now.Add(-40 * 24 * time.Hour), Done: now.Add(-40 * 24 * time.Hour)})
	add(operate.View{Status: operate.Completed, State: "COMPLETED", Attempts: 1, Done: now.Add(-time.Hour), Last: &operate.Change{What: "send"}})
	add(operate.View{Status: operate.Completed, State: "COMPLETED", Attempts: -1, ResultBytes: 40_000_000})
	add(operate.View{Key: strings.Repeat("k", 750), Status: operate.Completed, State: "COMPLETED", Attempts: 3, ResultBytes: 100, Born: now.Add(-3 * time.Hour), Done: now.Add(-2 * time.Hour)})
	add(operate.View{Status: operate.Corrupt})

	second := func(run operate.SecondRun) {
		run.LeaseEnded = now.Add(-time.Duration(len(all)) * time.Hour)
		add(operate.View{
			Status: operate.Completed, State: "COMPLETED", Attempts: 2, Born: now.Add(-99 * time.Hour), Done: now.Add(-98 * time.Hour), SecondRun: &run,
			Last: &operate.Change{What: "release"},
		})
	}

	for _, why := range []operate.Reason{
		operate.TakenOver, operate.WasReleased, operate.WasReopened, operate.WasChanged, operate.WasRetried, operate.ReasonAbsent, "another one",
	} {
		second(operate.SecondRun{Why: []operate.Reason{why}})
	}

	second(operate.SecondRun{Why: []operate.Reason{operate.TakenOver, operate.WasRetried}, Pending: true, Staged: true})
	second(operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, Staged: true})

	unsent := func(done time.Time, messages ...operate.Message) {
		add(operate.View{Status: operate.Completed, State: "COMPLETED", Attempts: 1, Born: now.Add(-9 * time.Hour), Done: done, Messages: messages})
	}

	parked := operate.Message{To: "audit", Parked: true, Cause: "queue 17 is gone"}
	unsent(now.Add(-7*time.Hour), operate.Message{To: "receipts"}, operate.Message{To: "audit"})
	unsent(now.Add(-8*time.Hour), operate.Message{To: "receipts"}, parked)
	unsent(now.Add(-48*time.Hour), operate.Message{To: "receipts"})
	unsent(now.Add(-6*time.Hour), operate.Message{To: "receipts"})
	unsent(time.Time{}, operate.Message{To: "mail"})
	unsent(now.Add(-5*time.Hour), parked, operate.Message{To: "receipts", Parked: true, Cause: "queue 18 is gone"})

	return all
}

// difference says where a page begins to differ.
func difference(want, got string) string {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")

	for i := range min(len(wants), len(gots)) {
		if gots[i] != wants[i] {
			return fmt.Sprintf("line %d is\n%s\nand was\n%s", i+1, gots[i], wants[i])
		}
	}

	return fmt.Sprintf("it has %d lines and had %d", len(gots), len(wants))
}

// withoutStyle leaves out the style of a page, which has nothing of its records.
func withoutStyle(page string) string {
	head, rest, _ := strings.Cut(page, "<style>")
	_, body, _ := strings.Cut(rest, "</style>\n")

	return head + body
}

// The pages of testdata are as they were, whatever is drawn, added up, cut off and rounded.
func TestPagesAreAsTheyWere(t *testing.T) {
	t.Parallel()

	everything := report.Reading{
		Table: "records", Namespace: "payments", Read: 90, Units: 12.5, Partial: true, About: 4711, Notes: []string{"CloudWatch: access denied"},
		Stream: &report.Stream{
			Kinds: map[string]int{"new claim": 70, "completion": 60, "takeover": 3}, Judged: 133, Violations: 1, Late: 2, Gap: 3,
			From: now.Add(-23 * time.Hour), To: now.Add(-time.Minute), Partial: true,
		},
		Consumed: &report.Consumed{
			Begin: now.Add(-4 * time.Hour), Writes: []float64{10, 0, 2.5, 40}, Reads: []float64{1, 0.5, 0, 7}, Throttled: 12, Resolution: time.Hour,
		},
	}

	many := func() (all []operate.View) {
		for i := range 30 {
			all = append(all, operate.View{
				Key: fmt.Sprintf("k-%d", i), Status: operate.Failed, State: "FAILED", Attempts: 1, Born: now.Add(-time.Duration(i/2) * time.Hour),
				Cause: strings.Repeat(string(rune('a'+i%26)), 150+i),
			})
		}

		all[29].Key = strings.Repeat("long", 50)

		for i := range 502 { // more texts than are told apart
			all = append(all, operate.View{Status: operate.Failed, State: "FAILED", Attempts: 1, Born: now, Cause: strings.Repeat("x", 100) + string(rune('一'+i%501))})
		}

		return all
	}

	for name, c := range map[string]struct {
		records  []operate.View
		showKeys bool
		reading  report.Reading
	}{
		"empty":      {nil, false, report.Reading{Table: "records", Namespace: "payments"}},
		"everything": {ofEveryKind(), false, everything},
		"keys":       {ofEveryKind()[:20], true, report.Reading{Table: "records", Read: 2000, Units: 1}},
		"many":       {many(), true, report.Reading{Table: "records", Namespace: "orders", Read: 30, Units: 4, Stream: &report.Stream{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			totals := report.NewTotals(now, c.showKeys)
			for _, v := range c.records {
				totals.Add(&v)
			}

			got, _ := page(t, totals, c.reading)
			if name != "empty" { // one page has the style of all
				got = withoutStyle(got)
			}

			file := "testdata/page-" + name + ".html"

			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			if got != string(want) {
				t.Errorf("%s is another page; if it should be, go test ./internal/report -update writes it anew:\n%s", file, difference(string(want), got))
			}
		})
	}
}
