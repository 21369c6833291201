package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A message for which too little time is left is reported failed and is not claimed. It comes back as if it had not been
// received.
func ExampleOptions_reserve() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Reserve: 5 * time.Second, Logger: quiet})

	invocation, cancel := context.WithTimeout(context.Background(), 4*time.Second) // the time that is left is less than the reserve
	defer cancel()

	response, err := function(invocation, received("pay ann"))
	fmt.Println(response.BatchItemFailures, err)
	// Output: [{m-1}] <nil>
}

// A worker died while it worked on the message. The message comes back while the lease of the dead worker lasts, and runs when it
// is over.
func Example_takeover() {
	store, clock := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Key: byPaymentID(), Logger: quiet})

	claimedElsewhere(store, "p-1") // the other worker claimed the key, and then it died

	invoke(function, received(`{"paymentId":"p-1"}`))
	clock.Advance(time.Minute)
	invoke(function, received(`{"paymentId":"p-1"}`))
	// Output:
	// come back: [m-1]
	// {"paymentId":"p-1"}
	// come back: []
}

// Ten messages run at a time. Equal keys still run once, and the groups of a FIFO queue keep their order.
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

// A handler has 200 ms. Its context ends then, and its message comes back.
func ExampleOptions_timeout() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(ctx context.Context, m events.SQSMessage) error {
		if m.Body == "pay bob" {
			<-ctx.Done() // the bank does not answer

			return ctx.Err()
		}

		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Timeout: 200 * time.Millisecond, Logger: quiet})

	invoke(function, received("pay ann", "pay bob", "pay eve"))
	// Output:
	// pay ann
	// pay eve
	// come back: [m-2]
}

// A Timeout that cannot fit into the invocation's time is a configuration error, which no message should pay for.
func ExampleOptions_timeoutTooLong() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		return nil
	}, &lambdawrap.Options{Timeout: 20 * time.Second})

	invocation, cancel := context.WithTimeout(context.Background(), 10*time.Second) // this is the function's time-out
	defer cancel()

	_, err := function(invocation, received("pay ann"))
	text, _, _ := strings.Cut(err.Error(), " the ") // "the 9.999s that the invocation has" ends it
	fmt.Println(text)
	// Output: lambdawrap: Options.Timeout: 20s and Options.Reserve of 1s do not fit into
}

// Another worker holds the key. The message waits for it, and is answered from the record that the other worker writes meanwhile.
func ExampleOptions_wait() {
	store, _ := inMemory(nil)

	other := claimedElsewhere(store, "p-1")

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Key: byPaymentID(), Wait: 5 * time.Second, Logger: quiet})

	time.AfterFunc(20*time.Millisecond, func() {
		if err := other.Complete(context.Background(), nil); err != nil {
			fmt.Println(err)
		}
	})
	invoke(function, received(`{"paymentId":"p-1"}`))
	// Output: come back: []
}
