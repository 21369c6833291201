package lambdawrap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A handler of whole events exists already. It gets the messages that must be worked on, and those that it reports come back.
func ExampleBatch() {
	store, _ := inMemory(nil)
	closed := true

	existing := func(_ context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
		fmt.Println(len(event.Records), "messages")

		for _, m := range event.Records {
			if m.Body == "pay bob" && closed {
				failure := events.SQSBatchItemFailure{ItemIdentifier: m.MessageId}
				response.BatchItemFailures = append(response.BatchItemFailures, failure)

				continue
			}

			fmt.Println(m.Body)
		}

		return response, nil
	}

	function := lambdawrap.Batch(store, existing, &lambdawrap.Options{Logger: quiet})
	event := received("pay ann", "pay bob", "pay eve")

	invoke(function, event)

	closed = false

	invoke(function, event) // Lambda delivers the whole event again after a time-out
	invoke(function, event) // nothing is left to do, so the handler is not called
	// Output:
	// 3 messages
	// pay ann
	// pay eve
	// come back: [m-2]
	// 1 messages
	// pay bob
	// come back: []
	// come back: []
}

// A permanent error ends the keys of all messages that the handler was given.
func ExampleBatch_permanent() {
	store, _ := inMemory(nil)

	existing := func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
		return events.SQSEventResponse{}, lambdawrap.Permanent(errClosed)
	}

	invoke(lambdawrap.Batch(store, existing, &lambdawrap.Options{
		DeadLetter: func(_ context.Context, m events.SQSMessage, err error) error {
			fmt.Println("dead letter:", m.MessageId, err)

			return nil
		},
		Logger: quiet,
	}), received("pay ann"))
	// Output:
	// dead letter: m-1 account is closed
	// come back: []
}

// A payment that another worker holds does not come back before the lease of that worker is over.
func ExampleOptions_visibility() {
	store, clock := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Key: byPaymentID(), Visibility: hidden{}, Logger: quiet})

	claimedElsewhere(store, "p-1") // the other worker claims the key, and then it dies

	event := received(`{"paymentId":"p-1"}`)
	event.Records[0].ReceiptHandle = "r-1"

	invoke(function, event)
	clock.Advance(33 * time.Second)
	invoke(function, event)
	// Output:
	// r-1 is hidden for 33 s
	// come back: [m-1]
	// {"paymentId":"p-1"}
	// come back: []
}
