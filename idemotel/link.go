package idemotel

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Names of W3C Trace Context, and of SQS for the header of AWS X-Ray.
const (
	traceparentName = "traceparent"
	tracestateName  = "tracestate"
	xrayName        = "AWSTraceHeader"
)

// Trace returns the W3C traceparent of the span in ctx, sampled or not, or "" if there is none. It is for idemddb.Options.Trace.
func Trace(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)

	return carrier[traceparentName]
}

// fromTraceparent reads W3C texts. What cannot be read is an invalid span context.
func fromTraceparent(parent, state string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}

	carrier := propagation.MapCarrier{traceparentName: parent, tracestateName: state}

	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// producers returns the link to the span that sent a message, if the message names one. An instrumented producer writes a
// traceparent; SQS itself carries the header of AWS X-Ray.
func producers(m events.SQSMessage) []trace.Link {
	for _, producer := range []trace.SpanContext{
		fromTraceparent(attributeText(m, traceparentName), attributeText(m, tracestateName)), fromXRay(m.Attributes[xrayName]),
	} {
		if producer.IsValid() {
			return []trace.Link{{SpanContext: producer}}
		}
	}

	return nil
}

func attributeText(m events.SQSMessage, name string) string {
	if text := m.MessageAttributes[name].StringValue; text != nil {
		return *text
	}

	return ""
}

// fromXRay reads a header of AWS X-Ray, such as Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=1. What
// cannot be read, or names no span, is an invalid span context.
func fromXRay(header string) trace.SpanContext {
	config := trace.SpanContextConfig{Remote: true}

	for part := range strings.SplitSeq(header, ";") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "Root":
			if root := strings.Split(value, "-"); len(root) == 3 && root[0] == "1" {
				config.TraceID, _ = trace.TraceIDFromHex(root[1] + root[2])
			}
		case "Parent":
			config.SpanID, _ = trace.SpanIDFromHex(value)
		case "Sampled":
			config.TraceFlags = trace.TraceFlags(0).WithSampled(value == "1")
		}
	}

	return trace.NewSpanContext(config)
}
