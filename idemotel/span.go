package idemotel

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const (
	outcomeKey = attribute.Key("idemddb.outcome")
	kindKey    = attribute.Key("idemddb.kind")

	operation = "process"
)

// process is the work on one message.
type process struct {
	span       trace.Span
	begun      time.Time
	attributes []attribute.KeyValue // which the span and the metrics share
}

type processKey struct{}

// begin begins the span of a message.
func (t *Telemetry) begin(ctx context.Context, m events.SQSMessage) context.Context {
	queue := queueName(m.EventSourceARN)
	p := &process{begun: time.Now(), attributes: []attribute.KeyValue{
		semconv.MessagingSystemAWSSQS, semconv.MessagingOperationName(operation), semconv.MessagingDestinationName(queue),
	}}

	ctx, p.span = t.tracer.Start(ctx, strings.TrimSpace(operation+" "+queue), //nolint:spancheck // end ends it
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(producers(m)...),
		trace.WithAttributes(p.attributes...),
		trace.WithAttributes(
			semconv.FaaSTriggerPubSub, semconv.MessagingOperationTypeProcess, semconv.MessagingMessageID(m.MessageId)),
	)

	return context.WithValue(ctx, processKey{}, p)
}

// end ends the span of a message. The span's processor may panic or hang, so it comes last.
func (t *Telemetry) end(ctx context.Context, o lambdawrap.Outcome) {
	p, ok := ctx.Value(processKey{}).(*process)
	if !ok {
		return // its span could not begin
	}

	ended := []attribute.KeyValue{outcomeKey.String(string(o))}
	if isFailure(o) {
		ended = append(ended, semconv.ErrorTypeKey.String(string(o)))
		p.span.SetStatus(codes.Error, string(o))
	}

	t.durations.Record(ctx, time.Since(p.begun).Seconds(), metric.WithAttributes(p.attributes...), metric.WithAttributes(ended...))
	p.span.SetAttributes(ended...)
	p.span.End()
}

// isFailure reports whether the work, its record or the message itself failed. What the record answered is no failure, nor is a message that
// waits for the next delivery because its turn or the time for it did not come.
func isFailure(o lambdawrap.Outcome) bool {
	switch o {
	case lambdawrap.OutcomeCompleted, lambdawrap.OutcomeReplayed, lambdawrap.OutcomeInProgress, lambdawrap.OutcomeRefused,
		lambdawrap.OutcomeMismatch, lambdawrap.OutcomeBlocked, lambdawrap.OutcomeNoTime:
		return false
	default:
		return true
	}
}

// observe counts an event. If it names the run before, the span of the context gets a link to that run.
func (t *Telemetry) observe(ctx context.Context, e idemddb.Event) {
	kind := kindKey.String(string(e.Kind))
	t.events.Add(ctx, 1, metric.WithAttributes(kind))

	if before := fromTraceparent(e.Trace, ""); before.IsValid() { //nolint:contextcheck // the context has another span
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: before, Attributes: []attribute.KeyValue{kind}})
	}
}

// queueName is the last part of a queue's ARN.
func queueName(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }
