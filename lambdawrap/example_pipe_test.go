package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

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
