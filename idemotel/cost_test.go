package idemotel_test

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemotel"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// What the OpenTelemetry SDK takes for a span with seven attributes is most of it.
func TestWhatAMessageTakesOfTheMemory(t *testing.T) {
	tel, err := idemotel.New(&idemotel.Options{
		TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
	})
	if err != nil {
		t.Fatal(err)
	}

	opts, store := tel.MessageOptions(nil), tel.StoreOptions(nil)
	m := events.SQSMessage{MessageId: "m-1", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments"}

	got := testing.AllocsPerRun(100, func() {
		ctx := opts.MessageContext(t.Context(), m)
		store.Observe(ctx, idemddb.Event{Kind: idemddb.KindClaimed})
		store.Observe(ctx, idemddb.Event{Kind: idemddb.KindCompleted})
		opts.OnMessage(ctx, m, lambdawrap.OutcomeCompleted)
	})
	if got > 15 {
		t.Errorf("a message takes %.0f allocations", got)
	}
}
