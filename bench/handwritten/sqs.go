// Package handwritten is the baseline that the benchmarks compare the library with: the SQS handler that a competent engineer
// writes without it. It claims each message with one UpdateItem request, calls the handler, and completes the message with
// another.
package handwritten

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

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
}

const (
	lease     = 30 * time.Second
	retention = 7 * 24 * time.Hour
	clockSkew = time.Second
)

var errInProgress = errors.New("handwritten: another worker holds the key")

// SQS wraps a handler of single messages for lambda.Start. It is safe for concurrent use.
func SQS(
	client *dynamodb.Client, table string, handle func(context.Context, events.SQSMessage) error, opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	w := &wrapper{client: client, table: table, handle: handle, requests: &fullRequests}

	if opts != nil && opts.Lean {
		w.requests = &leanRequests
	}

	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if opts != nil && opts.Workers > 1 {
			return report(event, w.processConcurrently(ctx, event, opts.Workers)), nil
		}

		return report(event, w.processInOrder(ctx, event)), nil
	}
}

type wrapper struct {
	client   *dynamodb.Client
	table    string
	handle   func(context.Context, events.SQSMessage) error
	requests *requests
}

// processInOrder returns one error for each message of the batch, nil for those that are done.
func (w *wrapper) processInOrder(ctx context.Context, event events.SQSEvent) []error {
	errs := make([]error, len(event.Records))
	for i, m := range event.Records {
		errs[i] = w.process(ctx, m)
	}

	return errs
}

func (w *wrapper) processConcurrently(ctx context.Context, event events.SQSEvent, workers int) []error {
	var running sync.WaitGroup

	errs := make([]error, len(event.Records))
	slots := make(chan struct{}, workers)

	for i, m := range event.Records {
		slots <- struct{}{}

		running.Go(func() {
			defer func() { <-slots }()

			errs[i] = w.process(ctx, m)
		})
	}

	running.Wait()

	return errs
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

// process claims the message, handles it and completes it. A message whose handler failed can be claimed again when its lease is
// over.
func (w *wrapper) process(ctx context.Context, m events.SQSMessage) error {
	key := map[string]types.AttributeValue{"pk": stringValue("bench#" + m.EventSourceARN + "/" + m.MessageId)}
	owner := rand.Text()

	fence, err := w.claim(ctx, key, owner)
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		if state, ok := refused.Item["st"].(*types.AttributeValueMemberS); ok && state.Value == "COMPLETED" {
			return nil
		}

		return errInProgress
	}

	if err != nil {
		return fmt.Errorf("handwritten: claim: %w", err)
	}

	if err := w.handle(ctx, m); err != nil {
		return err
	}

	if _, err := w.client.UpdateItem(ctx, w.requests.complete(w.table, key, owner, fence)); err != nil {
		return fmt.Errorf("handwritten: complete: %w", err)
	}

	return nil
}

// claim returns the fencing token of the new claim: one more than the token before it, or than the time if the item is new.
func (w *wrapper) claim(ctx context.Context, key map[string]types.AttributeValue, owner string) (fence int64, err error) {
	now := time.Now()

	out, err := w.client.UpdateItem(ctx, w.requests.claim(w.table, key, owner, now))
	if err != nil {
		return 0, err //nolint:wrapcheck // process wraps it
	}

	before := now.UnixMilli()

	if stored, ok := out.Attributes["fence"].(*types.AttributeValueMemberN); ok {
		if before, err = strconv.ParseInt(stored.Value, 10, 64); err != nil {
			return 0, fmt.Errorf("parse fence: %w", err)
		}
	}

	return before + 1, nil
}

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func numberValue(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
