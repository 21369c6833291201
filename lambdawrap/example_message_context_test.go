package lambdawrap_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type senderKey struct{}

// Each message has a context that says who sent it. The events of its key have it, and so has its handler.
func ExampleOptions_messageContext() {
	store, _ := inMemory(&idemddb.Options{Observe: func(ctx context.Context, e idemddb.Event) {
		fmt.Println(e.Kind, "for", ctx.Value(senderKey{}))
	}})

	function := lambdawrap.SQS(store, func(ctx context.Context, _ events.SQSMessage) error {
		fmt.Println("paying for", ctx.Value(senderKey{}))

		return nil
	}, &lambdawrap.Options{MessageContext: func(ctx context.Context, m events.SQSMessage) context.Context {
		return context.WithValue(ctx, senderKey{}, m.Attributes["SenderId"])
	}})

	event := received(`{"paymentId":"p-1"}`)
	event.Records[0].Attributes = map[string]string{"SenderId": "checkout"}

	invoke(function, event)
	// Output:
	// claimed for checkout
	// paying for checkout
	// completed for checkout
	// come back: []
}
