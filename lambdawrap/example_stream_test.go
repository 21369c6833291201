package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A record fails. The one behind it with the same partition key waits, and that of another key goes on. Lambda sends the failed
// record and all behind it again, and what is done does not run a second time.
func ExampleKinesis() {
	store, _ := inMemory(nil)
	isDown := true

	pay := func(_ context.Context, r events.KinesisEventRecord) error {
		if isDown && string(r.Kinesis.Data) == "p-2" {
			return errors.New("the bank is down")
		}

		fmt.Println("pay", string(r.Kinesis.Data))

		return nil
	}

	function := lambdawrap.Kinesis(store, pay, &lambdawrap.StreamOptions[events.KinesisEventRecord]{
		Workers: 10, Timeout: 5 * time.Second, Logger: quiet,
	})
	records := []events.KinesisEventRecord{shardRecord("101", "ada", "p-1"), shardRecord("102", "ada", "p-2"), shardRecord("103", "ada", "p-3")}

	for range 2 {
		response, err := function(context.Background(), events.KinesisEvent{Records: records})
		fmt.Println("failed:", response.BatchItemFailures, err)

		isDown, records = false, records[1:]
	}
	// Output:
	// pay p-1
	// failed: [{102}] <nil>
	// pay p-2
	// pay p-3
	// failed: [] <nil>
}

// A stream does not count deliveries, but the Store does: after MaxAttempts the record is parked, and the records behind it go
// on.
func ExampleStreamOptions() {
	store, _ := inMemory(&idemddb.Options{MaxAttempts: 2})

	pay := func(_ context.Context, r events.KinesisEventRecord) error {
		if string(r.Kinesis.Data) == "poison" {
			return errors.New("cannot be read")
		}

		fmt.Println("pay", string(r.Kinesis.Data))

		return nil
	}
	park := func(_ context.Context, r events.KinesisEventRecord, cause error) error {
		fmt.Println("park", r.Kinesis.SequenceNumber, errors.Is(cause, idemddb.ErrFailed))

		return nil // a program sends the record to a queue, for example
	}

	function := lambdawrap.Kinesis(store, pay, &lambdawrap.StreamOptions[events.KinesisEventRecord]{DeadLetter: park, Logger: quiet})

	for range 3 {
		response, err := function(context.Background(), events.KinesisEvent{Records: []events.KinesisEventRecord{
			shardRecord("101", "ada", "poison"), shardRecord("102", "ada", "p-2"),
		}})
		fmt.Println("failed:", response.BatchItemFailures, err)
	}
	// Output:
	// failed: [{101}] <nil>
	// failed: [{101}] <nil>
	// park 101 true
	// pay p-2
	// failed: [] <nil>
}

// A producer that sends the same payment twice makes two records with two sequence numbers. A key from the data makes them one
// piece of work.
func ExampleStreamOptions_key() {
	store, _ := inMemory(nil)

	byPayment, err := lambdawrap.Body("paymentId")
	if err != nil {
		panic(err)
	}

	opts := &lambdawrap.StreamOptions[events.KinesisEventRecord]{
		Key: func(ctx context.Context, r events.KinesisEventRecord) (string, error) {
			return byPayment(ctx, events.SQSMessage{Body: string(r.Kinesis.Data)})
		},
	}

	function := lambdawrap.Kinesis(store, func(_ context.Context, r events.KinesisEventRecord) error {
		fmt.Println("pay", string(r.Kinesis.Data))

		return nil
	}, opts)

	fmt.Println(function(context.Background(), events.KinesisEvent{Records: []events.KinesisEventRecord{
		shardRecord("101", "ada", `{"paymentId":"p-1"}`), shardRecord("102", "ada", `{"paymentId":"p-1"}`),
	}}))
	// Output:
	// pay {"paymentId":"p-1"}
	// {[]} <nil>
}

func ExampleDynamoDBStream() {
	store, _ := inMemory(nil)

	function := lambdawrap.DynamoDBStream(store, func(_ context.Context, r events.DynamoDBEventRecord) error {
		if r.UserIdentity != nil && r.UserIdentity.PrincipalID == "dynamodb.amazonaws.com" {
			return nil // Time to Live deleted the item
		}

		fmt.Println(r.EventName, r.Change.Keys["orderId"])

		return nil
	}, nil)

	event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{tableChange("111", "INSERT", "o-1"), tableChange("112", "MODIFY", "o-1")}}
	for range 2 { // Lambda sends the batch again
		response, err := function(context.Background(), event)
		fmt.Println("failed:", response.BatchItemFailures, err)
	}
	// Output:
	// INSERT o-1
	// MODIFY o-1
	// failed: [] <nil>
	// failed: [] <nil>
}

func ExampleKinesisRecordID() {
	fmt.Println(lambdawrap.KinesisRecordID(context.Background(), shardRecord("101", "ada", "p-1")))
	// Output: #["arn:aws:kinesis:eu-west-1:111122223333:stream/payments","shardId-000000000000:101"] <nil>
}

func ExampleDynamoDBRecordID() {
	fmt.Println(lambdawrap.DynamoDBRecordID(context.Background(), tableChange("111", "INSERT", "o-1")))
	// Output: #["arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2026-01-02T12:00:00.000","event-111"] <nil>
}
