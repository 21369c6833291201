package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

var errClosed = errors.New("account is closed")

// What no retry mends is not retried: the message comes back until its queue moves it to the dead-letter queue, and the
// handler does not run again.
func ExamplePermanent() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return lambdawrap.Permanent(errClosed)
	}, &lambdawrap.Options{Logger: quiet})

	invoke(function, received("pay ann"))
	invoke(function, received("pay ann"))
	// Output:
	// pay ann
	// come back: [m-1]
	// come back: [m-1]
}

// A dead-letter hook takes such a message at once. It sees the handler's error, and ErrFailed for every later delivery.
func ExampleOptions_deadLetter() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		return lambdawrap.Permanent(errClosed)
	}, &lambdawrap.Options{
		DeadLetter: func(_ context.Context, m events.SQSMessage, err error) error {
			fmt.Println(m.MessageId, errors.Is(err, errClosed), errors.Is(err, idemddb.ErrFailed))

			return nil // stored where a person finds it; an error would bring the message back
		},
		Logger: quiet,
	})

	invoke(function, received("pay ann"))
	invoke(function, received("pay ann"))
	// Output:
	// m-1 true false
	// come back: []
	// m-1 false true
	// come back: []
}

// A panic costs its own message, not the batch.
func ExamplePanicError() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "pay ann" {
			panic("no such account")
		}

		fmt.Println(m.Body)

		return nil
	}, &lambdawrap.Options{Logger: quiet})

	invoke(function, received("pay ann", "pay bob"))
	// Output:
	// pay bob
	// come back: [m-1]
}

// The stack goes to the log, not into the message.
func ExamplePanicError_Error() {
	fmt.Println(&lambdawrap.PanicError{Value: "no such account", Stack: []byte("...")})
	// Output: lambdawrap: handler panicked: no such account
}

// A panic with an error can be told by it.
func ExamplePanicError_Unwrap() {
	var err error = &lambdawrap.PanicError{Value: errClosed}
	fmt.Println(errors.Is(err, errClosed))
	// Output: true
}

// One line for each message that does not end well: its id and its key's hash, never its body.
func ExampleOptions_logger() {
	store, _ := inMemory(nil)
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	function := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		return errors.New("the bank is closed")
	}, &lambdawrap.Options{Key: byPaymentID(), Logger: logger})

	invoke(function, received(`{"paymentId":"p-1"}`, `{}`))
	// Output:
	// level=WARN msg="message reported failed" messageId=m-2 outcome=no_key error="lambdawrap: no key in the message: path `paymentId` picks nothing: `paymentId` is absent"
	// level=WARN msg="message reported failed" messageId=m-1 outcome=failed error="the bank is closed" key=sha256:He5uPsZ9yAM7
	// come back: [m-1 m-2]
}

// A payment id that is used again for another amount is a bug of its sender, not a duplicate.
func ExampleOptions_fingerprint() {
	store, _ := inMemory(nil)

	amount, err := lambdawrap.Body("amount")
	fmt.Println(err)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		fmt.Println("paying", m.Body)

		return nil
	}, &lambdawrap.Options{
		Key:         byPaymentID(),
		Fingerprint: amount,
		DeadLetter: func(_ context.Context, m events.SQSMessage, err error) error {
			fmt.Println("dead letter:", m.MessageId, errors.Is(err, idemddb.ErrMismatch))

			return nil
		},
		Logger: quiet,
	})

	invoke(function, received(`{"paymentId":"p-1","amount":1250}`, `{"paymentId":"p-1","amount":9900}`))
	// Output:
	// <nil>
	// paying {"paymentId":"p-1","amount":1250}
	// dead letter: m-2 true
	// come back: []
}
