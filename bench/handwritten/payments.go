package handwritten

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// PaymentTables are the tables of Payments. Both have the partition key "pk".
type PaymentTables struct {
	Records string // what was done
	Ledger  string // accounts and entries

	// Announces says that each payment is announced, too: its record holds the body until the announcement is sent. A target that
	// accepts each message at once stands for the queue, as in the measurements of the library. What a crash leaves in a record is
	// not sent by anybody.
	Announces bool
}

// Payments does what functions/payments does, with one transaction for each message, one message after the other; it announces
// only if tables say so. The transaction makes a record, which must be new, adds the amount to the account and books an entry. If
// the record is there, the message is a duplicate and done. If another transaction is in the way, Payments waits and sends it
// again, with the pauses of the SDK's own retries (full jitter from 25 ms on), until ctx ends. It calls ended for each message
// that is done; nil means nobody is called. The handler is safe for concurrent use.
func Payments(
	client *dynamodb.Client, tables PaymentTables, ended func(events.SQSMessage),
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return each(1, func(ctx context.Context, m events.SQSMessage) error {
		var paid payment
		if err := json.Unmarshal([]byte(m.Body), &paid); err != nil || paid.ID == "" || paid.Account == "" || paid.Amount <= 0 {
			return errors.New("handwritten: the message is no payment")
		}

		record := newRecord("payments#" + paid.ID)
		if tables.Announces {
			record["outbox"] = stringValue(m.Body)
		}

		isNew, err := commit(ctx, client, tables.Records, record, tables.effects(paid))
		if err == nil && isNew && tables.Announces {
			err = removeOutbox(ctx, client, tables.Records, record["pk"])
		}

		if err == nil && ended != nil {
			ended(m)
		}

		return err
	})
}

// removeOutbox writes down that the announcement of a record is sent.
func removeOutbox(ctx context.Context, client *dynamodb.Client, records string, id types.AttributeValue) error {
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &records, Key: map[string]types.AttributeValue{"pk": id},
		UpdateExpression: new("REMOVE outbox"), ConditionExpression: new("attribute_exists(outbox)"),
	})
	if err != nil {
		return fmt.Errorf("handwritten: removal: %w", err)
	}

	return nil
}

// Transactions handles each message as Payments does, with other effects, and this many messages at a time.
func Transactions(
	client *dynamodb.Client, records string, workers int, effects func(events.SQSMessage) []types.TransactWriteItem,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return each(workers, func(ctx context.Context, m events.SQSMessage) error {
		_, err := commit(ctx, client, records, newRecord("bench#"+m.EventSourceARN+"/"+m.MessageId), effects(m))

		return err
	})
}

type payment struct {
	ID      string `json:"paymentId"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

const (
	firstPause   = 25 * time.Millisecond // at most; each next one may be twice as long
	longestPause = 200 * time.Millisecond
)

// newRecord returns the record of work that is done.
func newRecord(id string) map[string]types.AttributeValue {
	now := time.Now()

	return map[string]types.AttributeValue{
		"pk": stringValue(id), "st": stringValue("COMPLETED"),
		"done": numberValue(now.UnixMilli()), "exp": numberValue(now.Add(retention).Unix()),
	}
}

// commit writes a new record together with the effects. It returns false and no error if the record is there.
func commit(
	ctx context.Context, client *dynamodb.Client, records string, record map[string]types.AttributeValue, effects []types.TransactWriteItem,
) (isNew bool, err error) {
	put := types.TransactWriteItem{Put: &types.Put{
		TableName: &records, Item: record, ConditionExpression: new("attribute_not_exists(pk)"),
	}}
	items := append([]types.TransactWriteItem{recordIndex: put}, effects...)

	for limit := firstPause; ; limit = min(2*limit, longestPause) {
		_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		if err == nil {
			return true, nil
		}

		canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if ok && reasonAt(canceled, recordIndex) == "ConditionalCheckFailed" {
			return false, nil
		}

		if !ok || !inConflict(canceled) {
			return false, fmt.Errorf("handwritten: commit: %w", err)
		}

		select {
		case <-time.After(rand.N(limit)): //nolint:gosec // jitter is no secret
		case <-ctx.Done():
			return false, fmt.Errorf("handwritten: commit: %w", ctx.Err())
		}
	}
}

// recordIndex is where the record stands in the transaction.
const recordIndex = 0

// effects adds the amount to the account and books the entry.
func (t PaymentTables) effects(paid payment) []types.TransactWriteItem {
	return []types.TransactWriteItem{
		{Update: &types.Update{
			TableName:           &t.Ledger,
			Key:                 map[string]types.AttributeValue{"pk": stringValue("account#" + paid.Account)},
			UpdateExpression:    new("ADD balance :amount, payments :one"),
			ConditionExpression: new("attribute_not_exists(closed)"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":amount": numberValue(paid.Amount), ":one": numberValue(1),
			},
		}},
		{Put: &types.Put{
			TableName: &t.Ledger,
			Item: map[string]types.AttributeValue{
				"pk": stringValue("payment#" + paid.ID), "account": stringValue(paid.Account), "amount": numberValue(paid.Amount),
			},
			ConditionExpression: new("attribute_not_exists(pk)"),
		}},
	}
}

func reasonAt(canceled *types.TransactionCanceledException, index int) string {
	if index >= len(canceled.CancellationReasons) || canceled.CancellationReasons[index].Code == nil {
		return ""
	}

	return *canceled.CancellationReasons[index].Code
}

func inConflict(canceled *types.TransactionCanceledException) bool {
	return slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		return r.Code != nil && *r.Code == "TransactionConflict"
	})
}
