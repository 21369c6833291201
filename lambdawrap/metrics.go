package lambdawrap

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/emf"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/idemhttp"
)

// Metrics writes one line for each batch of messages in CloudWatch's embedded metric format, or for each call that [Measure] or
// [Metrics.MeasureHTTP] counts. CloudWatch reads the line from the function's log and makes metrics of it; that takes no request,
// no agent and no permission. Pass Observe to the Store, and the function that SQS or another wrapper returns to Measure:
//
//	metrics := lambdawrap.NewMetrics(os.Stdout, "Payments", map[string]string{"Function": "payments"})
//	store, err := idemddb.New(client, table, "payments", &idemddb.Options{Observe: metrics.Observe})
//	lambda.Start(lambdawrap.Measure(metrics, lambdawrap.SQS(store, handle, nil)))
//
// Every line has every metric, so that an alarm finds a zero and not a gap. One that counts events has the word of their
// [idemddb.Kind]:
//
//	Messages       messages in the batch
//	NotDone        messages that come back, because they are reported failed; all messages if the invocation ended with an error
//	Claimed        claims that were won, takeovers not among them
//	Takeover       claims that were won from a worker whose lease ran out: the work may have been done before
//	Replayed       messages answered from a completed record
//	InProgress     claims refused because another worker holds the key
//	Mismatch       claims refused because the key was used with another fingerprint
//	Refused        claims refused because the key failed for good before, or its attempts are used up
//	Corrupt        claims refused because the record cannot be read: alarm on it
//	Unanswered     claims that DynamoDB did not answer or did not accept: alarm on it
//	Completed      completions that were written
//	Released       claims that were given back
//	Failed         keys that were ended for good
//	Fenced         writes refused because the claim was lost: alarm on it
//	Unrecorded     messages whose work is done and whose completion was perhaps not written: alarm on it
//	Uncommitted    transactions that are not known to be committed; the record decides at the next delivery
//	EffectRefused  commits that wrote nothing, because DynamoDB refused a staged item, mostly by its condition
//	Conflict       writes whose transaction was cancelled because another write of one of its items was under way, and sent again
//	Unsent         messages of completed records that are not sent yet; outbox.Sweep or a redelivery sends them
//	Parked         messages that can never be sent: alarm on it
//	Retried        writes that were sent again; those that share a request count one by one
//	ReadsDenied    times that the reads before transactions were denied
//	Unshared       times that requests could not be shared
//	Panicked       panics of idemddb.Options.Trace, and of renewals, which cancel their work: alarm on it
//	Permanent      messages that can never succeed, whether DeadLetter took them or not
//	DeadLetters    messages that DeadLetter took
//	Late           messages whose handler did not answer in time
//
// The line also has the invocation's request id, in the property requestId. It is not a dimension, so it costs nothing. Keys,
// inputs and results are never written. Metrics is safe for concurrent use.
type Metrics struct {
	format   *emf.Format
	invalid  error       // what CloudWatch would not accept
	observed atomic.Bool // whether a Store has called Observe

	mu     sync.Mutex // guards what follows
	out    io.Writer
	warned bool
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

	format, err := emf.New(namespace, metricNames(), sets)
	if err != nil {
		err = fmt.Errorf("lambdawrap: NewMetrics: %w", err)
	}

	return &Metrics{format: format, invalid: err, out: out}
}

// Measure returns a function that calls h, which is the function of [SQS], [Batch], [Kinesis], [DynamoDBStream], [Kafka] or
// [Func], and writes a line for each call. The messages of the line are those of the event, the records of a stream, or the one
// invocation of Func. A line that cannot be written is lost, and the answer goes out all the same. An invocation of Func whose
// handler panics has no line.
//
// Where no Store passes its events to Observe, most metrics would be zero for ever. So the first call in which a message was done
// although Observe was never called also writes a line of level WARN that says so. Measure panics for a nil m or h.
func Measure[In, Out any, F ~func(context.Context, In) (Out, error)](m *Metrics, h F) F {
	if m == nil {
		panic("lambdawrap: Measure: metrics: must not be nil")
	}

	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	return func(ctx context.Context, in In) (out Out, err error) {
		err = m.measure(ctx, func(ctx context.Context, c *counts) (err error) {
			out, err = h(ctx, in)
			c.take(in, out, err)

			return err
		})

		return out, err
	}
}

// MeasureHTTP is [Measure] for the handler that [HTTP] returns. It writes a line for each request but one that is refused
// before its record is asked for, such as one without a caller or with a body that is too long. The line has one message, and
// one failure if the work of the request is not done. GET, HEAD, OPTIONS and a request whose handler panics have no line. Where
// a rule of NewMetrics is broken, each request is answered with 500, before its work begins.
//
//	lambdaurl.Start(authenticate(metrics.MeasureHTTP(lambdawrap.HTTP(store, mux, opts))))
func (m *Metrics) MeasureHTTP(h http.Handler) http.Handler {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.invalid != nil {
			idemhttp.ServerError.With(m.invalid.Error()).Write(w)

			return
		}

		c, ctx := newCounts(), r.Context()
		h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, countsKey{}, c)))

		c.takeEnded()

		if c.messages > 0 {
			m.report(ctx, c)
		}
	})
}

// Observe counts the events of a batch; it is for idemddb.Options.Observe. It does not count events outside of a call that
// Measure or MeasureHTTP has begun.
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

	c := newCounts()

	err := call(context.WithValue(ctx, countsKey{}, c), c)
	if err != nil {
		c.failures = c.messages
	}

	m.report(ctx, c)

	return err
}

// report writes the line of a call that has ended, and the warning if it is due.
func (m *Metrics) report(ctx context.Context, c *counts) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.format.Write(m.out, c.values(), engine.RequestID(ctx))

	if c.doneUnobserved() && !m.observed.Load() && !m.warned {
		m.warned = true
		m.warn(ctx)
	}
}

// warn writes a line of JSON, as all lines of m.out are, with the members that Lambda's own log lines have.
func (m *Metrics) warn(ctx context.Context) {
	var attrs []slog.Attr
	if id := engine.RequestID(ctx); id != "" {
		attrs = append(attrs, slog.String(emf.RequestID, id))
	}

	slog.New(slog.NewJSONHandler(m.out, &slog.HandlerOptions{ReplaceAttr: lambdacontext.ReplaceAttr})).LogAttrs(ctx, slog.LevelWarn,
		"messages were done and no Store called Metrics.Observe: most metrics stay zero; set idemddb.Options.Observe to it", attrs...)
}
