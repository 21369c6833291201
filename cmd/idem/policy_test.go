package main

import (
	"strings"
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

// IAM refuses a policy with the partition of other Regions.
func TestThePolicyHasThePartitionOfItsRegion(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())

	for arg, partition := range map[string]string{
		"--region=cn-north-1": "aws-cn", "--region=us-gov-west-1": "aws-us-gov", "--region=eu-west-1": "aws", "--table=" + tableARN: "aws-cn",
	} {
		n.idem("policy", arg)

		if want := strings.Count(n.lastOut, `"arn:`); want == 0 || strings.Count(n.lastOut, `"arn:`+partition+":") != want {
			t.Errorf("%s: want the partition %s:\n%s", arg, partition, n.lastOut)
		}
	}
}
