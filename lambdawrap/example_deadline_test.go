package lambdawrap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// What can't start in time is reported failed without a claim: it comes back as if it had not been received.
func ExampleOptions_reserve() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Reserve: 5 * time.Second, Logger: quiet})

	invocation, cancel := context.WithTimeout(context.Background(), 4*time.Second) // less than the reserve is left
	defer cancel()

	response, err := function(invocation, received("pay ann"))
	fmt.Println(response.BatchItemFailures, err)
	// Output: [{m-1}] <nil>
}

// A worker died with the message. It comes back while its lease lasts, and runs when that is over.
func Example_takeover() {
	store, clock := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Key: byPaymentID(), Logger: quiet})

	_, _, err := store.Claim(context.Background(), "p-1", nil) // what the other worker had done when it died
	fmt.Println(err)

	invoke(function, received(`{"paymentId":"p-1"}`))
	clock.Advance(time.Minute)
	invoke(function, received(`{"paymentId":"p-1"}`))
	// Output:
	// <nil>
	// come back: [m-1]
	// {"paymentId":"p-1"}
	// come back: []
}

// Messages side by side: equal keys still run once, and the groups of a FIFO queue keep their order.
func ExampleOptions_workers() {
	store, _ := inMemory(nil)

	paid := make(chan string, 10)
	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		paid <- m.Body

		return nil
	}, &lambdawrap.Options{Workers: 10})

	invoke(function, received("pay ann", "pay bob", "pay eve"))
	fmt.Println(len(paid), "paid")
	// Output:
	// come back: []
	// 3 paid
}
