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
