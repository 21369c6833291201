package lambdawrap_test

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func ExampleMessageID() {
	key, err := lambdawrap.MessageID(events.SQSMessage{
		EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
		MessageId:      "059f36b4-87a3-44ab-83d2-661975830a7d",
	})
	fmt.Println(key, err)
	// Output: ["arn:aws:sqs:eu-west-1:111122223333:payments","059f36b4-87a3-44ab-83d2-661975830a7d"] <nil>
}

func ExampleDeduplicationID() {
	key, err := lambdawrap.DeduplicationID(events.SQSMessage{
		EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments.fifo",
		Attributes:     map[string]string{"MessageGroupId": "a-1", "MessageDeduplicationId": "p-1"},
	})
	fmt.Println(key, err)
	// Output: ["arn:aws:sqs:eu-west-1:111122223333:payments.fifo","a-1","p-1"] <nil>
}

func ExampleAttribute() {
	key := lambdawrap.Attribute("orderNumber")
	for _, dataType := range []string{"String", "Number"} {
		fmt.Println(key(events.SQSMessage{
			MessageAttributes: map[string]events.SQSMessageAttribute{"orderNumber": {DataType: dataType, StringValue: new("17")}},
		}))
	}

	fmt.Println(key(events.SQSMessage{}))
	// Output:
	// ["String","17"] <nil>
	// ["Number","17"] <nil>
	//  lambdawrap: no key in the message: message attribute "orderNumber" is absent; have its producer send it
}

func ExampleBody() {
	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(key(events.SQSMessage{Body: `{"paymentId": "p-1", "amount": 1250}`}))
	fmt.Println(key(events.SQSMessage{Body: `{"amount":1250.00,"paymentId":"p-1"}`}))
	// Output:
	// "p-1" <nil>
	// "p-1" <nil>
}

// The parts of a key may be of any type and anywhere in the body. Numbers are exact and have one spelling.
func ExampleBody_severalParts() {
	key, err := lambdawrap.Body("customer.id", "sort(items[].sku)")
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(key(events.SQSMessage{Body: `{"customer":{"id":9007199254740993},"items":[{"sku":"b"},{"sku":"a"}]}`}))
	fmt.Println(key(events.SQSMessage{Body: `{"customer":{"id":9007199254740993.0},"items":[{"sku":"a"},{"sku":"b"}]}`}))
	// Output:
	// [9007199254740993,["a","b"]] <nil>
	// [9007199254740993,["a","b"]] <nil>
}

// An expression that could give one body two keys, or two bodies one, is refused before any message comes.
func ExampleBody_refused() {
	_, err := lambdawrap.Body("sum(items[].amount)")
	fmt.Println(err)
	// Output: lambdawrap: Body: expression "sum(items[].amount)" calls sum(), which a key cannot use: it rounds, so that different bodies would share a key
}

// A KeyFunc of one's own: a digest of what the message says, whatever its format.
func ExampleKeyFunc() {
	var key lambdawrap.KeyFunc = func(m events.SQSMessage) (string, error) {
		if m.Body == "" {
			return "", fmt.Errorf("%w: the body is empty", lambdawrap.ErrNoKey)
		}

		return fmt.Sprintf("%x", sha256.Sum256([]byte(m.Body))), nil
	}
	fmt.Println(key(events.SQSMessage{Body: "PAY p-1 1250"}))
	// Output: b7fbb668588b5960b8b400dc814165eba624f3b5a663128f919924d2127aa8e6 <nil>
}

func Example_errNoKey() {
	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		fmt.Println(err)

		return
	}

	_, err = key(events.SQSMessage{Body: `{"amount":1250}`})
	fmt.Println(errors.Is(err, lambdawrap.ErrNoKey))
	fmt.Println(err)
	// Output:
	// true
	// lambdawrap: no key in the message: what "paymentId" picks is absent, null or empty; have its producer send it, or choose another part
}
