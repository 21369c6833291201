package lambdawrap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Metrics writes one line for each batch in CloudWatch's embedded metric format. CloudWatch reads the line from the function's
// log and makes metrics of it; that takes no request, no agent and no permission. Pass its Observe to the Store, and wrap the
// wrapped handler with Wrap:
//
//	metrics := lambdawrap.NewMetrics(os.Stdout, "Payments", map[string]string{"Function": "payments"})
//	store, err := idemddb.New(client, table, "payments", &idemddb.Options{Observe: metrics.Observe})
//	lambda.Start(metrics.Wrap(lambdawrap.SQS(store, handle, nil)))
//
// Every line has every metric, so that an alarm finds a zero and not a gap:
//
//	Messages       messages in the batch
//	Failures       messages reported failed; all messages if the invocation ended with an error
//	Claims         claims that were won, takeovers among them
//	Takeovers      claims that were won from a worker whose lease ran out: the work may have been done before
//	Completions    completions that were written
//	Replays        messages answered from a completed record
//	InProgress     claims refused because another worker holds the key
//	Refusals       claims refused because the key failed for good before, has another fingerprint or has an unreadable record
//	Unanswered     claims that DynamoDB did not answer or did not accept: alarm on it
//	Releases       claims that were given back
//	Failed         keys that were ended for good
//	Fenced         writes refused because the claim was lost: alarm on it
//	Unrecorded     messages whose work is done and whose completion was perhaps not written: alarm on it
//	Uncommitted    transactions that are not known to be committed; the record decides at the next delivery
//	Conflicts      transactions that were cancelled because another write of one of their items was under way, and sent again
//	EffectRefusals commits that wrote nothing, because the condition of a staged item was false
//	Unsent         completed records whose messages are not sent yet; outbox.Sweep sends them
//	Parked         messages that can never be sent: alarm on it
//	Retries        requests that were sent again
//	Ungrouped      times that a batch turned group commit off, so that each write is a request of its own
//	Permanent      messages that can never succeed, whether DeadLetter took them or not
//	DeadLetters    messages that DeadLetter took
//	Late           messages whose handler did not answer in time
//
// The line also has the invocation's request id, in the property requestId. It is not a dimension, so it costs nothing. Keys,
// inputs and results are never written. Metrics is safe for concurrent use.
type Metrics struct {
	namespace string
	values    map[string]string // of all dimensions
	sets      [][]string        // the names of the dimensions of each set, sorted
	invalid   error

	observed atomic.Bool // whether a Store has called Observe
	warned   atomic.Bool

	mu  sync.Mutex // guards out, so that each line is one write
	out io.Writer
}

// The bounds of CloudWatch, in bytes where they are of texts, and the members of a line that are neither dimension nor metric.
const (
	maxDimensions      = 30
	maxNamespace       = 255
	maxDimensionName   = 255
	maxDimensionValue  = 1024
	metricsDirective   = "_aws"
	requestIDProperty  = "requestId"
	namespaceMarks     = "._-/#: "
	reservedNamespaces = "AWS/"
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

// NewMetrics returns Metrics that write their lines to out, which is os.Stdout on Lambda, for a namespace of CloudWatch. For each
// set of dimensions, such as the function's name, or its name and its version, CloudWatch makes and bills every metric once.
// Without a set the metrics have no dimensions.
//
// CloudWatch drops what it does not accept without an error. So NewMetrics checks its rules: a namespace has 1 to 255 letters,
// digits, spaces and characters of "._-/#:", does not begin with a colon or "AWS/" and is not blank. A set has at most 30
// dimensions; their names have 1 to 255 bytes and do not begin with a colon, their values have 1 to 1,024 bytes, and both are
// ASCII without control characters and not blank. A dimension has the same value in all sets, and not the name of a metric.
// Where a rule is broken, each invocation ends with an error that names it, before its work begins, so that no message is lost.
// NewMetrics panics for a nil writer.
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

	m.invalid = cmp.Or(checkNamespace(namespace), m.take(sets))

	return m
}

// Wrap returns a function that calls h, which is the function of [SQS] or [Batch], and writes a line for each call. A line that
// can't be written is lost, and the answer goes out all the same.
//
// Where no Store passes its events to Observe, most metrics would be zero for ever. So the first batch in which a message
// was done although Observe was never called also writes a line of level WARN that says so.
func (m *Metrics) Wrap(
	h func(context.Context, events.SQSEvent) (events.SQSEventResponse, error),
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
		err = m.measure(ctx, func(ctx context.Context, c *counts) (err error) {
			response, err = h(ctx, event)
			c.messages, c.failures = len(event.Records), len(response.BatchItemFailures)

			return err
		})

		return response, err
	}
}

// Measure is [Metrics.Wrap] for the functions of [Kinesis], [DynamoDBStream] and [Func]. The messages of its lines are the records of a
// stream, all those that failed among the failures, or the one invocation of Func.
func Measure[In, Out any](m *Metrics, h func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	return func(ctx context.Context, in In) (out Out, err error) {
		err = m.measure(ctx, func(ctx context.Context, c *counts) (err error) {
			out, err = h(ctx, in)

			c.mu.Lock()
			defer c.mu.Unlock()

			c.messages, c.failures = c.ended, c.failed
			if err != nil {
				c.messages = max(1, c.messages) // it failed before the first of them ended
			}

			return err
		})

		return out, err
	}
}

