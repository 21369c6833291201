package functions_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dashboard is the body of the template's dashboard, with the names of the template in place of what they will be.
type dashboard struct {
	Widgets []struct {
		Type          string `json:"type"`
		X             int    `json:"x"`
		Y             int    `json:"y"`
		Width, Height int
		Properties    struct {
			Title   string   `json:"title"`
			Alarms  []string `json:"alarms"`
			Metrics [][]any  `json:"metrics"`
		} `json:"properties"`
	} `json:"widgets"`
}

const auditAlarms = `, "${AuditViolations.Arn}", "${AuditErrors.Arn}", "${AuditBlind.Arn}"`

var placeholder = regexp.MustCompile(`\$\{([A-Za-z:.]+)\}`)

func readDashboard(t *testing.T, template template) (board dashboard) {
	t.Helper()

	body := template.Resources["PaymentsDashboard"].Properties.DashboardBody
	if len(body) != 2 {
		t.Fatalf("the dashboard has %d parts, want a text and its values", len(body))
	}

	// The values are those of a stack that rolls out gradually, with the auditor.
	_, widget, _ := strings.Cut(string(body[1]), "AuditWidget, [Audited, ")
	text := strings.NewReplacer(
		"${NewVersionAlarms}", `, "${NewVersionErrors.Arn}", "${NewVersionFailures.Arn}"`, "${AuditAlarms}", auditAlarms,
		"${AuditWidget}", strings.TrimSuffix(widget, ", ]]"),
	).Replace(string(body[0]))
	text = placeholder.ReplaceAllString(strings.ReplaceAll(text, "${Function}", "[Gradual, PaymentsGradual, Payments]"), "$1")

	if err := json.Unmarshal([]byte(text), &board); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	for _, value := range []string{"Gradual, PaymentsGradual, Payments", `, "${NewVersionErrors.Arn}", "${NewVersionFailures.Arn}"`, "[Audited, " + auditAlarms + ", ]"} {
		if !strings.Contains(string(body[1]), value) {
			t.Errorf("the values of the dashboard do not have %q: %s", value, body[1])
		}
	}

	return board
}

// metrics are those of all widgets, as an alarm has them.
func (d dashboard) metrics(t *testing.T) (all []metric) {
	t.Helper()

	for _, w := range d.Widgets {
		for _, line := range w.Properties.Metrics {
			texts := make([]string, 0, len(line))

			for _, part := range line {
				if s, ok := part.(string); ok {
					texts = append(texts, s)
				}
			}

			if len(texts) != 4 {
				t.Fatalf("%s: %v is no metric by one dimension", w.Properties.Title, line)
			}

			all = append(all, metric{Namespace: texts[0], MetricName: texts[1], Dimensions: []dimension{{texts[2], text(texts[3])}}})
		}
	}

	return all
}

// The alarm widget has every alarm, and each metric that an alarm looks at has a line. Those of a version are shown for the
// function.
func TestTemplateDashboardShowsEveryAlarm(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	board := readDashboard(t, template)
	shown := board.metrics(t)

	var alarms, want []string

	for _, w := range board.Widgets {
		alarms = append(alarms, w.Properties.Alarms...)
	}

	for name, r := range template.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}

		want = append(want, name+".Arn")

		for _, m := range r.Properties.metrics() {
			if m.Dimensions = m.Dimensions[:1]; m.Dimensions[0].Value == "PaymentsGradual" {
				m.Dimensions = []dimension{{m.Dimensions[0].Name, "[Gradual, PaymentsGradual, Payments]"}}
			}

			if !slices.ContainsFunc(shown, func(s metric) bool { return cmp.Equal(s, m) }) {
				t.Errorf("%s looks at %+v, which no widget shows", name, m)
			}
		}
	}

	slices.Sort(alarms)
	slices.Sort(want)

	if diff := cmp.Diff(want, alarms); diff != "" {
		t.Errorf("alarms (-in the template +in the dashboard):\n%s", diff)
	}
}

