package idemotel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemotel"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// station is a Telemetry that keeps in memory what it measures, and a table in memory. The keys of messages are their bodies.
type station struct {
	*testing.T

	tel    *idemotel.Telemetry
	spans  *tracetest.SpanRecorder
	tracer *sdktrace.TracerProvider
	reader *metric.ManualReader
	clock  *idemddbtest.Clock
	db     *idemddbtest.DB
	opts   lambdawrap.Options
}

func newStation(t *testing.T) *station {
	t.Helper()

	s := &station{
		T: t, spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader(), db: idemddbtest.New(nil),
		clock: idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)),
		opts: lambdawrap.Options{
			Key: func(_ context.Context, m events.SQSMessage) (string, error) { return m.Body, nil }, Logger: slog.New(slog.DiscardHandler),
		},
	}
	s.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))

	var err error
	if s.tel, err = idemotel.New(&idemotel.Options{
		TracerProvider: s.tracer, MeterProvider: metric.NewMeterProvider(metric.WithReader(s.reader)),
	}); err != nil {
		t.Fatal(err)
	}

	if _, err := s.db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
		t.Fatal(err)
	}

	return s
}

// open opens a Store on the table whose options come from the Telemetry.
func (s *station) open(opts idemddb.Options) *idemddb.Store {
	s.Helper()

	return s.openBare(s.tel.StoreOptions(&opts))
}

func (s *station) openBare(opts *idemddb.Options) *idemddb.Store {
	s.Helper()

	opts.Now = s.clock.Now

	store, err := idemddb.New(s.db, "records", "payments", opts)
	if err != nil {
		s.Fatal(err)
	}

	return store
}

// invoke makes one invocation under a span of its own and returns the ids of the messages that come back.
func (s *station) invoke(store *idemddb.Store, work lambdawrap.Handler, messages ...events.SQSMessage) (failed []string) {
	s.Helper()

	ctx, span := s.tracer.Tracer("test").Start(s.Context(), "invocation")
	defer span.End()

	response, err := lambdawrap.SQS(store, work, s.tel.MessageOptions(&s.opts))(ctx, events.SQSEvent{Records: messages})
	if err != nil {
		s.Fatal(err)
	}

	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	return failed
}

// ended returns the only ended span with this message id since the last call of reset.
func (s *station) ended(id string) sdktrace.ReadOnlySpan {
	s.Helper()

	var found []sdktrace.ReadOnlySpan

	for _, span := range s.spans.Ended() {
		if valueOf(span, "messaging.message.id") == id {
			found = append(found, span)
		}
	}

	if len(found) != 1 {
		s.Fatalf("message %s has %d spans that ended, want 1", id, len(found))
	}

	return found[0]
}

// reset forgets the spans.
func (s *station) reset() {
	s.spans.Reset()
}

// valueOf returns an attribute of a span as text, "" if it has none.
func valueOf(span sdktrace.ReadOnlySpan, name attribute.Key) string {
	for _, a := range span.Attributes() {
		if a.Key == name {
			return a.Value.String()
		}
	}

	return ""
}

// points returns the values of a counter, or the counts of a histogram, by one of its attributes.
func (s *station) points(name string, by attribute.Key) map[string]int {
	s.Helper()

	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(s.Context(), &all); err != nil {
		s.Fatal(err)
	}

	values := map[string]int{}

	for _, of := range all.ScopeMetrics {
		for _, m := range of.Metrics {
			if m.Name != name {
				continue
			}

			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					value, _ := p.Attributes.Value(by)
					values[value.String()] += int(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					value, _ := p.Attributes.Value(by)
					values[value.String()] += int(p.Count)
				}
			default:
				s.Fatalf("metric %s: %T", name, data)
			}
		}
	}

	return values
}

// message returns a message whose id is its body with "id of" before it.
func message(body string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: "id of " + body, Body: body, EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
		Attributes: map[string]string{}, MessageAttributes: map[string]events.SQSMessageAttribute{},
	}
}

func succeed(context.Context, events.SQSMessage) error { return nil }

var errBank = errors.New("the bank is closed")

func fail(context.Context, events.SQSMessage) error { return fmt.Errorf("paying: %w", errBank) }
