package handwritten

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	lease     = 30 * time.Second
	retention = 7 * 24 * time.Hour
	clockSkew = time.Second
)

// worker does the work of a key once.
type worker struct {
	client   *dynamodb.Client
	table    string
	requests *requests
	send     func(ctx context.Context, body string) error
}

func newWorker(client *dynamodb.Client, table string) *worker {
	return &worker{client: client, table: table, requests: &fullRequests}
}

// settlement is what is written together with the completion.
type settlement struct {
	effects []types.TransactWriteItem
	message string // that is sent afterwards; "" for none
}

// Do returns a function that runs work once for a key and returns its result to every caller. While another caller works on the
// key, it is ErrInProgress.
func Do(client *dynamodb.Client, table string) func(ctx context.Context, key string, work func() ([]byte, error)) ([]byte, error) {
	w := newWorker(client, table)

	return func(ctx context.Context, key string, work func() ([]byte, error)) ([]byte, error) {
		return w.do(ctx, "bench#"+key, work, settlement{})
	}
}

// HTTP makes a handler idempotent by the header Idempotency-Key. It keeps the body of an answer, as that with status 200.
func HTTP(client *dynamodb.Client, table string, next http.Handler) http.Handler {
	do := Do(client, table)

	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		body, err := do(r.Context(), r.Header.Get("Idempotency-Key"), func() ([]byte, error) {
			kept := &kept{ResponseWriter: answer}
			next.ServeHTTP(kept, r)

			return kept.body.Bytes(), nil
		})

		switch {
		case errors.Is(err, ErrInProgress):
			answer.WriteHeader(http.StatusConflict)
		case err != nil:
			answer.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = answer.Write(body) // a client that has left gets the answer when it asks again
		}
	})
}

// kept holds back the body of an answer.
type kept struct {
	http.ResponseWriter

	body bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) { return k.body.Write(p) } //nolint:wrapcheck // it never fails

// do claims the key, works and completes the key. A key whose work failed can be claimed again when its lease is over.
func (w *worker) do(ctx context.Context, id string, work func() ([]byte, error), then settlement) ([]byte, error) {
	key := map[string]types.AttributeValue{"pk": stringValue(id)}
	owner := rand.Text()

	fence, err := w.claim(ctx, key, owner)
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		if state, ok := refused.Item["st"].(*types.AttributeValueMemberS); ok && state.Value == "COMPLETED" {
			result, _ := refused.Item["res"].(*types.AttributeValueMemberB)
			if result == nil {
				return nil, nil
			}

			return result.Value, nil
		}

		return nil, ErrInProgress
	}

	if err != nil {
		return nil, fmt.Errorf("handwritten: claim: %w", err)
	}

	result, err := work()
	if err != nil {
		return nil, err
	}

	completion := w.requests.complete(w.table, key, owner, fence)
	keep(completion, result, then.message)

	if err := w.complete(ctx, completion, then.effects); err != nil {
		return nil, fmt.Errorf("handwritten: complete: %w", err)
	}

	if then.message == "" {
		return result, nil
	}

	return result, w.announce(ctx, key, owner, then.message)
}

// claim returns the fencing token of the new claim: one more than the token before it, or than the time if the item is new.
func (w *worker) claim(ctx context.Context, key map[string]types.AttributeValue, owner string) (fence int64, err error) {
	now := time.Now()

	out, err := w.client.UpdateItem(ctx, w.requests.claim(w.table, key, owner, now))
	if err != nil {
		return 0, err //nolint:wrapcheck // do wraps it
	}

	before := now.UnixMilli()

	if stored, ok := out.Attributes["fence"].(*types.AttributeValueMemberN); ok {
		if before, err = strconv.ParseInt(stored.Value, 10, 64); err != nil {
			return 0, fmt.Errorf("parse fence: %w", err)
		}
	}

	return before + 1, nil
}

// keep adds the result and the unsent message to a completion. The message is noted in the sparse index of those that are due.
func keep(completion *dynamodb.UpdateItemInput, result []byte, message string) {
	update := "SET"

	if result != nil {
		update += " res = :res,"
		completion.ExpressionAttributeValues[":res"] = &types.AttributeValueMemberB{Value: result}
	}

	if message != "" {
		update += " message = :message, due_ns = :namespace, due = :nowms,"
		completion.ExpressionAttributeValues[":message"] = stringValue(message)
		completion.ExpressionAttributeValues[":namespace"] = stringValue("bench")
	}

	completion.UpdateExpression = new(update + (*completion.UpdateExpression)[len("SET"):])
}

func (w *worker) complete(ctx context.Context, completion *dynamodb.UpdateItemInput, effects []types.TransactWriteItem) error {
	if len(effects) == 0 {
		_, err := w.client.UpdateItem(ctx, completion)

		return err //nolint:wrapcheck // do wraps it
	}

	_, err := w.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: append([]types.TransactWriteItem{{Update: &types.Update{
			TableName: completion.TableName, Key: completion.Key, ConditionExpression: completion.ConditionExpression,
			UpdateExpression: completion.UpdateExpression, ExpressionAttributeNames: completion.ExpressionAttributeNames,
			ExpressionAttributeValues: completion.ExpressionAttributeValues,
		}}}, effects...),
	})

	return err //nolint:wrapcheck // do wraps it
}

// announce sends the message of a completed record, and removes it from the record.
func (w *worker) announce(ctx context.Context, key map[string]types.AttributeValue, owner, message string) error {
	if err := w.send(ctx, message); err != nil {
		return err
	}

	if _, err := w.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: key, ConditionExpression: new("own = :mine AND attribute_exists(message)"),
		UpdateExpression: new("REMOVE message, due_ns, due"), ExpressionAttributeValues: map[string]types.AttributeValue{":mine": stringValue(owner)},
	}); err != nil {
		return fmt.Errorf("handwritten: remove the message: %w", err)
	}

	return nil
}

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func numberValue(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
