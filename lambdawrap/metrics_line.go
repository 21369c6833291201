package lambdawrap

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The members of a line that are neither dimension nor metric.
const (
	metricsDirective  = "_aws"
	requestIDProperty = "requestId"
)

// lineMetrics lists the metrics of a line. A metric is the number of events of its kinds and of messages with its outcomes.
// Messages and Failures are read from the event and the answer, and DeadLetters are counted by themselves.
var lineMetrics = []struct {
	name     string
	kinds    []idemddb.Kind
	outcomes []Outcome
}{
	{name: "Messages"},
	{name: "Failures"},
	{name: "Claims", kinds: []idemddb.Kind{idemddb.Claimed, idemddb.Takeover}},
	{name: "Takeovers", kinds: []idemddb.Kind{idemddb.Takeover}},
	{name: "Completions", kinds: []idemddb.Kind{idemddb.Completed}},
	{name: "Replays", kinds: []idemddb.Kind{idemddb.Replayed}},
	{name: "InProgress", kinds: []idemddb.Kind{idemddb.InProgress}},
	{name: "Refusals", kinds: []idemddb.Kind{idemddb.Refused, idemddb.Mismatch, idemddb.Corrupt}},
	{name: "Unanswered", kinds: []idemddb.Kind{idemddb.Unanswered}},
	{name: "Releases", kinds: []idemddb.Kind{idemddb.Released}},
	{name: "Failed", kinds: []idemddb.Kind{idemddb.Failed}},
	{name: "Fenced", kinds: []idemddb.Kind{idemddb.Fenced}},
	{name: "Unrecorded", kinds: []idemddb.Kind{idemddb.Unrecorded}},
	{name: "Uncommitted", kinds: []idemddb.Kind{idemddb.Uncommitted}},
	{name: "Conflicts", kinds: []idemddb.Kind{idemddb.Conflict}},
	{name: "EffectRefusals", kinds: []idemddb.Kind{idemddb.EffectRefused}},
	{name: "Unsent", kinds: []idemddb.Kind{idemddb.Unsent}},
	{name: "Parked", kinds: []idemddb.Kind{idemddb.Parked}},
	{name: "Retries", kinds: []idemddb.Kind{idemddb.Retried}},
	{name: "Ungrouped", kinds: []idemddb.Kind{idemddb.Ungrouped}},
	{name: "Permanent", outcomes: []Outcome{OutcomePermanent, OutcomeRefused, OutcomeMismatch, OutcomeNoKey}},
	{name: "DeadLetters"},
	{name: "Late", outcomes: []Outcome{OutcomeLate}},
}

// values returns the value of each metric by its name.
func (c *counts) values() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()

	values := map[string]int{}

	for _, metric := range lineMetrics {
		values[metric.name] = 0

		for _, kind := range metric.kinds {
			values[metric.name] += c.kinds[kind]
		}

		for _, outcome := range metric.outcomes {
			values[metric.name] += c.outcomes[outcome]
		}
	}

	values["Messages"], values["Failures"], values["DeadLetters"] = c.messages, c.failures, c.deadLetters

	return values
}

// write writes the line of a batch.
func (m *Metrics) write(ctx context.Context, c *counts) {
	text, err := json.Marshal(m.line(ctx, c))
	if err != nil {
		return // never: the line has only texts and numbers
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	_, _ = m.out.Write(append(text, '\n')) // in one piece, because Lambda makes a log event of each write
}

// line returns the members of the line of a batch: its metrics, its dimensions, its request id, and what tells CloudWatch to read them.
func (m *Metrics) line(ctx context.Context, c *counts) map[string]any {
	line := map[string]any{}

	for name, value := range c.values() {
		line[name] = value
	}

	for name, value := range m.values {
		line[name] = value
	}

	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		line[requestIDProperty] = invocation.AwsRequestID
	}

	line[metricsDirective] = m.directive()

	return line
}

// directive returns the member of a line that tells CloudWatch which of the other members are metrics and which are dimensions.
func (m *Metrics) directive() map[string]any {
	type definition struct{ Name, Unit string }

	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}

	definitions := []definition{}

	for _, metric := range lineMetrics {
		definitions = append(definitions, definition{metric.name, "Count"})
	}

	return map[string]any{
		"Timestamp":         time.Now().UnixMilli(),
		"CloudWatchMetrics": []directive{{m.namespace, m.sets, definitions}},
	}
}

// warn writes a line of JSON, as all lines of m.out are, with the members that Lambda's own log lines have.
func (m *Metrics) warn(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()

	var attrs []slog.Attr
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		attrs = append(attrs, slog.String(requestIDProperty, invocation.AwsRequestID))
	}

	slog.New(slog.NewJSONHandler(m.out, &slog.HandlerOptions{ReplaceAttr: lambdacontext.ReplaceAttr})).LogAttrs(ctx, slog.LevelWarn,
		"messages were done and no Store called Metrics.Observe: most metrics stay zero; set idemddb.Options.Observe to it", attrs...)
}
