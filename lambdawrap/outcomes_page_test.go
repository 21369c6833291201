package lambdawrap

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
)

// word is a row of the table in docs/outcomes.md.
type word struct {
	IsEvent, IsOutcome bool
	Metrics            string
	Level              string
}

// One word stands for one thing in the events, in the outcomes, in the metrics, in the log and on the page.
func TestThePageOfOutcomesIsTheCode(t *testing.T) {
	t.Parallel()

	want := map[string]*word{}
	of := func(text string) *word {
		if want[text] == nil {
			want[text] = &word{}
		}

		return want[text]
	}

	for _, kind := range declaredKinds(t) {
		of(string(kind)).IsEvent = true
	}

	for _, name := range declaredOutcomes(t) {
		of(string(name)).IsOutcome = true

		if name != OutcomeCompleted && name != OutcomeReplayed { // these have no line
			of(string(name)).Level = levelOf(name, nil).String()
		}
	}

	for _, metric := range lineMetrics {
		for _, kind := range metric.kinds {
			of(string(kind)).Metrics = strings.TrimSpace(of(string(kind)).Metrics + " " + metric.name)
		}

		for _, name := range metric.outcomes {
			of(string(name)).Metrics = strings.TrimSpace(of(string(name)).Metrics + " " + metric.name)
		}
	}

	for name, level := range map[idemddb.Kind]string{ // lines that do not say how a message ended
		idemddb.KindTakeover: "WARN", idemddb.KindParked: "ERROR", idemddb.KindPanicked: "ERROR", idemddb.KindUnshared: "WARN", idemddb.KindReadsDenied: "WARN",
	} {
		of(string(name)).Level = level
	}

	got := map[string]*word{}
	for name, cells := range wordsOfPage(t) {
		metrics := strings.NewReplacer("`", "", ",", "", "–", "").Replace(cells[3])
		got[name] = &word{cells[1] == "yes", cells[2] == "yes", metrics, strings.Trim(cells[4], "–")}
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/outcomes.md (-code +page):\n%s", diff)
	}
}

// The metric of a kind has the name of that kind, in the letters of a metric.
func TestAMetricOfAKindHasItsName(t *testing.T) {
	t.Parallel()

	for _, metric := range lineMetrics {
		for _, kind := range metric.kinds {
			name := ""
			for part := range strings.SplitSeq(string(kind), "_") {
				name += strings.ToUpper(part[:1]) + part[1:]
			}

			if metric.name != name {
				t.Errorf("the metric %s counts the kind %s", metric.name, kind)
			}
		}
	}
}

// An ending of work has the outcome with the word of its kind, and a permanent outcome is one of a message that no delivery can
// mend.
func TestAnOutcomeHasTheWordOfItsKind(t *testing.T) {
	t.Parallel()

	page, permanent := wordsOfPage(t), lineMetrics[slices.IndexFunc(lineMetrics, func(m lineMetric) bool { return m.name == "Permanent" })].outcomes

	for kind, name := range outcomes {
		if string(kind) != string(name) {
			t.Errorf("the outcome of the kind %s is %s", kind, name)
		}
	}

	for _, name := range declaredOutcomes(t) {
		cells := page[string(name)]
		if len(cells) == 0 {
			t.Errorf("the page has no row for the outcome %s", name)

			continue
		}

		if got, want := cells[5] == "permanent", slices.Contains(permanent, name); got != want {
			t.Errorf("the page says that the outcome %s is permanent: %t, want %t", name, got, want)
		}
	}
}

// wordsOfPage returns the rows of the table by their word.
func wordsOfPage(t *testing.T) map[string][]string {
	t.Helper()

	text, err := os.ReadFile("../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}

	rows := map[string][]string{}

	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | "); strings.HasPrefix(line, "| `") && len(cells) == 6 {
			rows[strings.Trim(cells[0], "`")] = cells
		}
	}

	return rows
}

// declaredKinds reads the constants of idemddb.Kind from the source, so that a new one cannot be forgotten here.
func declaredKinds(t *testing.T) (kinds []idemddb.Kind) {
	t.Helper()

	for _, text := range constantsOf(t, "../idemddb/event.go", "Kind") {
		kinds = append(kinds, idemddb.Kind(text))
	}

	return kinds
}

// constantsOf returns the texts of all constants of a type in a file.
func constantsOf(t *testing.T, file, typeName string) (texts []string) {
	t.Helper()

	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}

		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName {
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a text", spec.Names[0])
			}

			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}

			texts = append(texts, text)
		}

		return true
	})

	return texts
}

// uncounted are the outcomes that are no metric of their own, with the reason.
var uncounted = map[Outcome]string{
	OutcomeCompleted:   "the Store's event counts it, in Completed",
	OutcomeReplayed:    "the Store's event counts it, in Replayed",
	OutcomeEmpty:       "it is done, and there was nothing to do",
	OutcomeUnrecorded:  "the Store's event counts it, in Unrecorded",
	OutcomeUncommitted: "the Store's event counts it, in Uncommitted",
	OutcomeUnsent:      "the Store's event counts it, in Unsent",
	OutcomeFenced:      "the Store's event counts it, in Fenced",
	OutcomeInProgress:  "the Store's event counts it, in InProgress",
	OutcomeUnanswered:  "the Store's event counts it, in Unanswered",
	OutcomeCorrupt:     "the Store's event counts it, in Corrupt",
	OutcomeReleased:    "it is counted in NotDone, and its log line says more",
	OutcomeNoTime:      "it is counted in NotDone, and comes back without harm",
	OutcomeBlocked:     "it is counted in NotDone, and the message before it has the cause",
}

func TestEveryOutcomeIsCountedOrDeliberatelyNot(t *testing.T) {
	t.Parallel()

	for _, name := range declaredOutcomes(t) {
		isCounted := false
		for _, metric := range lineMetrics {
			isCounted = isCounted || slices.Contains(metric.outcomes, name)
		}

		if _, isUncounted := uncounted[name]; isCounted == isUncounted {
			t.Errorf("the outcome %q: counted %v, listed as uncounted %v", name, isCounted, isUncounted)
		}
	}
}

// declaredOutcomes reads the constants of the type Outcome from the source, so that a new one cannot be forgotten here.
func declaredOutcomes(t *testing.T) (names []Outcome) {
	t.Helper()

	for _, text := range constantsOf(t, "outcome.go", "Outcome") {
		names = append(names, Outcome(text))
	}

	if len(names) < len(uncounted) {
		t.Fatalf("found only %v", names)
	}

	return names
}

func TestReceiveCount(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int{
		"1": 1, "2": 2, "1000": 1000, "": 1, "0": 1, "-7": 1, "many": 1, "1.5": 1, "2nd": 1, "99999999999999999999": 1,
	} {
		if got := receiveCount(events.SQSMessage{Attributes: map[string]string{"ApproximateReceiveCount": text}}); got != want {
			t.Errorf("receiveCount of %q = %d, want %d", text, got, want)
		}
	}

	if got := receiveCount(events.SQSMessage{}); got != 1 {
		t.Errorf("receiveCount without attributes = %d, want 1", got)
	}
}
