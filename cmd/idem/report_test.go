package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cloudwatchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/localstack/auditing"
)

// trouble leaves one key for each question of an operator.
func (n *night) trouble() {
	n.t.Helper()

	for i := range 20 {
		claim := n.claim(fmt.Sprintf("p-%d", i), "")
		n.clock.Advance(time.Duration(i+1) * 100 * time.Millisecond)

		if err := claim.Complete(n.t.Context(), nil); err != nil {
			n.t.Fatal(err)
		}

		n.clock.Advance(2 * time.Hour)
	}

	n.claim("p-twice", "8f6e1c1e")
	n.clock.Advance(time.Minute)
	n.complete("p-twice")
	n.fail("p-failed", "account anna is closed")
	n.announce("p-unsent")

	n.store = n.worker(&idemddb.Options{Senders: map[string]idemddb.Sender{"captured": unsendable{}}})
	n.announce("p-parked")
	n.store = n.worker(nil)

	n.claim("p-stuck", "8f6e1c1e")
	n.clock.Advance(20 * time.Minute)
	n.claim("p-held", "8f6e1c1e")
}

// report writes a report and returns its text.
func (n *night) report(args ...string) (source, text string) {
	n.t.Helper()

	name := filepath.Join(n.dir, "report.html")
	n.idem(append([]string{"report", "--out", name}, args...)...)

	content, err := os.ReadFile(name)
	if err != nil {
		n.t.Fatalf("%v\n%s", err, n.shown())
	}

	_, body, _ := strings.Cut(string(content), "<body>")

	return string(content), strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")), " ")
}

func TestReportAnswersWhatAnOperatorAsks(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.trouble()

		_, text := n.report()
		n.expect(exitDone, "about 26 records")

		for question, answer := range map[string]string{
			"What is stuck?":                   "1 stuck the lease ran out",
			"Why did keys fail?":               "account anna is closed 1",
			"What may have happened twice?":    "1 may have happened twice",
			"What is not sent, since when?":    "1 messages not sent the oldest for 20m",
			"What can never be sent?":          "1 messages parked",
			"How long does work take?":         "half within 90 % within 99 % within longest 1.1s",
			"What does it cost?":               "of all records that were read 5",
			"What does the report not know?":   "What this report does not know",
			"How many records are there?":      "26 records of the namespace among 26",
			"Who has what?":                    "1 held a worker has them",
			"Why was something done again?":    "taken over after a lease ran out 1",
			"Which targets wait for messages?": "captured 1",
		} {
			if !strings.Contains(text, answer) {
				n.t.Errorf("%s The report lacks %q:\n%s", question, answer, text)
			}
		}

		if strings.Contains(text, "p-failed") || strings.Contains(text, "p-twice") {
			n.t.Errorf("the report shows keys:\n%s", text)
		}

		if _, text := n.report("--cloudwatch"); !strings.Contains(text, "CloudWatch has not said what the table has consumed: ") {
			n.t.Errorf("--cloudwatch: nobody was asked:\n%s", text)
		}

		if _, shown := n.report("--show-keys"); !strings.Contains(shown, "p-failed") || !strings.Contains(shown, "p-twice") {
			n.t.Errorf("--show-keys: the report has no keys:\n%s", shown)
		}
	})
}

// A report whose budget ends says so, and so does the screen. A file that cannot be written is an error.
func TestReportOfAPartOfTheTable(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	n.complete("p")

	record := n.item("p")
	for i := range 299 {
		record["pk"] = text(fmt.Sprintf("payments#p-%d", i))
		n.put(record)
	}

	_, page := n.report("--budget", "3", "--segments", "1")
	n.expect(exitDone, "The budget ended before the whole table was read")

	if !strings.Contains(page, "every number is that of the part that was read") || strings.Contains(page, "among 300") {
		t.Errorf("the report does not say that it is of a part:\n%s", page)
	}

	n.idem("report", "--out", "-", "--no-stream")
	n.expect(exitDone)

	if !strings.Contains(n.lastOut, "300 records of the namespace among 300") {
		t.Errorf("standard output has no report:\n%s", n.lastOut)
	}

	n.idem("report", "--out", filepath.Join(n.dir, "no-such-folder", "report.html"))
	n.expect(exitError, "--out:")
}

