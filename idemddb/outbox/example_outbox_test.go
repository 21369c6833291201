package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// The examples call Send, as the library does after a completion. client stands in for the SDK's client of each service, such as
// sqs.NewFromConfig(cfg), and accepts what it is sent.

func ExampleSQS() {
	client := &services{}
	receipts := outbox.SQS(client, "https://sqs.eu-west-1.amazonaws.com/111122223333/receipts")

	answers := receipts.Send(context.Background(), "receipts", []idemddb.Message{
		{ID: "5KQX7C3TNVYB4ZAW2LDHM6EJRU-0", To: "receipts", Body: "p-1", Sequence: 7},
	})
	fmt.Println(answers)

	for _, name := range []string{"idemddb-id", "idemddb-sequence"} {
		fmt.Println(name, *client.entries[0].attributes[name].StringValue)
	}
	// Output:
	// [<nil>]
	// idemddb-id 5KQX7C3TNVYB4ZAW2LDHM6EJRU-0
	// idemddb-sequence 7
}

// On a FIFO queue a message waits for the one before it in its message group. Here the first message for ann fails: the second
// one is not tried, and bob's message is sent.
func ExampleSQS_fifo() {
	client := &services{fails: map[string]failure{"ann 1": {code: "InternalError"}}}
	receipts := outbox.SQS(client, "https://sqs.eu-west-1.amazonaws.com/111122223333/receipts.fifo")

	for _, err := range receipts.Send(context.Background(), "receipts", []idemddb.Message{
		{ID: "tx-0", To: "receipts", Group: "ann", Body: "ann 1"},
		{ID: "tx-1", To: "receipts", Group: "ann", Body: "ann 2"},
		{ID: "tx-2", To: "receipts", Group: "bob", Body: "bob 1"},
	}) {
		fmt.Println(err)
	}
	// Output:
	// outbox: receipts: api error InternalError: try later
	// outbox: receipts: not tried: message tx-0 stands before it in its message group and is not known to be sent
	// <nil>
}

// Messages can arrive in another order than they were staged in, and each only once, so that their ids do not show the order. The
// sequence does.
func ExampleSNS() {
	limit := 10 // the topic's MaximumMessageSize
	topic := &services{refuse: func(bodies []string) error {
		if len(strings.Join(bodies, "")) > limit {
			return errTooLong
		}

		return nil
	}}
	balances := outbox.SNS(topic, "arn:aws:sns:eu-west-1:111122223333:balances")

	ms := []idemddb.Message{
		{ID: "tx-0", To: "balances", Body: "1: a long text", Sequence: 1},
		{ID: "tx-1", To: "balances", Body: "2", Sequence: 2},
		{ID: "tx-2", To: "balances", Body: "3", Sequence: 3},
	}
	for i, err := range balances.Send(context.Background(), "balances", ms) {
		fmt.Println(ms[i].Sequence, "parked:", errors.Is(err, outbox.ErrPermanent))
	}

	limit = 256 << 10 // an operator raises it and sends the parked message
	fmt.Println(balances.Send(context.Background(), "balances", ms[:1]))

	newest := ""
	for _, e := range topic.accepted { // a receiver gets these
		sequence := *e.attributes["idemddb-sequence"].StringValue
		fmt.Println("received", sequence, "old:", sequence <= newest) // each sequence has one digit, so the texts can be compared
		newest = max(newest, sequence)
	}
	// Output:
	// 1 parked: true
	// 2 parked: false
	// 3 parked: false
	// [<nil>]
	// received 2 old: false
	// received 3 old: false
	// received 1 old: true
}

func ExampleEventBridge() {
	client := &services{}
	captured := outbox.EventBridge(client, "payments", "shop.payments", "payment.captured")

	answers := captured.Send(context.Background(), "payment.captured", []idemddb.Message{
		{ID: "tx-0", To: "payment.captured", Body: `{"paymentId":"p-1"}`, Sequence: 7},
	})
	fmt.Println(answers)
	fmt.Println(*client.events[0].DetailType, *client.events[0].Detail, client.events[0].Resources)
	// Output:
	// [<nil>]
	// payment.captured {"paymentId":"p-1"} [idemddb:tx-0 idemddb-sequence:7]
}

// printer is a sender of one's own. Some messages it can never send.
type printer struct{}

func (printer) Send(_ context.Context, target string, ms []idemddb.Message) []error {
	answers := make([]error, len(ms))

	for i, m := range ms {
		if m.Body == "" {
			answers[i] = fmt.Errorf("printer: %s: %w: there is nothing to print", target, outbox.ErrPermanent)
			continue
		}

		fmt.Println(m.ID, m.Body)
	}

	return answers
}

// A sender of one's own wraps ErrPermanent to have a message parked. It hands on the id, so that its receiver has a key.
func ExampleErrPermanent() {
	var office idemddb.Sender = printer{}

	for _, err := range office.Send(context.Background(), "office", []idemddb.Message{
		{ID: "tx-0", To: "office", Body: "receipt for p-1"},
		{ID: "tx-1", To: "office"},
	}) {
		fmt.Println(err)
	}
	// Output:
	// tx-0 receipt for p-1
	// <nil>
	// printer: office: message cannot be sent: there is nothing to print
}
