package idemotel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemotel"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type payment struct {
	PaymentID string `json:"paymentId"`
}

func pay(_ context.Context, p payment) error {
	fmt.Println("paying", p.PaymentID)

	return nil
}

// newFunction returns the function for lambda.Start. A program passes dynamodb.NewFromConfig(cfg), and an exporter such as that
// of otlptracehttp.New(ctx).
func newFunction(
	client idemddb.DynamoDB, exporter sdktrace.SpanExporter,
) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))

	tel, err := idemotel.New(&idemotel.Options{TracerProvider: tracers})
	if err != nil {
		return nil, err
	}

	store, err := idemddb.New(client, "records", "payments", tel.StoreOptions(nil))
	if err != nil {
		return nil, err
	}

	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		return nil, err
	}

	opts := tel.MessageOptions(&lambdawrap.Options{Key: key, Timeout: 5 * time.Second})

	return idemotel.Flush(tel, lambdawrap.SQS(store, lambdawrap.JSON(pay), opts)), nil
}

// A payment is delivered twice. The second span has no handler's run, and a link to the first, which has.
func Example() {
	exporter := tracetest.NewInMemoryExporter()

	function, err := newFunction(inMemory(), exporter)
	if err != nil {
		fmt.Println(err)

		return
	}

	for _, id := range []string{"m-1", "m-2"} {
		if _, err := function(context.Background(), received(id, `{"paymentId":"p-1"}`)); err != nil {
			fmt.Println(err)
		}
	}

	runs := map[string]string{} // by span id: outcome

	for _, span := range exporter.GetSpans().Snapshots() { // they are exported when the function answers
		outcome := valueOf(span, "idemddb.outcome")
		runs[span.SpanContext().SpanID().String()] = outcome

		fmt.Printf("%s of %s: %s\n", span.Name(), valueOf(span, "messaging.message.id"), outcome)

		for _, link := range span.Links() {
			fmt.Printf("  %s: it stands for the run that is %s\n", link.Attributes[0].Value.String(), runs[link.SpanContext.SpanID().String()])
		}
	}
	// Output:
	// paying p-1
	// process payments of m-1: completed
	// process payments of m-2: replayed
	//   replayed: it stands for the run that is completed
}

// Two providers that are set as global ones need no options.
func ExampleNew() {
	tel, err := idemotel.New(nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	store, err := idemddb.New(inMemory(), "records", "payments", tel.StoreOptions(&idemddb.Options{Lease: 10 * time.Second}))
	fmt.Println(store != nil, err)
	// Output: true <nil>
}

// The spans of an invocation are exported before its answer, because Lambda freezes the process after it.
func ExampleFlush() {
	exporter := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))

	tel, err := idemotel.New(&idemotel.Options{TracerProvider: tracers})
	if err != nil {
		fmt.Println(err)

		return
	}

	function := idemotel.Flush(tel, func(ctx context.Context, name string) (string, error) {
		_, span := tracers.Tracer("payments").Start(ctx, "greet")
		defer span.End()

		return "hello, " + name, nil
	})

	answer, err := function(context.Background(), "Anna")
	fmt.Println(answer, err, len(exporter.GetSpans()))
	// Output: hello, Anna <nil> 1
}

// A wrapper that makes spans of invocations can flush, too, if it takes what has this method.
func ExampleTelemetry_ForceFlush() {
	exporter := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))

	tel, err := idemotel.New(&idemotel.Options{TracerProvider: tracers, FlushTimeout: 2 * time.Second})
	if err != nil {
		fmt.Println(err)

		return
	}

	_, span := tracers.Tracer("payments").Start(context.Background(), "invocation")
	span.End()

	fmt.Println(tel.ForceFlush(context.Background()), len(exporter.GetSpans()))
	// Output: <nil> 1
}

// A caller of Do has a span of its own. The record keeps its traceparent.
func ExampleTrace() {
	tracers := sdktrace.NewTracerProvider()

	store, err := idemddb.New(inMemory(), "records", "payments", &idemddb.Options{Trace: idemotel.Trace})
	if err != nil {
		fmt.Println(err)

		return
	}

	ctx, span := tracers.Tracer("payments").Start(context.Background(), "order")
	defer span.End()

	if _, err := idemddb.Do(ctx, store, "p-1", nil, func(context.Context) (string, error) { return "receipt", nil }); err != nil {
		fmt.Println(err)
	}

	again := func(context.Context, *idemddb.Claim) ([]byte, error) { return nil, nil }

	rec, err := idemddb.Run(context.Background(), store, "p-1", nil, again)
	fmt.Println(rec.Trace == idemotel.Trace(ctx), idemotel.Trace(context.Background()) == "", err)
	// Output: true true <nil>
}

// Everything from here on stands in for AWS.

// inMemory returns a table in memory, in place of dynamodb.NewFromConfig(cfg).
func inMemory() *idemddbtest.DB {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", "")); err != nil {
		panic(err)
	}

	return db
}

// received returns an event of one message, as a function gets it from Lambda.
func received(id, body string) events.SQSEvent {
	return events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: id, Body: body, EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
	}}}
}
