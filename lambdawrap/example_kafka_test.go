package lambdawrap_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// partition returns an event with one topic-partition, whose records have these values and the offsets 0, 1, 2, …
func partition(values ...string) events.KafkaEvent {
	var records []events.KafkaRecord

	for i, value := range values {
		records = append(records, events.KafkaRecord{
			Topic: "payments", Offset: int64(i), Timestamp: events.MilliSecondsEpochTime{Time: time.UnixMilli(1_795_000_000_000)},
			Key: base64.StdEncoding.EncodeToString([]byte("ada")), Value: base64.StdEncoding.EncodeToString([]byte(value)),
			Headers: []map[string]events.JSONNumberBytes{{"id": []byte(fmt.Sprint("h-", i))}},
		})
	}

	return events.KafkaEvent{
		EventSource: "aws:kafka", EventSourceARN: "arn:aws:kafka:eu-west-1:111122223333:cluster/main/e9f754c6",
		Records: map[string][]events.KafkaRecord{"payments-0": records},
	}
}

// A record fails, and the rest of its topic-partition waits. Lambda goes on from the offset that the answer names.
func ExampleKafka() {
	store, _ := inMemory(nil)
	isDown := true

	pay := func(_ context.Context, r lambdawrap.KafkaRecord) error {
		if isDown && string(r.Value) == "p-2" {
			return errors.New("the bank is down")
		}

		fmt.Println("pay", string(r.Value))

		return nil
	}

	function := lambdawrap.Kafka(store, pay, &lambdawrap.KafkaOptions{Timeout: 5 * time.Second, Logger: quiet})

	for range 2 {
		response, err := function(context.Background(), partition("p-1", "p-2", "p-3"))
		fmt.Println("failed:", response.BatchItemFailures, err)

		isDown = false
	}
	// Output:
	// pay p-1
	// failed: [{{payments-0 1}}] <nil>
	// pay p-2
	// pay p-3
	// failed: [] <nil>
}

// A producer gives each message an id in a header. One that is sent twice is one piece of work.
func ExampleKafkaOptions() {
	store, _ := inMemory(&idemddb.Options{MaxAttempts: 1})

	function := lambdawrap.Kafka(store, func(context.Context, lambdawrap.KafkaRecord) error {
		return errors.New("cannot be read")
	}, &lambdawrap.KafkaOptions{
		Key: lambdawrap.KafkaHeader("id"),
		DeadLetter: func(_ context.Context, r lambdawrap.KafkaRecord, cause error) error {
			fmt.Println("park", r.Topic, r.Offset, errors.Is(cause, idemddb.ErrFailed))

			return nil // a program sends the record to a queue, for example
		},
		Logger: quiet,
	})

	for range 2 {
		response, err := function(context.Background(), partition("poison"))
		fmt.Println(response.BatchItemFailures, err)
	}
	// Output:
	// [{{payments-0 0}}] <nil>
	// park payments 0 true
	// [] <nil>
}

// A compacted topic has tombstones: records that delete a key. They have no value, so the handler looks at the record first.
func ExampleKafkaJSON() {
	store, _ := inMemory(nil)

	type payment struct{ PaymentID string }

	pay := lambdawrap.KafkaJSON(func(_ context.Context, p payment) error {
		fmt.Println("pay", p.PaymentID)

		return nil
	})

	function := lambdawrap.Kafka(store, func(ctx context.Context, r lambdawrap.KafkaRecord) error {
		if len(r.Value) == 0 {
			fmt.Println("forget", string(r.Key))

			return nil
		}

		return pay(ctx, r)
	}, nil)

	fmt.Println(function(context.Background(), partition(`{"PaymentID":"p-1"}`, "")))
	// Output:
	// pay p-1
	// forget ada
	// {[]} <nil>
}

func ExampleKafkaRecordID() {
	fmt.Println(lambdawrap.KafkaRecordID(context.Background(), lambdawrap.KafkaRecord{
		Cluster: "main", Topic: "payments", Partition: 2, Offset: 7, Timestamp: time.UnixMilli(1_795_000_000_000),
	}))
	// Output: #["","main","payments","2","7","1795000000000"] <nil>
}

func ExampleKafkaKey() {
	fmt.Println(lambdawrap.KafkaKey(context.Background(), lambdawrap.KafkaRecord{Topic: "payments", Key: []byte("p-1")}))
	// Output: #["payments","String","p-1"] <nil>
}

func ExampleKafkaBody() {
	byPayment, err := lambdawrap.KafkaBody("paymentId")
	if err != nil {
		panic(err)
	}

	fmt.Println(byPayment(context.Background(), lambdawrap.KafkaRecord{Value: []byte(`{"paymentId":"p-1"}`)}))
	// Output: p-1 <nil>
}

func ExampleKafkaHeader() {
	byID := lambdawrap.KafkaHeader("id")

	fmt.Println(byID(context.Background(), lambdawrap.KafkaRecord{Headers: []lambdawrap.KafkaRecordHeader{{Name: "id", Value: []byte("h-1")}}}))
	// Output: #["String","h-1"] <nil>
}
