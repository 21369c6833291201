package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

var now = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// page returns the page about some records, without what stands between tags.
func page(t *testing.T, totals *report.Totals, r report.Reading) (source, text string) {
	t.Helper()

	var b bytes.Buffer
	if err := report.Write(&b, totals, r); err != nil {
		t.Fatal(err)
	}

	source = b.String()
	_, body, _ := strings.Cut(source, "<body>")
	text = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")

	return source, strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "&lt;", "<")
}

func expect(t *testing.T, text string, wants ...string) {
	t.Helper()

	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}

	if t.Failed() {
		t.Logf("the page:\n%s", text)
	}
}

func TestEachRecordIsCounted(t *testing.T) {
	t.Parallel()

	totals := report.NewTotals(now, false)
	completed := func(took time.Duration, attempts int, run *operate.SecondRun) operate.View {
		return operate.View{
			Key: "p-1", Hash: "sha256:aaaaaaaaaaaa", Status: operate.Completed, State: "COMPLETED", Attempts: attempts, SecondRun: run,
			Born: now.Add(-2 * time.Hour), Done: now.Add(-2 * time.Hour).Add(took), ResultBytes: 1500,
		}
	}
	takeover := []operate.Reason{operate.TakenOver}

	for _, v := range []operate.View{
		completed(100*time.Millisecond, 1, nil),
		completed(200*time.Millisecond, 1, nil),
		completed(20*time.Second, 1, nil),
		completed(0, 1, nil), // committed without a claim
		completed(time.Hour, 2, &operate.SecondRun{Why: takeover, LeaseEnded: now.Add(-90 * time.Minute)}),
		completed(time.Hour, 2, &operate.SecondRun{Why: takeover, Staged: true}),
		completed(time.Hour, 7, &operate.SecondRun{Why: []operate.Reason{operate.WasRetried}}),
		{Key: "p-2", Hash: "sha256:bbbbbbbbbbbb", Status: operate.Stuck, State: "INPROGRESS", Attempts: 1, Lease: now.Add(-5 * time.Minute), Born: now.Add(-time.Hour)},
		{Key: "p-3", Hash: "sha256:cccccccccccc", Status: operate.Failed, State: "FAILED", Attempts: 1, Cause: "order p-3 of account 17 is closed", Born: now.Add(-time.Hour)},
		{Key: "p-4", Hash: "sha256:dddddddddddd", Status: operate.Failed, State: "FAILED", Attempts: 1, Cause: "order p-4 of account 18 is closed", Born: now.Add(-time.Hour)},
		{Key: "p-5", Hash: "sha256:eeeeeeeeeeee", Status: operate.Completed, State: "COMPLETED", Attempts: 1, Born: now.Add(-26 * time.Hour), Done: now.Add(-26 * time.Hour).Add(time.Millisecond), Messages: []operate.Message{
			{To: "receipts"}, {To: "audit", Parked: true, Cause: "the queue is gone"},
		}},
		{Status: operate.Corrupt},
	} {
		totals.Add(&v)
	}

	_, text := page(t, totals, report.Reading{Table: "records", Namespace: "payments", Read: 12, Units: 6, About: 20})

	expect(t, text,
		"12 records of the namespace among 12 that were read, with 6 read units · the table has about 20 items",
		"1 stuck the lease ran out", "2 failed for good", "1 may have happened twice", "1 messages not sent the oldest for 1d1h", "1 messages parked", "8 completed", "1 not readable",
		"state < 1 min < 10 min < 1 h < 6 h < 1 day < 7 days < 30 days older stuck 1 completed 7 1 failed 2",
		"of the 4 keys whose work began once", "1 others were claimed and completed in one write",
		"half within 90 % within 99 % within longest 112ms", "20s",
		"a run before the last may have had its effects. Compare these with the other system. 1",
		"Completed with staged effects, which happened once. 1", "The handler returned an error and ran again. 1",
		"taken over after a lease ran out 2", "the handler returned an error 1",
		"order (key) of account # is closed 2", "audit: the queue is gone 1", "receipts 1", "1 messages of 1 records. Mend the cause",
		"Leases that ran out and were taken over 1 0 2026-01-02 01:00Z: 1",
		// The claims and completions of four are 3 units each; two with two attempts 5 each; one with seven 15; stuck 1; failed 2 each;
		// p-5 2.
		"of all records that were read 44",
	)

	for _, hidden := range []string{"p-1", "p-2", "p-3", "p-4", "p-5"} {
		if strings.Contains(text, hidden) {
			t.Errorf("the page shows the key %s", hidden)
		}
	}
}

