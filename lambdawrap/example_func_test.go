package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A caller that invokes again gets the result of the first run, with all digits.
func ExampleFunc() {
	store, _ := inMemory(nil)

	type transfer struct{ ID string }

	type result struct{ Receipt int64 }

	send := func(_ context.Context, t transfer) (result, error) {
		fmt.Println("send", t.ID)

		return result{Receipt: 9007199254740993}, nil
	}

	function := lambdawrap.Func(store, send, &lambdawrap.FuncOptions[transfer]{
		Key: func(_ context.Context, t transfer) (string, error) { return idemddb.TextKey(t.ID), nil },
	})

	for range 2 {
		fmt.Println(function(context.Background(), transfer{ID: "t-1"}))
	}
	// Output:
	// send t-1
	// {9007199254740993} <nil>
	// {9007199254740993} <nil>
}

// An error brings the event back, and the handler runs again. One that is marked Permanent ends the key.
func ExampleFunc_failure() {
	store, _ := inMemory(nil)
	answer := errors.New("the bank is down")

	function := lambdawrap.Func(store, func(context.Context, events.EventBridgeEvent) (any, error) {
		return nil, answer
	}, &lambdawrap.FuncOptions[events.EventBridgeEvent]{Key: lambdawrap.EventBridgeID})
	event := events.EventBridgeEvent{Source: "shop", ID: "e-1"}

	_, err := function(context.Background(), event)
	fmt.Println(err)

	answer = lambdawrap.Permanent(errors.New("the account is closed"))
	_, err = function(context.Background(), event)
	fmt.Println(err)

	_, err = function(context.Background(), event)
	fmt.Println(errors.Is(err, idemddb.ErrFailed))
	// Output:
	// the bank is down
	// the account is closed
	// true
}

// Without a key function nothing runs.
func ExampleFuncOptions() {
	store, _ := inMemory(nil)
	function := lambdawrap.Func(store, func(context.Context, string) (string, error) { return "", nil }, nil)

	_, err := function(context.Background(), "event")
	fmt.Println(err)
	// Output: lambdawrap: FuncOptions.Key: must be set: it says which invocations are one piece of work; EventBridgeID, SNSMessageID, S3ObjectVersion and RequestID are ready
}

func ExampleEventBridgeID() {
	fmt.Println(lambdawrap.EventBridgeID(context.Background(), events.EventBridgeEvent{Source: "shop", ID: "e-1"}))
	fmt.Println(lambdawrap.EventBridgeID(context.Background(), events.EventBridgeEvent{Source: "shop", ID: "e-2", Resources: []string{"idemddb:tx-0"}}))
	// Output:
	// #["shop","e-1"] <nil>
	// tx-0 <nil>
}

func ExampleSNSMessageID() {
	fmt.Println(lambdawrap.SNSMessageID(context.Background(), events.SNSEvent{Records: []events.SNSEventRecord{
		{SNS: events.SNSEntity{TopicArn: "arn:aws:sns:eu-west-1:111122223333:captured", MessageID: "m-1"}},
	}}))
	// Output: #["arn:aws:sns:eu-west-1:111122223333:captured","m-1"] <nil>
}

func ExampleS3ObjectVersion() {
	fmt.Println(lambdawrap.S3ObjectVersion(context.Background(), events.S3Event{Records: []events.S3EventRecord{{
		EventName: "ObjectCreated:Put", S3: events.S3Entity{
			Bucket: events.S3Bucket{Name: "invoices"}, Object: events.S3Object{Key: "2026/i-1.pdf", Sequencer: "0055AED6DCD90281E5"},
		},
	}}}))
	// Output: #["ObjectCreated:Put","invoices","2026/i-1.pdf","0055AED6DCD90281E5"] <nil>
}

func ExampleRequestID() {
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd"})

	fmt.Println(lambdawrap.RequestID(ctx, "event"))
	// Output: #["8476a536-e9f4-11e8-9739-2dfe598c3fcd"] <nil>
}

// A message that another function staged is sent at least once, each time with a new message id.
func ExampleSentMessageID() {
	ctx := context.Background()

	for _, id := range []string{"m-1", "m-2"} {
		fmt.Println(lambdawrap.SentMessageID(ctx, events.SQSMessage{
			MessageId: id, EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:captured",
			MessageAttributes: map[string]events.SQSMessageAttribute{
				"idemddb-id": {DataType: "String", StringValue: aws.String("5KQX7C3TNVYB4ZAW2LDHM6EJRU-0")},
			},
		}))
	}
	// Output:
	// 5KQX7C3TNVYB4ZAW2LDHM6EJRU-0 <nil>
	// 5KQX7C3TNVYB4ZAW2LDHM6EJRU-0 <nil>
}