// Observe counts the events of a batch; it is for idemddb.Options.Observe. It does not count the events of other calls than
// those that Wrap's function makes.
func (m *Metrics) Observe(ctx context.Context, e idemddb.Event) {
	m.observed.Store(true)

	if c, ok := ctx.Value(countsKey{}).(*counts); ok {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.kinds[e.Kind]++
	}
}

// measure counts one call and writes its line.
func (m *Metrics) measure(ctx context.Context, call func(context.Context, *counts) error) error {
	if m.invalid != nil {
		return m.invalid
	}

	c := &counts{kinds: map[idemddb.Kind]int{}, outcomes: map[Outcome]int{}}

	err := call(context.WithValue(ctx, countsKey{}, c), c)
	if err != nil {
		c.failures = c.messages
	}

	m.write(ctx, c)

	if c.doneUnobserved() && !m.observed.Load() && !m.warned.Swap(true) {
		m.warn(ctx)
	}

	return err
}

func checkNamespace(namespace string) error {
	err := checkText(namespace, maxNamespace)

	switch {
	case err != nil:
	case strings.HasPrefix(namespace, ":"):
		err = errors.New("must not begin with a colon")
	case strings.HasPrefix(namespace, reservedNamespaces):
		err = fmt.Errorf("must not begin with %q, which belongs to AWS", reservedNamespaces)
	case !isWord(namespace, namespaceMarks):
		err = fmt.Errorf("must have letters, digits and characters of %q only", namespaceMarks)
	}

	if err != nil {
		return fmt.Errorf("lambdawrap: NewMetrics: namespace %q: %w", namespace, err)
	}

	return nil
}

// take stores the dimensions of all sets. It returns an error that names the first dimension that CloudWatch would not accept.
func (m *Metrics) take(sets []map[string]string) error {
	for _, set := range sets {
		if len(set) > maxDimensions {
			return fmt.Errorf("lambdawrap: NewMetrics: a set of dimensions: must have at most %d, has %d", maxDimensions, len(set))
		}

		for name, value := range set {
			err := checkDimension(name, value)
			if other, ok := m.values[name]; err == nil && ok && other != value {
				err = fmt.Errorf("must have one value in all sets, has %q and %q", value, other)
			}

			if err != nil {
				return fmt.Errorf("lambdawrap: NewMetrics: dimension %q: %w", name, err)
			}

			m.values[name] = value
		}
	}

	return nil
}

func checkDimension(name, value string) error {
	if err := checkText(name, maxDimensionName); err != nil {
		return fmt.Errorf("its name %w", err)
	}

	if err := checkText(value, maxDimensionValue); err != nil {
		return fmt.Errorf("its value %q %w", value, err)
	}

	if strings.HasPrefix(name, ":") {
		return errors.New("its name must not begin with a colon")
	}

	for _, metric := range lineMetrics {
		if name == metric.name {
			return errors.New("its name must not be that of a metric")
		}
	}

	if name == metricsDirective || name == requestIDProperty {
		return errors.New("its name must not be that of another member of the line")
	}

	return nil
}

// checkText checks the rules that CloudWatch has for all of its texts.
func checkText(text string, most int) error {
	switch {
	case text == "" || len(text) > most:
		return fmt.Errorf("must have 1 to %d bytes, has %d", most, len(text))
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return errors.New("must have ASCII characters only, and no control characters")
	case strings.TrimSpace(text) == "":
		return errors.New("must have a character that is not blank")
	default:
		return nil
	}
}

type countsKey struct{}

// counts are those of one batch.
type counts struct {
	messages, failures int

	mu          sync.Mutex // guards what follows: the batch's goroutines count at once
	kinds       map[idemddb.Kind]int
	outcomes    map[Outcome]int
	ended       int // messages
	failed      int // those of them that failed
	deadLetters int
}

// doneUnobserved reports whether a message was done for which a Store reports an event, and no event came. Other outcomes prove
// nothing: DeadLetter takes a message without a key, for which the Store has no event.
func (c *counts) doneUnobserved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.outcomes[OutcomeCompleted]+c.outcomes[OutcomeReplayed] > 0 && len(c.kinds) == 0
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
	type definition struct{ Name, Unit string }

	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}

	line := map[string]any{}
	definitions := []definition{}

	for name, value := range c.values() {
		line[name] = value
	}

	for _, metric := range lineMetrics {
		definitions = append(definitions, definition{metric.name, "Count"})
	}

	for name, value := range m.values {
		line[name] = value
	}

	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		line[requestIDProperty] = invocation.AwsRequestID
	}

	line[metricsDirective] = map[string]any{
		"Timestamp":         time.Now().UnixMilli(),
		"CloudWatchMetrics": []directive{{m.namespace, m.sets, definitions}},
	}

	text, err := json.Marshal(line)
	if err != nil {
		return // never: the line has only texts and numbers
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	_, _ = m.out.Write(append(text, '\n')) // in one piece, because Lambda makes a log event of each write
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