// A number, and a list of parts, stand in a key behind a #, and not in what a handler says of it.
func TestKeysOfEachFormAreHidden(t *testing.T) {
	t.Parallel()

	totals := report.NewTotals(now, false)
	for key, cause := range map[string]string{
		"#4711": "payment 4711 is refused", "##4712": "payment #4712 is refused", `#["c-1",4713,""]`: "payment 4713 of c-1 is refused", "": "it is refused",
	} {
		totals.Add(&operate.View{Key: key, Hash: "sha256:aaaaaaaaaaaa", Status: operate.Failed, Cause: cause, Born: now})
	}

	_, text := page(t, totals, report.Reading{Table: "records", Namespace: "payments"})
	expect(t, text, "payment (key) is refused", "payment (key) of (key) is refused", "it is refused")

	for _, hidden := range []string{"471", "c-1"} {
		if strings.Contains(text, hidden) {
			t.Errorf("the page shows %s:\n%s", hidden, text)
		}
	}
}

func TestKeysAreShownIfThatIsAsked(t *testing.T) {
	t.Parallel()

	totals := report.NewTotals(now, true)
	totals.Add(&operate.View{
		Key: `<script>alert("p-9")</script>`, Hash: "sha256:aaaaaaaaaaaa", Status: operate.Failed, Attempts: 1, Cause: "<b>closed</b>", Born: now.Add(-time.Hour),
	})

	source, _ := page(t, totals, report.Reading{Table: "records", Namespace: "payments", Read: 1, Units: 1})

	expect(t, source, "&lt;script&gt;alert(&#34;p-9&#34;)&lt;/script&gt;", "&lt;b&gt;closed&lt;/b&gt;")

	if strings.Contains(source, "<script") || strings.Contains(source, "<b>closed") {
		t.Errorf("the page has what a record says as markup:\n%s", source)
	}
}

// What stands in the page is all that it needs: no script, no address of another server. Each plot is well-formed.
func TestThePageNeedsNothingElse(t *testing.T) {
	t.Parallel()

	source, _ := page(t, fill(1000, 1000), report.Reading{
		Table: "records", Namespace: "payments", Read: 1000, Units: 500, Partial: true, Notes: []string{"CloudWatch is denied"},
		Stream:   &report.Stream{Kinds: map[string]int{"new claim": 3}, Judged: 3, From: now.Add(-time.Hour), To: now},
		Consumed: &report.Consumed{Begin: now, Resolution: time.Hour, Writes: []float64{1, 2.5, 1234.5}, Reads: []float64{0, 0, 0}, Throttled: 3},
	})

	if found := regexp.MustCompile(`<script|https?://|url\(|@import|<link|<img|<iframe|\bon\w+=`).FindString(source); found != "" {
		t.Errorf("the page has %q", found)
	}

	plots := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(source, -1)
	if len(plots) != 8 {
		t.Errorf("the page has %d plots, want 8", len(plots))
	}

	for _, plot := range plots {
		for d := xml.NewDecoder(strings.NewReader(plot)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}

			if err != nil {
				t.Fatalf("%v in %s", err, plot)
			}
		}
	}

	expect(t, source, "The budget ended before the whole table was read", "CloudWatch is denied", "new claim", "1,238 write units and 0 read units since", ": 2.5</title>", ": 1,234</title>", "3 requests were throttled")
}

