package lambdawrap_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The handler gets decoded payments. A body that is no payment will be none the next time either, so its message fails for good.
func ExampleJSON() {
	type payment struct {
		PaymentID string `json:"paymentId"`
		Amount    int64  `json:"amount"`
	}

	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, lambdawrap.JSON(func(_ context.Context, p payment) error {
		fmt.Println("paying", p.PaymentID, p.Amount)

		return nil
	}), &lambdawrap.Options{
		DeadLetter: func(_ context.Context, m events.SQSMessage, err error) error {
			fmt.Println("dead letter:", m.MessageId, err)

			return nil
		},
		Logger: quiet,
	})

	invoke(function, received(`{"paymentId":"p-1","amount":1250}`, `{"paymentId":"p-2","amount":"much"}`))
	// Output:
	// paying p-1 1250
	// dead letter: m-2 lambdawrap: body is not a lambdawrap_test.payment: field "amount" must be of type int64
	// come back: []
}

// A handler of whole events that exists already gets one message at a time. If it fails, this message fails.
func ExampleWhole() {
	store, _ := inMemory(nil)

	existing := func(_ context.Context, event events.SQSEvent) error {
		for _, m := range event.Records {
			fmt.Println(len(event.Records), "message:", m.Body)
		}

		return nil
	}

	invoke(lambdawrap.SQS(store, lambdawrap.Whole(existing), nil), received("pay ann", "pay bob"))
	// Output:
	// 1 message: pay ann
	// 1 message: pay bob
	// come back: []
}

// A Handler can call another one and add to it.
func ExampleHandler() {
	store, _ := inMemory(nil)

	var pay lambdawrap.Handler = func(_ context.Context, m events.SQSMessage) error {
		fmt.Println(m.Body)

		return nil
	}

	counted := func(ctx context.Context, m events.SQSMessage) error {
		err := pay(ctx, m)
		fmt.Println("counted:", err == nil)

		return err
	}

	invoke(lambdawrap.SQS(store, counted, nil), received("pay ann"))
	// Output:
	// pay ann
	// counted: true
	// come back: []
}

// A handler of values that also needs the message, here for its id.
func ExampleMessageFrom() {
	type payment struct {
		PaymentID string `json:"paymentId"`
	}

	store, _ := inMemory(nil)

	function := lambdawrap.SQS(store, lambdawrap.JSON(func(ctx context.Context, p payment) error {
		if m, ok := lambdawrap.MessageFrom(ctx); ok {
			fmt.Println(p.PaymentID, "came with", m.MessageId)
		}

		return nil
	}), nil)

	invoke(function, received(`{"paymentId":"p-1"}`))
	// Output:
	// p-1 came with m-1
	// come back: []
}
