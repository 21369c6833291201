// Package handwritten is the baseline that the benchmarks compare the library with: what a competent engineer writes without it.
// It claims each key with one UpdateItem request, does the work, and completes the key with another, or it does both in one
// transaction.
package handwritten

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Options change the handler. Nil and zero mean the defaults.
type Options struct {
	// Lean uses the shortest correct records and conditions, without a fencing token, a format version, and what an operator
	// reads. Defaults to false: the attributes and conditions of the library's records.
	Lean bool

	// Workers is how many messages are handled at a time. Defaults to 1.
	Workers int

	// Effects returns items that are written in one transaction with the completion of a message. Defaults to nil: none.
	Effects func(events.SQSMessage) []types.TransactWriteItem

	// Send sends the message that follows from a message: its body is stored with the completion, sent, and removed from the record.
	// Defaults to nil: nothing follows.
	Send func(ctx context.Context, body string) error
}

// SQS wraps a handler of single messages for lambda.Start. It is safe for concurrent use.
func SQS(
	client *dynamodb.Client, table string, handle func(context.Context, events.SQSMessage) error, opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if opts == nil {
		opts = &Options{}
	}

	w := newWorker(client, table)
	w.send = opts.Send

	if opts.Lean {
		w.requests = &leanRequests
	}

	return each(opts.Workers, func(ctx context.Context, m events.SQSMessage) error {
		var then settlement

		if opts.Effects != nil {
			then.effects = opts.Effects(m)
		}

		if opts.Send != nil {
			then.message = m.Body
		}

		_, err := w.do(ctx, "bench#"+m.EventSourceARN+"/"+m.MessageId, func() ([]byte, error) { return nil, handle(ctx, m) }, then)

		return err
	})
}

// Kinesis wraps a handler of single records for lambda.Start. It handles one record after the other and stops at the first that
// fails.
func Kinesis(
	client *dynamodb.Client, table string, handle func(context.Context, events.KinesisEventRecord) error,
) func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error) {
	w := newWorker(client, table)

	return func(ctx context.Context, event events.KinesisEvent) (response events.KinesisEventResponse, err error) {
		for _, r := range event.Records {
			work := func() ([]byte, error) { return nil, handle(ctx, r) }

			if _, err := w.do(ctx, "bench#"+r.EventSourceArn+"/"+r.EventID, work, settlement{}); err != nil {
				failure := events.KinesisBatchItemFailure{ItemIdentifier: r.Kinesis.SequenceNumber}
				response.BatchItemFailures = append(response.BatchItemFailures, failure)

				break
			}
		}

		return response, nil
	}
}

// each makes a handler of events of one that handles a message, for this many messages at a time.
func each(
	workers int, process func(context.Context, events.SQSMessage) error,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		errs := make([]error, len(event.Records))

		if workers > 1 {
			processConcurrently(ctx, event, errs, workers, process)
		} else {
			for i, m := range event.Records {
				errs[i] = process(ctx, m)
			}
		}

		return report(event, errs), nil
	}
}

// processConcurrently sets one error for each message of the batch, nil for those that are done.
func processConcurrently(
	ctx context.Context, event events.SQSEvent, errs []error, workers int, process func(context.Context, events.SQSMessage) error,
) {
	var running sync.WaitGroup

	slots := make(chan struct{}, workers)

	for i, m := range event.Records {
		slots <- struct{}{}

		running.Go(func() {
			defer func() { <-slots }()

			errs[i] = process(ctx, m)
		})
	}

	running.Wait()
}

// report names the failed messages in the answer to Lambda.
func report(event events.SQSEvent, errs []error) (response events.SQSEventResponse) {
	for i, err := range errs {
		if err != nil {
			failure := events.SQSBatchItemFailure{ItemIdentifier: event.Records[i].MessageId}
			response.BatchItemFailures = append(response.BatchItemFailures, failure)
		}
	}

	return response
}

// ErrInProgress says that another worker holds the key.
var ErrInProgress = errors.New("handwritten: another worker holds the key")