// fill adds records whose texts and targets all differ, which is the worst that a table can have.
func fill(count, texts int) *report.Totals {
	totals := report.NewTotals(now, true)
	words := func(i int) string { // without digits, so that no two are one pattern
		return strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i%texts))
	}

	for i := range count {
		v := operate.View{
			Key: fmt.Sprintf("p-%07d-%s", i, strings.Repeat("x", 200)), Hash: "sha256:aaaaaaaaaaaa", Status: operate.Completed, State: "COMPLETED", Attempts: 1 + i%12,
			Born: now.Add(-time.Duration(i%700) * time.Hour), Done: now.Add(-time.Duration(i%700) * time.Hour).Add(time.Duration(i) * time.Millisecond),
		}

		switch i % 5 {
		case 0:
			v.Status, v.Cause, v.Done = operate.Failed, strings.Repeat("closed ", 30)+words(i), time.Time{}
		case 1:
			v.Messages = []operate.Message{{To: words(i)}, {To: words(i), Parked: true, Cause: words(i)}}
		case 2:
			v.Status, v.Lease, v.Done = operate.Stuck, now.Add(-time.Duration(i)*time.Second), time.Time{}
		case 3:
			v.SecondRun = &operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: v.Done}
		default:
			v.Attempts = 1
		}

		totals.Add(&v)
	}

	return totals
}

// A million records need as much memory, and nearly as large a file, as a few thousand.
func TestAMillionRecords(t *testing.T) {
	t.Parallel()

	heap := func() uint64 {
		runtime.GC()

		var m runtime.MemStats
		runtime.ReadMemStats(&m)

		return m.HeapAlloc
	}

	const count = 1_000_000

	before := heap()
	totals := fill(count, count)
	after := heap()

	source, text := page(t, totals, report.Reading{Table: "records", Namespace: "payments", Read: count, Units: 40_000})
	t.Logf("%d records: %d KB of memory, a page of %d KB", count, (int64(after)-int64(before))/1024, len(source)/1024)

	if after > before+4<<20 {
		t.Errorf("the totals take %d bytes", after-before)
	}

	if len(source) > 2<<20 {
		t.Errorf("the page has %d bytes, want less than 2 MB", len(source))
	}

	expect(t, text, "1,000,000 records of the namespace", "200,000 stuck", "200,000 failed for good", "200,000 may have happened twice", "The oldest 25 of 200,000", "all others")
}

func TestASpanHasItsTwoLargestUnitsAsTheAgeOfTheOldestMessageHas(t *testing.T) {
	t.Parallel()

	for age, want := range map[time.Duration]string{
		-time.Second: "0s", 1234567 * time.Nanosecond: "1ms", 1270 * time.Millisecond: "1.3s", 61500 * time.Millisecond: "1m2s",
		59*time.Minute + 59*time.Second: "59m59s", time.Hour: "1h0m", 24*time.Hour - time.Second: "23h59m", 24 * time.Hour: "1d0h", 75 * time.Hour: "3d3h",
	} {
		if got := report.Span(age); got != want {
			t.Errorf("%v: got %s, want %s", age, got, want)
		}

		totals := report.NewTotals(now, false)
		totals.Add(&operate.View{Status: operate.Completed, State: "COMPLETED", Done: now.Add(-age), Messages: []operate.Message{{To: "receipts"}}})

		_, text := page(t, totals, report.Reading{Table: "records", Read: 1, Units: 1})
		expect(t, text, "the oldest for "+want+" ")
	}
}

// What the stream says of the changes stands in the page, with the time that they cover.
func TestEachChangeIsCounted(t *testing.T) {
	t.Parallel()

	s := &report.Stream{Kinds: map[string]int{}}
	s.Add("new claim", false, false, now.Add(-time.Hour))
	s.Add("completion", true, true, now)
	s.Add("completion", false, false, now.Add(-2*time.Hour))
	s.Add("completion", false, false, time.Time{})

	want := &report.Stream{
		Kinds: map[string]int{"new claim": 1, "completion": 3}, Judged: 4, Violations: 1, Late: 1, From: now.Add(-2 * time.Hour), To: now,
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
}