func TestTemplateDashboardHasNoHolesAndNoOverlaps(t *testing.T) {
	t.Parallel()

	const columns = 24

	taken := map[string]string{}

	for _, w := range readDashboard(t, readTemplate(t)).Widgets {
		title := w.Properties.Title
		if w.Width < 1 || w.Height < 1 || w.X+w.Width > columns {
			t.Errorf("%s: %d wide at %d, %d high", title, w.Width, w.X, w.Height)
		}

		for x := range w.Width {
			for y := range w.Height {
				at := fmt.Sprint(w.X+x, " ", w.Y+y)
				if other := taken[at]; other != "" {
					t.Fatalf("%s lies on %s", title, other)
				}

				taken[at] = title
			}
		}
	}
}

// checkShownMetrics wants each metric of the functions' own that the dashboard shows to be one that they write.
func checkShownMetrics(t *testing.T, template template, paid, asked, swept, judged story) {
	t.Helper()

	_, ofPayments := paid.read(t)
	_, ofAPI := asked.read(t)
	_, ofRelay := swept.read(t)
	_, ofAuditor := judged.read(t)

	for _, m := range readDashboard(t, template).metrics(t) {
		written := ofPayments[0]

		switch m.Dimensions[0].Value {
		case "Relay":
			written = ofRelay[0]
		case "Api":
			written = ofAPI[0]
		case "Auditor":
			written = ofAuditor[0]
		}

		switch m.Namespace {
		case "AWS/SQS", "AWS/Lambda", "AWS/DynamoDB":
		default:
			if !written.has(m) {
				t.Errorf("the dashboard shows %+v, which is not written: %+v", m, written.AWS.CloudWatchMetrics)
			}
		}
	}
}

// A field of a query is one that a line of the log has, or one that the query makes.
var (
	queryField = regexp.MustCompile(`(?:filter (?:ispresent\()?|fields |stats |sort |by |, |\()(@?[A-Za-z_]\w*)`)
	queryWords = regexp.MustCompile(`\b(?:as) ([A-Za-z]+)`)
)

func checkQueries(t *testing.T, template template, paid story) {
	t.Helper()

	members := map[string]bool{}

	for line := range strings.Lines(paid.printed) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatal(err)
		}

		for name := range object {
			members[name] = true
		}
	}

	queries := 0

	for name, r := range template.Resources {
		if r.Type != "AWS::Logs::QueryDefinition" {
			continue
		}

		queries++

		known := map[string]bool{"@timestamp": true, "count": true, "count_distinct": true, "latest": true, "bin": true}
		for _, m := range queryWords.FindAllStringSubmatch(r.Properties.QueryString, -1) {
			known[m[1]] = true
		}

		for _, m := range queryField.FindAllStringSubmatch(r.Properties.QueryString, -1) {
			if field := m[1]; !members[field] && !known[field] {
				t.Errorf("%s asks for %q, which no line of the log has", name, field)
			}
		}

		if !slices.Equal(r.Properties.LogGroupNames, []string{"PaymentsLogs"}) {
			t.Errorf("%s looks into %v", name, r.Properties.LogGroupNames)
		}
	}

	if queries == 0 {
		t.Error("there is no query")
	}
}

// With a key of one's own, all that is stored is encrypted with it.
func TestTemplateEncryptsAllWithOneKey(t *testing.T) {
	t.Parallel()

	const own = text("[OwnKey, KmsKeyArn, AWS::NoValue]")

	template := readTemplate(t)
	if got := template.Globals.Function.KmsKeyArn; got != own {
		t.Errorf("the environment is encrypted with %s", got)
	}

	for name, r := range template.Resources {
		p := r.Properties

		switch r.Type {
		case "AWS::SQS::Queue":
			if p.KmsMasterKeyID != own || p.SqsManagedSseEnabled != "[OwnKey, AWS::NoValue, true]" {
				t.Errorf("%s: key %q, SQS's own %q", name, p.KmsMasterKeyID, p.SqsManagedSseEnabled)
			}
		case "AWS::DynamoDB::Table":
			if sse := p.SSESpecification; sse.KMSMasterKeyID != own || sse.SSEType != "[OwnKey, KMS, AWS::NoValue]" {
				t.Errorf("%s: %+v", name, sse)
			}
		case "AWS::Logs::LogGroup":
			if p.KmsKeyID != own {
				t.Errorf("%s: key %q", name, p.KmsKeyID)
			}
		case "AWS::IAM::Role":
			if !slices.ContainsFunc(template.statements(name), func(s statement) bool { return s.Condition == "OwnKey" }) {
				t.Errorf("%s may not use the key", name)
			}
		}
	}
}
