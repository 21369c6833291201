package lambdawrap

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Metrics writes one line for each batch, with what became of its messages, in CloudWatch's embedded metric format: Lambda's log
// turns into metrics without a request, an agent or a permission. Give its Observe to the Store and let it wrap the wrapper:
//
//	metrics := lambdawrap.NewMetrics(os.Stdout, "Payments", map[string]string{"Function": "payments"})
//	store, err := idemddb.New(client, table, "payments", &idemddb.Options{Observe: metrics.Observe})
//	lambda.Start(metrics.Wrap(lambdawrap.SQS(store, handle, nil)))
//
// The metrics, each in every line, so that an alarm finds a zero and not a gap:
//
//	Messages    in the batch
//	Failures    reported failed; all of them where the whole batch came back
//	Claims      keys won, of these Takeovers from a worker whose lease ran out
//	Completions accepted
//	Replays     answered from a completed record
//	InProgress  held by another worker
//	Refusals    failed for good before, another fingerprint, an unreadable record
//	Releases    claims given back
//	Fenced      writes of a claim that was lost: alarm on it
//	Unrecorded  work that is done, its record perhaps not: alarm on it
//	Retries     requests sent again
//
// It is safe for concurrent use. Keys, inputs and results are never written.
type Metrics struct {
	namespace string
	values    map[string]string // of all dimensions
	sets      [][]string        // their names, set by set, in order
	invalid   error

	mu  sync.Mutex // guards the writer: a line is one write
	out io.Writer
}

// CloudWatch's bounds.
const (
	maxDimensions    = 30
	maxMetricText    = 255
	metricsDirective = "_aws"
)

// NewMetrics returns Metrics that write to out, on Lambda os.Stdout, into a namespace of CloudWatch. Each set of dimensions, such as
// the function's name, and its name with its version, is a set of metrics of its own, which CloudWatch bills for; without one the
// metrics have no dimensions. A set has at most 30, each with a name and a value of at most 255 bytes. What CloudWatch would not
// take is an error on each invocation, before its work begins, so that no message is lost. NewMetrics panics for a nil writer.
func NewMetrics(out io.Writer, namespace string, sets ...map[string]string) *Metrics {
	if out == nil {
		panic("lambdawrap: NewMetrics: out: must not be nil")
	}

	m := &Metrics{out: out, namespace: namespace, values: map[string]string{}}

	for _, set := range sets {
		m.sets = append(m.sets, slices.Sorted(maps.Keys(set)))
	}

	if len(sets) == 0 {
		m.sets = [][]string{{}}
	}

	m.invalid = m.take(sets)

	return m
}

// Wrap returns the wrapper's function, such as that of [SQS] or [Batch], with a line for each call. A line that can't be
// written is lost, and the answer goes out all the same.
func (m *Metrics) Wrap(
	h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error),
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if m.invalid != nil {
			return events.SQSEventResponse{}, m.invalid
		}

		c := &counts{kinds: map[idemddb.Kind]int{}}
		response, err := h(context.WithValue(ctx, countsKey{}, c), event)

		c.messages, c.failures = len(event.Records), len(response.BatchItemFailures)
		if err != nil {
			c.failures = c.messages
		}

		m.write(c)

		return response, err
	}
}

// Observe counts the events of a batch, for idemddb.Options.Observe. Those outside of a batch that Wrap runs are not counted.
func (*Metrics) Observe(ctx context.Context, e idemddb.Event) {
	if c, ok := ctx.Value(countsKey{}).(*counts); ok {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.kinds[e.Kind]++
	}
}

// take takes the dimensions' values, or says what CloudWatch would not take.
func (m *Metrics) take(sets []map[string]string) error {
	if m.namespace == "" || len(m.namespace) > maxMetricText {
		return fmt.Errorf("lambdawrap: NewMetrics: namespace: must have 1 to %d bytes, is %q", maxMetricText, m.namespace)
	}

	taken := map[string]bool{metricsDirective: true}
	for _, metric := range (&counts{}).metrics() {
		taken[metric.name] = true
	}

	for _, set := range sets {
		if len(set) > maxDimensions {
			return fmt.Errorf("lambdawrap: NewMetrics: a set of dimensions: must have at most %d, has %d", maxDimensions, len(set))
		}

		for name, value := range set {
			if name == "" || value == "" || len(name) > maxMetricText || len(value) > maxMetricText || taken[name] {
				return fmt.Errorf("lambdawrap: NewMetrics: dimension %q: name and value must have 1 to %d bytes, and no metric's name; the value is %q",
					name, maxMetricText, value)
			}

			if other, ok := m.values[name]; ok && other != value {
				return fmt.Errorf("lambdawrap: NewMetrics: dimension %q: must have one value in all sets, has %q and %q", name, other, value)
			}

			m.values[name] = value
		}
	}

	return nil
}

type countsKey struct{}

// counts are those of one batch.
type counts struct {
	messages, failures int

	mu    sync.Mutex
	kinds map[idemddb.Kind]int
}

type metric struct {
	name  string
	value int
}

func (c *counts) metrics() []metric {
	c.mu.Lock()
	defer c.mu.Unlock()

	k := c.kinds

	return []metric{
		{"Messages", c.messages},
		{"Failures", c.failures},
		{"Claims", k[idemddb.Claimed] + k[idemddb.Takeover]},
		{"Takeovers", k[idemddb.Takeover]},
		{"Completions", k[idemddb.Completed]},
		{"Replays", k[idemddb.Replayed]},
		{"InProgress", k[idemddb.InProgress]},
		{"Refusals", k[idemddb.Refused] + k[idemddb.Mismatch] + k[idemddb.Corrupt]},
		{"Releases", k[idemddb.Released]},
		{"Fenced", k[idemddb.Fenced]},
		{"Unrecorded", k[idemddb.Unrecorded]},
		{"Retries", k[idemddb.Retried]},
	}
}

// write writes the line in one piece: Lambda takes each for a log event.
func (m *Metrics) write(c *counts) {
	type definition struct {
		Name string
		Unit string
	}

	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}

	line := map[string]any{}
	definitions := []definition{}

	for _, metric := range c.metrics() {
		line[metric.name] = metric.value
		definitions = append(definitions, definition{metric.name, "Count"})
	}

	for name, value := range m.values {
		line[name] = value
	}

	line[metricsDirective] = map[string]any{
		"Timestamp":         time.Now().UnixMilli(),
		"CloudWatchMetrics": []directive{{m.namespace, m.sets, definitions}},
	}

	text, err := json.Marshal(line)
	if err != nil {
		return // never: texts and numbers
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	_, _ = m.out.Write(append(text, '\n'))
}
