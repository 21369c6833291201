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

// The handler does not run again after a permanent error. Without Options.DeadLetter the message comes back until its queue moves
// it to the queue's own dead-letter queue.
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

// A dead-letter hook takes such a message at once. It gets the handler's error, and ErrFailed for every later delivery.
func ExampleOptions_deadLetter() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		return lambdawrap.Permanent(errClosed)
	}, &lambdawrap.Options{
		DeadLetter: func(_ context.Context, m events.SQSMessage, err error) error {
			fmt.Println(m.MessageId, errors.Is(err, errClosed), errors.Is(err, idemddb.ErrFailed))

			return nil // a person finds the message in the queue; after an error it would come back
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

// If a handler panics, its own message comes back. The other messages of the batch go on.
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

// The log has one line for each message that does not end well, with its id and the hash of its key, never with its body.
func ExampleOptions_logger() {
	store, _ := inMemory(nil)
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	function := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		return errors.New("the bank is closed")
	}, &lambdawrap.Options{Key: byPaymentID(), Logger: logger})

	invoke(function, received(`{"paymentId":"p-1"}`, `{}`))
	// Unordered output:
	// level=WARN msg="the message is reported failed" messageId=m-1 comesBack=true outcome=released error="the bank is closed" key=sha256:He5uPsZ9yAM7 look="idem show --hash sha256:He5uPsZ9yAM7"
	// level=WARN msg="the message is reported failed" messageId=m-2 comesBack=true outcome=no_key error="lambdawrap: no key in the message: path `paymentId` picks nothing: `paymentId` is absent"
	// come back: [m-1 m-2]
}

// A payment id that comes again with another amount is no duplicate but an error of its sender.
func ExampleOptions_fingerprint() {
	store, _ := inMemory(nil)

	amount, err := lambdawrap.Body("amount")
	if err != nil {
		fmt.Println(err)

		return
	}

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
	// paying {"paymentId":"p-1","amount":1250}
	// dead letter: m-2 true
	// come back: []
}

// If DynamoDB answers no claim of a batch, the invocation fails, so that Lambda's error metric shows the outage.
func ExampleOptions_failWhole() {
	store := withoutTable() // this table cannot be reached

	handler := func(context.Context, events.SQSMessage) error { return nil }

	invoke(lambdawrap.SQS(store, handler, &lambdawrap.Options{Logger: quiet}), received("pay ann", "pay bob"))
	invoke(lambdawrap.SQS(store, handler, &lambdawrap.Options{Logger: quiet, FailOnOutage: true}), received("pay ann", "pay bob"))
	// Output:
	// come back: [m-1 m-2]
	// all come back: lambdawrap: DynamoDB answered or accepted no claim and no commit of the batch, and Options.FailOnOutage is set
}

// OnMessage gets each message with its outcome, for example for business metrics.
func ExampleOptions_onMessage() {
	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "pay bob" {
			return errors.New("the bank is closed")
		}

		return nil
	}, &lambdawrap.Options{
		OnMessage: func(_ context.Context, m events.SQSMessage, outcome lambdawrap.Outcome) {
			fmt.Println(m.Body, outcome)
		},
		Logger: quiet,
	})

	invoke(function, received("pay ann", "pay bob"))
	invoke(function, received("pay ann"))
	// Unordered output:
	// pay ann completed
	// pay bob released
	// come back: [m-2]
	// pay ann replayed
	// come back: []
}