// The report counts and judges what the table's stream has.
func TestReportReadsTheStream(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	if err := auditing.Enable(t.Context(), n.client, n.table); err != nil {
		t.Fatal(err)
	}

	n.complete("p-1")

	if _, text := n.report(); !strings.Contains(text, "2 changes of records from") || !strings.Contains(text, "new claim 1") || !strings.Contains(text, "0 of them break a rule") {
		t.Errorf("the report does not have the stream:\n%s", text)
	}

	if _, text := n.report("--no-stream"); strings.Contains(text, "What the stream says") {
		t.Errorf("--no-stream: the report has it:\n%s", text)
	}
}

// metrics answers as CloudWatch does, in two pages.
type metrics struct {
	begin time.Time
	asked []*cloudwatch.GetMetricDataInput
}

func (m *metrics) GetMetricData(_ context.Context, in *cloudwatch.GetMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error) {
	m.asked = append(m.asked, in)

	if in.NextToken == nil {
		return &cloudwatch.GetMetricDataOutput{NextToken: new("more"), MetricDataResults: []cloudwatchtypes.MetricDataResult{
			{Id: new("writes"), Timestamps: []time.Time{m.begin, m.begin.Add(2 * time.Hour)}, Values: []float64{10, 20}},
			{Id: new("writes_throttled"), Timestamps: []time.Time{m.begin}, Values: []float64{3}},
		}}, nil
	}

	return &cloudwatch.GetMetricDataOutput{MetricDataResults: []cloudwatchtypes.MetricDataResult{
		{Id: new("writes"), Timestamps: []time.Time{m.begin.Add(3 * time.Hour)}, Values: []float64{5}},
		{Id: new("reads"), Timestamps: []time.Time{m.begin.Add(167 * time.Hour)}, Values: []float64{7}},
	}}, nil
}

func TestConsumedIsPlacedIntoItsHours(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 1, 9, 3, 20, 0, 0, time.UTC)
	api := &metrics{begin: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)}

	got, err := consumed(t.Context(), api, "records", now)
	if err != nil {
		t.Fatal(err)
	}

	want := &report.Consumed{Begin: api.begin, Resolution: time.Hour, Writes: make([]float64, 168), Reads: make([]float64, 168), Throttled: 3}
	want.Writes[0], want.Writes[2], want.Writes[3], want.Reads[167] = 10, 20, 5, 7

	if !reflect.DeepEqual(got, want) {
		t.Errorf("consumed: got %+v, want %+v", got, want)
	}

	if stat := api.asked[0].MetricDataQueries[0].MetricStat; *stat.Period != 3600 || *stat.Stat != "Sum" || *stat.Metric.Dimensions[0].Value != "records" {
		t.Errorf("asked for %+v", stat)
	}
}

// An answer that lacks a value, or has one that nobody asked for, is no figure of the report.
func TestPointsThatWereNotAskedForAreRefused(t *testing.T) {
	t.Parallel()

	begin := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)

	for name, result := range map[string]cloudwatchtypes.MetricDataResult{
		"without a name":   {Timestamps: []time.Time{begin}, Values: []float64{1}},
		"of another name":  {Id: new("latency"), Timestamps: []time.Time{begin}, Values: []float64{1}},
		"a value too few":  {Id: new("writes"), Timestamps: []time.Time{begin, begin.Add(time.Hour)}, Values: []float64{1}},
		"a value too many": {Id: new("writes"), Timestamps: []time.Time{begin}, Values: []float64{1, 2}},
	} {
		if err := place(&result, begin, map[string][]float64{"writes": make([]float64, 2)}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
