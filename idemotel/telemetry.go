package idemotel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Options shape a Telemetry. Nil and zero mean the defaults.
type Options struct {
	// TracerProvider makes the spans. Defaults to nil: the global one, also if it is set later.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the metrics. Defaults to nil: the global one, also if it is set later.
	MeterProvider metric.MeterProvider

	// FlushTimeout is the longest time for one flush. A flush also takes at most half of the time that the invocation has left. While
	// an exporter does not answer, each invocation lasts as much longer. Negative is an error. Defaults to 1 s.
	FlushTimeout time.Duration
}

// Telemetry makes spans and metrics of what a Store and its wrapper report. It is safe for concurrent use. Make one with [New].
// Where a nil one is used, that panics.
type Telemetry struct {
	tracer       trace.Tracer
	events       metric.Int64Counter
	durations    metric.Float64Histogram
	flushTimeout time.Duration
	flushers     []*flusher

	queues made[string, *queue] // by ARN
	kinds  made[idemddb.Kind, []metric.AddOption]
}

const (
	scope = "github.com/idemddb/go-idemddb/idemotel"

	defaultFlushTimeout = time.Second
)

// New returns a Telemetry. opts may be nil. Its error names the field that is wrong, or is that of the MeterProvider.
func New(opts *Options) (*Telemetry, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}

	switch {
	case o.FlushTimeout < 0:
		return nil, fmt.Errorf("idemotel: Options.FlushTimeout: must not be negative, is %v", o.FlushTimeout)
	case isNilPointer(o.TracerProvider):
		return nil, errors.New("idemotel: Options.TracerProvider: must not be a nil pointer; leave it out for the global one")
	case isNilPointer(o.MeterProvider):
		return nil, errors.New("idemotel: Options.MeterProvider: must not be a nil pointer; leave it out for the global one")
	}

	tracers, meters := otel.GetTracerProvider, otel.GetMeterProvider // asked at each flush: the global one may be set later
	if o.TracerProvider != nil {
		tracers = func() trace.TracerProvider { return o.TracerProvider }
	}

	if o.MeterProvider != nil {
		meters = func() metric.MeterProvider { return o.MeterProvider }
	}

	t := &Telemetry{
		tracer:       tracers().Tracer(scope, trace.WithInstrumentationVersion(version())),
		flushTimeout: cmp.Or(o.FlushTimeout, defaultFlushTimeout),
		flushers: []*flusher{
			newFlusher("spans", func() any { return tracers() }),
			newFlusher("metrics", func() any { return meters() }),
		},
	}

	t.queues.make, t.kinds.make = newQueue, ofKind

	if err := t.instrument(meters().Meter(scope, metric.WithInstrumentationVersion(version()))); err != nil {
		return nil, err
	}

	return t, nil
}

// version is that of this module in the program.
func version() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, module := range append(info.Deps, &info.Main) {
			if module.Path == scope && module.Version != "" {
				return module.Version
			}
		}
	}

	return "(devel)"
}

// StoreOptions returns a copy of opts, which may be nil, for [idemddb.New]. Its Trace keeps the traceparent of the context's span
// in the record, unless opts has a Trace of its own. Its Observe counts each event, adds the links of replays and takeovers to
// the context's span, and then calls that of opts. Set a Trace or an Observe of your own in opts: set in the result, it would
// replace these.
func (t *Telemetry) StoreOptions(opts *idemddb.Options) *idemddb.Options {
	t.mustExist()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	if o.Trace == nil {
		o.Trace = Trace
	}

	own := o.Observe
	o.Observe = func(ctx context.Context, e idemddb.Event) {
		t.observe(ctx, e)

		if own != nil {
			own(ctx, e)
		}
	}

	return &o
}

// MessageOptions returns a copy of opts, which may be nil, for [lambdawrap.SQS] and [lambdawrap.Batch]. Its MessageContext begins
// the span of a message, after that of opts, and its OnMessage ends it, after that of opts, which can therefore add attributes.
// Set hooks of your own in opts: an OnMessage that is set in the result would replace the one that ends the spans.
//
// If the span's exporter panics, or hangs until the answer is due, that is logged, and the message ends as it would have without
// it. A span processor that exports at the end of each span makes the answer wait for its exporter; one that exports in batches
// does not.
func (t *Telemetry) MessageOptions(opts *lambdawrap.Options) *lambdawrap.Options {
	t.mustExist()

	o := lambdawrap.Options{}
	if opts != nil {
		o = *opts
	}

	derive, end := o.MessageContext, o.OnMessage
	o.MessageContext = func(ctx context.Context, m events.SQSMessage) context.Context {
		if derive != nil {
			if ctx = derive(ctx, m); ctx == nil {
				return nil
			}
		}

		return t.begin(ctx, m)
	}
	o.OnMessage = func(ctx context.Context, m events.SQSMessage, outcome lambdawrap.Outcome) {
		defer t.end(ctx, outcome) // also if the hook panics

		if end != nil {
			end(ctx, m, outcome)
		}
	}

	return &o
}

// instrument makes the instruments.
func (t *Telemetry) instrument(meter metric.Meter) error {
	var errEvents, errDurations error

	t.events, errEvents = meter.Int64Counter("idemddb.events",
		metric.WithUnit("{event}"), metric.WithDescription("Events of the keys of a Store."))
	t.durations, errDurations = meter.Float64Histogram("messaging.process.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of processing operation."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900))

	if err := errors.Join(errEvents, errDurations); err != nil {
		return fmt.Errorf("idemotel: New: %w", err)
	}

	return nil
}

// mustExist panics when a program begins, not when its first message comes.
func (t *Telemetry) mustExist() {
	if t == nil {
		panic("idemotel: Telemetry: must not be nil; check the error of New")
	}
}

func isNilPointer(provider any) bool {
	v := reflect.ValueOf(provider)

	return v.Kind() == reflect.Pointer && v.IsNil()
}
