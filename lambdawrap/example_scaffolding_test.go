package lambdawrap_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Everything in this file is scaffolding of the examples: it stands in for AWS, and a function has none of it. Where an example
// calls invoke, a function has
//
//	lambda.Start(lambdawrap.SQS(store, handler, opts))

var quiet = slog.New(slog.DiscardHandler) // the examples print what they mean to show

// inMemory returns a Store on a table in memory, and the clock of its workers. A program calls
// idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", opts).
func inMemory(opts *idemddb.Options) (*idemddb.Store, *idemddbtest.Clock) {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	db := idemddbtest.New(nil)

	if _, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", "")); err != nil {
		panic(err)
	}

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	o.Now = clock.Now

	store, err := idemddb.New(db, "records", "payments", &o)
	if err != nil {
		panic(err)
	}

	return store, clock
}

// claimedElsewhere returns the claim of another worker, which began before the example.
func claimedElsewhere(store *idemddb.Store, key string) *idemddb.Claim {
	claim, record, err := store.Claim(context.Background(), key, nil)
	if err != nil || record != nil {
		panic(fmt.Sprint("the key was claimed before: ", err))
	}

	return claim
}

// withoutTable returns a Store whose table does not exist, so that no claim gets an answer.
func withoutTable() *idemddb.Store {
	store, err := idemddb.New(idemddbtest.New(nil), "records", "payments", nil)
	if err != nil {
		panic(err)
	}

	return store
}

// received returns an event of messages with these bodies and the ids m-1, m-2 and so on, as a function gets it from Lambda.
func received(bodies ...string) events.SQSEvent {
	var event events.SQSEvent

	for i, body := range bodies {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId:      fmt.Sprintf("m-%d", i+1),
			EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
			Body:           body,
		})
	}

	return event
}

// wrapped is what lambdawrap.SQS returns.
type wrapped = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// invoke stands for Lambda: it calls the function and prints the ids of the messages that come back.
func invoke(function wrapped, event events.SQSEvent) {
	response, err := function(context.Background(), event)
	if err != nil {
		fmt.Println("all come back:", err)

		return
	}

	failed := []string{}
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	fmt.Println("come back:", failed)
}

// withoutTime removes the time from log lines.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}

	return a
}

// byPaymentID returns the key function of most examples.
func byPaymentID() lambdawrap.KeyFunc {
	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		panic(err)
	}

	return key
}

// shardRecord returns a record as a function gets it from Kinesis.
func shardRecord(number, partitionKey, data string) events.KinesisEventRecord {
	return events.KinesisEventRecord{
		EventID: "shardId-000000000000:" + number, EventSourceArn: "arn:aws:kinesis:eu-west-1:111122223333:stream/payments",
		Kinesis: events.KinesisRecord{SequenceNumber: number, PartitionKey: partitionKey, Data: []byte(data)},
	}
}

// tableChange returns a record as a function gets it from a table's stream.
func tableChange(number, name, order string) events.DynamoDBEventRecord {
	return events.DynamoDBEventRecord{
		EventID: "event-" + number, EventName: name,
		EventSourceArn: "arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2026-01-02T12:00:00.000",
		Change: events.DynamoDBStreamRecord{
			SequenceNumber: number, Keys: map[string]events.DynamoDBAttributeValue{"orderId": events.NewStringAttribute(order)},
		},
	}
}
