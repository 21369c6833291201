package idemotel

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const (
	outcomeKey = attribute.Key("idemddb.outcome")
	kindKey    = attribute.Key("idemddb.kind")
)

// process is the work on one message.
type process struct {
	span  trace.Span
	begun time.Time
	queue *queue
}

type processKey struct{}

// begin begins the span of a message.
func (t *Telemetry) begin(ctx context.Context, m events.SQSMessage) context.Context {
	p := &process{begun: time.Now(), queue: t.queues.of(m.EventSourceARN)}
	options := slices.Concat(p.queue.span, []trace.SpanStartOption{
		trace.WithAttributes(semconv.MessagingMessageID(m.MessageId)), trace.WithLinks(producers(m)...),
	})

	ctx, p.span = t.tracer.Start(ctx, p.queue.spanName, options...) //nolint:spancheck // end ends it

	return context.WithValue(ctx, processKey{}, p)
}

// end ends the span of a message. The span's processor may panic or hang, so it comes last.
func (t *Telemetry) end(ctx context.Context, o lambdawrap.Outcome) {
	p, ok := ctx.Value(processKey{}).(*process)
	if !ok {
		return // its span could not begin
	}

	ended := p.queue.endings.of(o)
	if isFailure(o) {
		p.span.SetStatus(codes.Error, string(o))
	}

	t.durations.Record(ctx, time.Since(p.begun).Seconds(), ended.duration...)
	p.span.SetAttributes(ended.attributes...)
	p.span.End()
}

// isFailure reports whether the work, its record or the message itself failed, now or before. That the work is done or being done
// elsewhere is no failure, nor is a message that waits for the next delivery because its turn or the time for it did not come.
func isFailure(o lambdawrap.Outcome) bool {
	switch o {
	case lambdawrap.OutcomeCompleted, lambdawrap.OutcomeReplayed, lambdawrap.OutcomeEmpty, lambdawrap.OutcomeInProgress,
		lambdawrap.OutcomeBlocked, lambdawrap.OutcomeNoTime:
		return false
	default:
		return true
	}
}

// observe counts an event. If it names the run before, the span of the context gets a link to that run.
func (t *Telemetry) observe(ctx context.Context, e idemddb.Event) {
	t.events.Add(ctx, 1, t.kinds.of(e.Kind)...)

	if before := fromTraceparent(e.Trace, ""); before.IsValid() { //nolint:contextcheck // the context has another span
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: before, Attributes: []attribute.KeyValue{kindKey.String(string(e.Kind))}})
	}
}
