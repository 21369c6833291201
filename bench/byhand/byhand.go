// Package byhand is what a competent engineer writes without the library: an SQS handler that claims each message with one
// UpdateItem, works, and completes with another. The benchmark measures the library against it.
package byhand

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

// Options shape the handler. Nil and zero mean the defaults.
type Options struct {
	// Lean leaves out what the shortest correct version does without: the fence, the format version, the attempts and times
	// that an operator asks for. Defaults to false: the conditions and attributes of the library's records.
	Lean bool

	// Workers is how many messages are worked on at a time. Defaults to 1.
	Workers int
}

const (
	lease     = 30 * time.Second
	retention = 7 * 24 * time.Hour
	skew      = time.Second
)

var errHeld = errors.New("byhand: another worker has the key")

// SQS wraps a handler of single messages for lambda.Start. It is safe for concurrent use.
func SQS(
	client *dynamodb.Client, table string, handle func(context.Context, events.SQSMessage) error, opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if opts == nil {
		opts = &Options{}
	}

	w := &wrapper{client: client, table: table, handle: handle, words: &full}
	if opts.Lean {
		w.words = &lean
	}

	if opts.Workers > 1 {
		return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
			return w.together(ctx, event, opts.Workers), nil
		}
	}

	return w.inTurn
}

type wrapper struct {
	client *dynamodb.Client
	table  string
	handle func(context.Context, events.SQSMessage) error
	words  *words
}

func (w *wrapper) inTurn(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	var response events.SQSEventResponse

	for _, m := range event.Records {
		if err := w.once(ctx, m); err != nil {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}

	return response, nil
}

func (w *wrapper) together(ctx context.Context, event events.SQSEvent, workers int) (response events.SQSEventResponse) {
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		slots = make(chan struct{}, workers)
	)

	for _, m := range event.Records {
		slots <- struct{}{}

		group.Go(func() {
			defer func() { <-slots }()

			if err := w.once(ctx, m); err != nil {
				mu.Lock()
				defer mu.Unlock()

				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		})
	}

	group.Wait()

	return response
}

// once claims, works and completes. A failed message waits for its lease.
func (w *wrapper) once(ctx context.Context, m events.SQSMessage) error {
	key := map[string]types.AttributeValue{"pk": text("bench#" + m.EventSourceARN + "/" + m.MessageId)}
	token := rand.Text()

	fence, err := w.claim(ctx, key, token)
	if refusal, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		if state, ok := refusal.Item["st"].(*types.AttributeValueMemberS); ok && state.Value == "COMPLETED" {
			return nil
		}

		return errHeld
	}

	if err != nil {
		return fmt.Errorf("byhand: claim: %w", err)
	}

	if err := w.handle(ctx, m); err != nil {
		return err
	}

	if _, err := w.client.UpdateItem(ctx, w.words.complete(w.table, key, token, fence)); err != nil {
		return fmt.Errorf("byhand: complete: %w", err)
	}

	return nil
}

func (w *wrapper) claim(ctx context.Context, key map[string]types.AttributeValue, token string) (fence int64, err error) {
	now := time.Now()

	out, err := w.client.UpdateItem(ctx, w.words.claim(w.table, key, token, now))
	if err != nil {
		return 0, err //nolint:wrapcheck // once looks at it
	}

	fence = now.UnixMilli()

	if old, ok := out.Attributes["fence"].(*types.AttributeValueMemberN); ok {
		if fence, err = strconv.ParseInt(old.Value, 10, 64); err != nil {
			return 0, fmt.Errorf("byhand: fence: %w", err)
		}
	}

	return fence + 1, nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
