package lambdawrap

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// uncounted are the outcomes that are no metric of their own, with the reason.
var uncounted = map[Outcome]string{
	OutcomeCompleted:   "the Store's event counts it, in Completed",
	OutcomeReplayed:    "the Store's event counts it, in Replayed",
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

	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}

		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Outcome" {
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a text", spec.Names[0])
			}

			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}

			names = append(names, Outcome(text))
		}

		return true
	})

	if len(names) < len(uncounted) {
		t.Fatalf("found only %v", names)
	}

	return names
}

func TestOutcomesOfMessagesAreMetrics(t *testing.T) {
	t.Parallel()

	countMessage(t.Context(), OutcomeFailed, false) // no batch is counted in this context

	for _, c := range []struct {
		outcome    Outcome
		deadLetter bool
		want       map[string]float64
	}{
		{OutcomeFailed, false, map[string]float64{"Permanent": 1}},
		{OutcomeFailed, true, map[string]float64{"Permanent": 1, "DeadLetters": 1}},
		{OutcomeRefused, true, map[string]float64{"Permanent": 1, "DeadLetters": 1}},
		{OutcomeMismatch, false, map[string]float64{"Permanent": 1}},
		{OutcomeNoKey, false, map[string]float64{"Permanent": 1}},
		{OutcomeLate, false, map[string]float64{"Late": 1}},
		{OutcomeReleased, false, map[string]float64{}},
	} {
		var out bytes.Buffer

		h := Measure(NewMetrics(&out, "Payments"), func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
			ctx.Value(countsKey{}).(*counts).add(c.outcome, !c.deadLetter, c.deadLetter)

			return events.SQSEventResponse{}, nil
		})
		if _, err := h(t.Context(), events.SQSEvent{Records: make([]events.SQSMessage, 1)}); err != nil {
			t.Fatal(err)
		}

		got := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil { // the output is one line, without the warning that Observe was never called
			t.Fatalf("%q: %v\n%s", c.outcome, err, &out)
		}

		counted := map[string]float64{}

		for _, metric := range lineMetrics {
			if n, ok := got[metric.name].(float64); ok && n != 0 && metric.name != "Messages" {
				counted[metric.name] = n
			}
		}

		if diff := cmp.Diff(c.want, counted); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.outcome, diff)
		}
	}
}
