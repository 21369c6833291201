package main

import (
	"testing"
)

// The queue of a function may be another account's, and its own account may have one of the same name.
func TestCheckAsksForTheQueueOfTheAccountThatTheMappingNames(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	n.payments()
	n.mapping("EventSourceArn", "arn:aws:sqs:us-east-1:444455556666:payments")
	n.aws.set(func(c *cloud) {
		c.queues["444455556666/payments"] = map[string]string{"VisibilityTimeout": "30", "MessageRetentionPeriod": "345600"}
	})
	n.idem("check", "--function", "payments", "--retention", "720h")
	n.expect(exitRefused, "FAULT  queue payments: visibility time-out 30s is below the function's time-out 1m0s")
}
