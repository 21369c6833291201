package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The two sides.
const (
	library        = "library"
	byHand         = "by hand"
	byHandAnnounce = "by hand, with announcements"
)

// result is the answer to a batch.
type result struct {
	Failed []string        // the ids of the messages that failed
	Took   []time.Duration // of the others, from the start of the batch
	CPU    time.Duration   // that this process has used since it began
}

// work is the worker process: it reads the side, then batches, and writes a result for each. It returns at the end of the
// batches.
func work(ctx context.Context, batches io.Reader, results io.Writer) error {
	decoder, encoder := gob.NewDecoder(batches), gob.NewEncoder(results)

	var side string
	if err := decoder.Decode(&side); err != nil {
		return fmt.Errorf("read the side: %w", err)
	}

	w := &worker{}
	if err := w.open(ctx, side); err != nil {
		return err
	}

	for {
		var batch []events.SQSMessage
		if err := decoder.Decode(&batch); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a batch: %w", err)
		}

		r, err := w.deliver(ctx, batch)
		if err != nil {
			return err
		}

		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("write a result: %w", err)
		}
	}
}

// worker is a Lambda function.
type worker struct {
	invoke func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

	mu    sync.Mutex
	began time.Time                // of the batch
	took  map[string]time.Duration // by the id of the message
}

// open makes the handler of a side, as a deployed function does. The client finds the endpoint in the environment.
func (w *worker) open(ctx context.Context, side string) error {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}

	if side != library {
		tables := handwritten.PaymentTables{Records: recordTable, Ledger: ledgerTable, Announces: side == byHandAnnounce}
		w.invoke = handwritten.Payments(dynamodb.NewFromConfig(cfg), tables, w.ended)

		return nil
	}

	cfg.HTTPClient = idemddb.HTTPClient()
	w.invoke, err = w.sample(dynamodb.NewFromConfig(cfg))

	return err
}

// sample puts functions/payments together as its main package does. Only what leaves the process is another: logs and metrics go
// nowhere, announcements to a queue that accepts them at once, and failed messages come back when this program's queue says so.
func (w *worker) sample(client *dynamodb.Client) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	names := map[string]string{"Function": "payments"}
	metrics := lambdawrap.NewMetrics(io.Discard, "Payments", names)

	accounts, err := ledger.New(ledgerTable, nil)
	if err != nil {
		return nil, err
	}

	store, err := idemddb.New(client, recordTable, "payments", &idemddb.Options{
		Retention: 30 * 24 * time.Hour, Observe: metrics.Observe, Senders: map[string]idemddb.Sender{ledger.Captured: accepting{}},
	})
	if err != nil {
		return nil, err
	}

	opts := accounts.Options()
	opts.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // the lines cost what they cost in a deployed function
	opts.OnMessage = func(_ context.Context, m events.SQSMessage, _ lambdawrap.Outcome) { w.ended(m) }

	return lambdawrap.Measure(metrics, lambdawrap.SQS(store, accounts.Pay, opts)), nil
}

// accepting is a sender whose target accepts each message.
type accepting struct{}

func (accepting) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	return make([]error, len(ms))
}

// ended notes how long a message of the batch took.
func (w *worker) ended(m events.SQSMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.took[m.MessageId] = time.Since(w.began)
}

// deliver invokes the handler as Lambda does, with a deadline and a request id.
func (w *worker) deliver(ctx context.Context, batch []events.SQSMessage) (r result, err error) {
	ctx, cancel := context.WithTimeout(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
	}), 30*time.Second)
	defer cancel()

	w.began, w.took = time.Now(), map[string]time.Duration{}

	response, err := w.invoke(ctx, events.SQSEvent{Records: batch})
	if err != nil {
		return r, fmt.Errorf("invocation: %w", err)
	}

	for _, failure := range response.BatchItemFailures {
		r.Failed = append(r.Failed, failure.ItemIdentifier)
		delete(w.took, failure.ItemIdentifier)
	}

	r.Took = slices.Collect(maps.Values(w.took))
	r.CPU, err = cpuTime()

	return r, err
}
