package main

import (
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// --target of idem send takes a queue, a topic and an event bus.
func TestThePolicyOfSendHasEachKindOfTarget(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.idem("policy", "send", "--queue", "orders", "--topic", "receipts", "--bus", "ledger")
	n.expect(exitDone,
		`"Action":["sqs:SendMessage"],"Resource":["arn:aws:sqs:*:*:orders"]`,
		`"Action":["sns:Publish"],"Resource":["arn:aws:sns:*:*:receipts"]`,
		`"Action":["events:PutEvents"],"Resource":["arn:aws:events:*:*:event-bus/ledger"]`)
}
