package operate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// A budget ends the list, and its cursor goes on, until each record was seen once.
func TestListOfALargeTableStaysWithinItsBudget(t *testing.T) {
	t.Parallel()

	for count, budget := range map[int]float64{4_000: 50, 20_000: 300} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()

			if testing.Short() && count > 10_000 {
				t.Skip("the small table shows the same")
			}

			testBudget(t, count, budget)
		})
	}
}

func testBudget(t *testing.T, count int, budget float64) {
	t.Helper()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})

	d.complete("p")
	record := d.stored("p")

	for i := range count - 1 {
		record["pk"] = s(fmt.Sprintf("payments#p-%06d", i))
		d.put(record)
	}

	db.ResetRequests()

	var (
		seen  = map[string]int{}
		last  operate.Progress
		calls int
		total float64
		shown operate.Progress
	)

	for cursor, more := "", true; more; cursor, more = last.Cursor, last.Cursor != "" {
		reports := 0
		p, err := d.List(t.Context(), operate.Selection{
			Status: []operate.Status{operate.Completed}, Budget: budget, Cursor: cursor, Segments: 8,
			Progress: func(p operate.Progress) {
				if reports, shown = reports+1, p; p.Units > budget {
					t.Fatalf("%v units are more than %v", p.Units, budget)
				}
			},
		}, func(v operate.View) error {
			seen[v.Key]++

			return nil
		})
		if err != nil {
			t.Fatal(err)
		}

		// The last call reads what the others left, which may be a page or two.
		ended := p.Cursor == ""
		if shown != p || p.Units > budget || !ended && (reports < 4 || p.Units < budget*0.9) {
			t.Errorf("call %d: progress was reported %d times, as %+v at last: %+v", calls, reports, shown, p)
		}

		if p.Cursor == cursor && cursor != "" {
			t.Fatal("the cursor stands still")
		}

		last, calls, total = p, calls+1, total+p.Units
	}

	if len(seen) != count || calls < 2 || calls > 4 {
		t.Errorf("%d of %d records in %d calls", len(seen), count, calls)
	}

	for key, times := range seen {
		if times != 1 {
			t.Errorf("%s was found %d times", key, times)
		}
	}

	t.Logf("%d records, %d calls, %d requests, %.0f read units", len(seen), calls, len(db.Requests()), total)
}

// A budget that is less than a page of one record reads that page, so that the next call goes on behind it.
func TestEachCallOfASmallBudgetComesFurther(t *testing.T) {
	t.Parallel()

	d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})

	for i := range 3 {
		d.claim(fmt.Sprintf("p-%d", i))
	}

	for _, budget := range []float64{0.1, 1, 1.4, 2} {
		selection := operate.Selection{Budget: budget}

		var seen []string

		for range 20 {
			got, p := d.list(selection)
			if seen = append(seen, got...); p.Cursor == "" {
				break
			}

			selection.Cursor = p.Cursor
		}

		if slices.Sort(seen); !slices.Equal(seen, []string{"p-0", "p-1", "p-2"}) {
			t.Errorf("with a budget of %v, 20 calls found %q", budget, seen)
		}
	}
}

// The page that segment 0 asks for takes an hour, and the pages of segment 1 take a second each, so that segment 1 spends what is
// left of the budget while the page of segment 0 is being read.
func TestAPageThatIsBeingReadCountsForTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const budget = 40

		db := idemddbtest.New(nil)
		d := newDesk(t, db, idemddb.Options{})
		d.complete("p")

		record := d.stored("p")
		record["pad"] = s(strings.Repeat("x", 7_900)) // a record costs a read unit, as List expects of the first page
		d.put(record)

		for i := range 4 * budget {
			record["pk"] = s(fmt.Sprintf("payments#p-%d", i))
			d.put(record)
		}

		records := recordsOf(t, d.store, &around.Client{DB: db, Do: around.Before(func(in *dynamodb.ScanInput) error {
			delay := time.Second
			if *in.Segment == 0 {
				delay = time.Hour
			}

			<-time.After(delay)

			return nil
		})})

		p, err := records.List(t.Context(), operate.Selection{Budget: budget, Segments: 2}, func(operate.View) error { return nil })
		if err != nil || p.Units > budget || p.Units < budget*0.9 || p.Cursor == "" {
			t.Errorf("got %+v, %v, want 90 to 100%% of %d units", p, err, budget)
		}

		// Behind the first page, less is left than the price of a record.
		if _, p := d.list(operate.Selection{Budget: 1.6, Segments: 1}); p.Units > 1.6 {
			t.Errorf("a budget of 1.6 units was exceeded: %v", p.Units)
		}
	})
}

// The index has no cursor, so that a budget that ends is an error, and not the end of the list.
func TestAListByTheIndexStaysWithinItsBudget(t *testing.T) {
	onEachEngine(t, idemddb.Options{UnsentIndex: "unsent"}, func(d *desk) {
		t := d.t
		for i := range 10 {
			d.announce(fmt.Sprintf("p-%d", i))
		}

		p, err := d.List(t.Context(), operate.Selection{Unsent: true, Budget: 6}, func(operate.View) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "raise Selection.Budget") || p.Units > 15 || p.Found == 10 {
			t.Errorf("got %+v, %v", p, err)
		}

		if _, err := d.List(t.Context(), operate.Selection{Unsent: true, Cursor: "W10"}, nil); err == nil || !strings.Contains(err.Error(), "Selection.Cursor") {
			t.Errorf("a cursor: %v", err)
		}
	})
}

// The budget is used up when the record would be read. With a little more of it the record is read, and the list is complete.
func TestAListByTheIndexEndsWithItsBudget(t *testing.T) {
	t.Parallel()

	d := newDesk(t, idemddbtest.New(nil), idemddb.Options{UnsentIndex: "unsent"})
	d.announce("p-1")

	var read operate.Progress

	d.list(operate.Selection{Unsent: true, Progress: func(p operate.Progress) { read = p }})

	before := read.Units - 1 // the record takes one read unit

	p, err := d.List(t.Context(), operate.Selection{Unsent: true, Budget: before}, func(operate.View) error { return nil })
	if !errors.Is(err, operate.ErrBudget) || !strings.HasPrefix(err.Error(), "operate: ") || p.Read != 0 || p.Units != before {
		t.Errorf("got %+v, %v, want %v after %v read units", p, err, operate.ErrBudget, before)
	}

	if got, _ := d.list(operate.Selection{Unsent: true, Budget: before + 0.5}); len(got) != 1 {
		t.Errorf("got %q, want the record", got)
	}
}
