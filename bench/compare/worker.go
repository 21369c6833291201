package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// payment is the body of a message.
type payment struct {
	ID      string `json:"payment"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

// consumer is what the consumers that are written in Go have in common.
type consumer struct {
	client            *dynamodb.Client
	bank              *http.Client
	records, accounts string // tables
	bankAddress       string
}

type batchHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// work is a worker process: the Lambda function of a contender. It ends when it is killed.
func work(ctx context.Context, contender string) error {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}

	if contender == nameLibrary || contender == nameStaged {
		cfg.HTTPClient = idemddb.HTTPClient()
	}

	c := &consumer{
		client: dynamodb.NewFromConfig(cfg), bank: &http.Client{}, bankAddress: os.Getenv("BANK"),
		records: os.Getenv("RECORDS"), accounts: os.Getenv("ACCOUNTS"),
	}

	handler, err := c.handler(contender)
	if err != nil {
		return err
	}

	lambda.StartWithOptions(handler, lambda.WithContext(ctx))

	return nil
}

func (c *consumer) handler(contender string) (batchHandler, error) {
	switch contender {
	case nameConditional:
		return each(c.claimThenPay), nil
	case nameTransaction:
		return each(c.payInOneTransaction), nil
	case nameLibrary:
		return c.wrapped(c.pay, false)
	case nameStaged:
		return c.wrapped(c.stage, true)
	}

	return nil, fmt.Errorf("no consumer is called %s", contender)
}

// each handles one message after the other, and reports those that fail.
func each(handle func(context.Context, payment) error) batchHandler {
	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
		for _, m := range event.Records {
			paid, err := decode(m)
			if err == nil {
				err = handle(ctx, paid)
			}

			if err != nil {
				slog.ErrorContext(ctx, "failed", "message", m.MessageId, "error", err)

				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}

		return response, nil
	}
}

func decode(m events.SQSMessage) (paid payment, err error) {
	if err := json.Unmarshal([]byte(m.Body), &paid); err != nil {
		return paid, fmt.Errorf("decode a payment: %w", err)
	}

	return paid, nil
}

// check asks the bank whether the payment is good: what each consumer does before its effect.
func (c *consumer) check(ctx context.Context, paid payment) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.bankAddress+"/check/"+paid.ID, nil)
	if err != nil {
		return fmt.Errorf("ask the bank: %w", err)
	}

	response, err := c.bank.Do(request)
	if err != nil {
		return fmt.Errorf("ask the bank: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it is empty

	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the bank answered %d", response.StatusCode)
	}

	return nil
}

// credit is the effect: it would be wrong if it happened twice.
func (c *consumer) credit(paid payment) *types.Update {
	return &types.Update{
		TableName:        &c.accounts,
		Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: paid.Account}},
		UpdateExpression: new("SET lastPayment = :payment ADD balance :amount"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":payment": &types.AttributeValueMemberS{Value: paid.ID}, ":amount": &types.AttributeValueMemberN{Value: strconv.FormatInt(paid.Amount, 10)},
		},
	}
}

// pay checks the payment and credits the account, and is not afraid of doing so twice.
func (c *consumer) pay(ctx context.Context, paid payment) error {
	if err := c.check(ctx, paid); err != nil {
		return err
	}

	u := c.credit(paid)

	_, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ExpressionAttributeValues: u.ExpressionAttributeValues,
	})
	if err != nil {
		return fmt.Errorf("credit the account: %w", err)
	}

	return nil
}

// claimThenPay is what blog posts show: put an item that must be new, do the work, delete the item if the work failed.
func (c *consumer) claimThenPay(ctx context.Context, paid payment) error {
	_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &c.records, Item: c.record(paid), ConditionExpression: new("attribute_not_exists(id)"),
	})
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return nil // a duplicate
	}

	if err != nil {
		return fmt.Errorf("claim the payment: %w", err)
	}

	if err := c.pay(ctx, paid); err != nil {
		_, errDelete := c.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &c.records, Key: recordKey(paid)})

		return errors.Join(err, errDelete)
	}

	return nil
}

// payInOneTransaction checks the payment, and then writes the record and the credit in one transaction.
func (c *consumer) payInOneTransaction(ctx context.Context, paid payment) error {
	if err := c.check(ctx, paid); err != nil {
		return err
	}

	for {
		_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &c.records, Item: c.record(paid), ConditionExpression: new("attribute_not_exists(id)")}},
			{Update: c.credit(paid)},
		}})

		canceled, ok := errors.AsType[*types.TransactionCanceledException](err)

		switch {
		case err == nil, ok && reason(canceled, 0) == "ConditionalCheckFailed": // the second is a duplicate
			return nil
		case !ok || reason(canceled, 1) != "TransactionConflict":
			return fmt.Errorf("pay: %w", err)
		}

		select { // another payment of the account is under way
		case <-time.After(rand.N(conflictPause)): //nolint:gosec // jitter is no secret
		case <-ctx.Done():
			return fmt.Errorf("pay: %w", ctx.Err())
		}
	}
}

func (c *consumer) record(paid payment) map[string]types.AttributeValue {
	item := recordKey(paid)
	item["expiration"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(24*time.Hour).Unix(), 10)}

	return item
}

func recordKey(paid payment) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: paid.ID}}
}

func reason(canceled *types.TransactionCanceledException, index int) string {
	if index >= len(canceled.CancellationReasons) || canceled.CancellationReasons[index].Code == nil {
		return ""
	}

	return *canceled.CancellationReasons[index].Code
}

// wrapped is the consumer with this library. The lease is that of all contenders who can choose one.
func (c *consumer) wrapped(handle func(context.Context, payment) error, optimistic bool) (batchHandler, error) {
	store, err := idemddb.New(c.client, c.records, "payments", &idemddb.Options{Lease: lease, PartitionKey: "id"})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}

	key, err := lambdawrap.Body("payment")
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}

	return lambdawrap.SQS(store, func(ctx context.Context, m events.SQSMessage) error {
		paid, err := decode(m)
		if err != nil {
			return lambdawrap.Permanent(err)
		}

		return handle(ctx, paid)
	}, &lambdawrap.Options{Key: key, Optimistic: optimistic}), nil
}

// stage checks the payment, and hands the credit to the library, which writes it together with its record.
func (c *consumer) stage(ctx context.Context, paid payment) error {
	if err := c.check(ctx, paid); err != nil {
		return err
	}

	return idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{{Update: c.credit(paid)}}})
}
