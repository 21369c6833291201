package lambdawrap_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func ExampleMessageID() {
	key, err := lambdawrap.MessageID(context.Background(), events.SQSMessage{
		EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
		MessageId:      "059f36b4-87a3-44ab-83d2-661975830a7d",
	})
	fmt.Println(key, err)
	// Output: #["arn:aws:sqs:eu-west-1:111122223333:payments","059f36b4-87a3-44ab-83d2-661975830a7d"] <nil>
}

func ExampleDeduplicationID() {
	key, err := lambdawrap.DeduplicationID(context.Background(), events.SQSMessage{
		EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments.fifo",
		Attributes:     map[string]string{"MessageGroupId": "a-1", "MessageDeduplicationId": "p-1"},
	})
	fmt.Println(key, err)
	// Output: #["arn:aws:sqs:eu-west-1:111122223333:payments.fifo","a-1","p-1"] <nil>
}

func ExampleAttribute() {
	key := lambdawrap.Attribute("orderNumber")
	for _, dataType := range []string{"String", "Number"} {
		fmt.Println(key(context.Background(), events.SQSMessage{
			MessageAttributes: map[string]events.SQSMessageAttribute{"orderNumber": {DataType: dataType, StringValue: new("17")}},
		}))
	}

	fmt.Println(key(context.Background(), events.SQSMessage{}))
	// Output:
	// #["String","17"] <nil>
	// #["Number","17"] <nil>
	//  lambdawrap: no key in the message: message attribute "orderNumber" is absent; have its producer send it
}

func ExampleBody() {
	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"paymentId": "p-1", "amount": 1250}`}))
	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"amount":1250.00,"paymentId":"p-1"}`}))
	// Output:
	// p-1 <nil>
	// p-1 <nil>
}

// The parts of a key may be anywhere in the body and of any type. Numbers are exact, and their spelling does not count.
func ExampleBody_severalParts() {
	key, err := lambdawrap.Body("customer.id", "orders[0].id")
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"customer":{"id":9007199254740993},"orders":[{"id":"o-1"}]}`}))
	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"customer":{"id":9007199254740993.0},"orders":[{"id":"o-1"},{"id":"o-2"}]}`}))
	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"customer":{"id":9007199254740993},"orders":[]}`}))
	// Output:
	// #[9007199254740993,"o-1"] <nil>
	// #[9007199254740993,"o-1"] <nil>
	//  lambdawrap: no key in the message: path `orders[0].id` picks nothing: `orders[0]` is absent
}

// SNS sends what was published as a string inside its envelope. The path leads into that string.
func ExampleBody_sns() {
	key, err := lambdawrap.Body("Message.orderId")
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"Type":"Notification","MessageId":"4c5c…","Message":"{\"orderId\":\"o-1\"}"}`}))
	// Output: o-1 <nil>
}

// EventBridge gives the event in detail. A name that is no word stands in double quotes, so that Go's quotes are raw ones.
func ExampleBody_eventBridge() {
	key, err := lambdawrap.Body(`"detail-type"`, "detail.orderId")
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"detail-type":"OrderPlaced","source":"shop","detail":{"orderId":"o-1"}}`}))
	// Output: #["OrderPlaced","o-1"] <nil>
}

// A payment that was made through an API, by Do, is not made again for a message with its id: both have one key.
func ExampleBody_sameKeyAsDo() {
	store, _ := inMemory(nil)

	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		fmt.Println(err)

		return
	}

	paymentID := "p-1" // a program takes the id from the request

	receipt, err := idemddb.Do(context.Background(), store, idemddb.TextKey(paymentID), nil, func(context.Context) (string, error) {
		fmt.Println("paying for the request")

		return "receipt 1", nil
	})
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)

	pay := func(context.Context, events.SQSMessage) error {
		fmt.Println("paying for the message")

		return nil
	}
	invoke(lambdawrap.SQS(store, pay, &lambdawrap.Options{Key: key}), received(`{"paymentId":"p-1"}`))
	// Output:
	// paying for the request
	// receipt 1
	// come back: []
}

// What people write who know JSONPath or JMESPath is refused before any message comes, with what to write instead.
func ExampleBody_refused() {
	for _, path := range []string{"$.orderId", "order-id", "orderId || 'none'"} {
		_, err := lambdawrap.Body(path)
		fmt.Println(err)
	}
	// Output:
	// lambdawrap: Body: path `$.orderId` is written in JSONPath; leave out the $ and the dot behind it, as in orderId for $.orderId
	// lambdawrap: Body: path `order-id` has a name that is no word of ASCII letters, digits and _; write it in double quotes: "order-id"
	// lambdawrap: Body: path `orderId || 'none'` has an operator, but a path picks one part and has no fallback; a value without that part has no key
}

// A KeyFunc of one's own: a digest of what the message says, whatever its format.
func ExampleKeyFunc() {
	var key lambdawrap.KeyFunc = func(_ context.Context, m events.SQSMessage) (string, error) {
		if m.Body == "" {
			return "", fmt.Errorf("%w: the body is empty", lambdawrap.ErrNoKey)
		}

		return fmt.Sprintf("%x", sha256.Sum256([]byte(m.Body))), nil
	}
	fmt.Println(key(context.Background(), events.SQSMessage{Body: "PAY p-1 1250"}))
	// Output: b7fbb668588b5960b8b400dc814165eba624f3b5a663128f919924d2127aa8e6 <nil>
}

// An order may have a revision. Body wants every part to be there, so the optional one is left to two key functions: their
// keys are lists of three and of two parts, which never equal one another.
func ExampleKeyFunc_optionalPart() {
	revised, errRevised := lambdawrap.Body("customer.id", "order.id", "order.revision")

	first, errFirst := lambdawrap.Body("customer.id", "order.id")
	if err := errors.Join(errRevised, errFirst); err != nil {
		fmt.Println(err)

		return
	}

	key := func(ctx context.Context, m events.SQSMessage) (string, error) {
		if key, err := revised(ctx, m); err == nil {
			return key, nil
		}

		return first(ctx, m)
	}

	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"customer":{"id":"c-1"},"order":{"id":"o-1","revision":2}}`}))
	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"customer":{"id":"c-1"},"order":{"id":"o-1"}}`}))
	fmt.Println(key(context.Background(), events.SQSMessage{Body: `{"customer":{"id":"c-1"}}`}))
	// Output:
	// #["c-1","o-1",2] <nil>
	// #["c-1","o-1"] <nil>
	//  lambdawrap: no key in the message: path `order.id` picks nothing: `order` is absent
}

func Example_errNoKey() {
	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		fmt.Println(err)

		return
	}

	_, err = key(context.Background(), events.SQSMessage{Body: `{"amount":1250}`})
	fmt.Println(errors.Is(err, lambdawrap.ErrNoKey))
	fmt.Println(err)
	// Output:
	// true
	// lambdawrap: no key in the message: path `paymentId` picks nothing: `paymentId` is absent
}
