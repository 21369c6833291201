package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A message that is delivered again is answered from its record. One that failed runs again.
func ExampleSQS() {
	store, _ := inMemory(nil)
	bank := errors.New("the bank is closed")

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "pay bob" && bank != nil {
			return bank
		}

		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Logger: quiet})

	event := received("pay ann", "pay bob")
	invoke(function, event)

	bank = nil // the bank opens

	invoke(function, event) // Lambda delivers m-2 again, and by mistake m-1 too
	// Output:
	// pay ann
	// come back: [m-2]
	// pay bob
	// come back: []
}

// With a key from the body, a payment that was sent twice is paid once, whichever message it comes with.
func ExampleOptions_key() {
	store, _ := inMemory(nil)

	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		fmt.Println(err)

		return
	}

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println("paying", m.Body)

		return nil
	}, &lambdawrap.Options{Key: key})

	invoke(function, received(`{"paymentId":"p-1"}`, `{"paymentId":"p-2"}`, `{"paymentId":"p-1"}`))
	// Output:
	// paying {"paymentId":"p-1"}
	// paying {"paymentId":"p-2"}
	// come back: []
}

// A pipe sends an array, also of one message. It reads the same answer as an event source mapping.
func ExamplePipe() {
	store, _ := inMemory(nil)

	function := lambdawrap.Pipe(lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "p-2" {
			return errors.New("the bank is down")
		}

		fmt.Println("pay", m.Body)

		return nil
	}, &lambdawrap.Options{Logger: quiet}))

	answer, err := function.Invoke(context.Background(), []byte(`[
		{"messageId":"m1","body":"p-1","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:payments"},
		{"messageId":"m2","body":"p-2","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:payments"}]`))
	fmt.Println(string(answer), err)
	// Output:
	// pay p-1
	// {"batchItemFailures":[{"itemIdentifier":"m2"}]} <nil>
}
