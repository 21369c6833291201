package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// steps is the story. Each step finds the accounts as the step before left them.
var steps = []struct {
	title string
	run   func(context.Context, *fixture)
}{
	{"First delivery", firstDelivery},
	{"The same message again", duplicate},
	{"One payment, two messages, one batch", samePaymentTwice},
	{"One of two messages fails", failure},
	{"Two workers crash", crash},
	{"A worker that was frozen wakes up too late", zombie},
	{"A message that can never succeed", poison},
	{"Ten messages share their requests", tenMessages},
	{"The queue of the announcements is down", unsent},
}

func firstDelivery(ctx context.Context, f *fixture) {
	p := payment{"p-1", "a-1", 1250}

	f.paragraph("A message asks for a payment of 12.50. The handler stages its effects, and one transaction writes them and the completed " +
		"record. Then the announcement is sent, and a second request removes it from the record.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 2}, message("m-1", p.body(), 1))
	f.check(ctx, completed, p)
}

func duplicate(ctx context.Context, f *fixture) {
	p := payment{"p-1", "a-1", 1250}

	f.paragraph("SQS delivers m-1 again, to another worker. A message that comes again is claimed before its handler runs. The claim is " +
		"refused, and the refusal carries the completed record. So the wrapper answers that the message is done, and the handler does not run.")
	f.deliver(ctx, f.worker(), outcome{requests: 1}, message("m-1", p.body(), 2))
	f.check(ctx, completed, p)
}

func samePaymentTwice(ctx context.Context, f *fixture) {
	p := payment{"p-2", "a-1", 2000}

	f.paragraph("The sender got no answer and sent p-2 twice, the second time written differently. Both messages arrive in one batch. They have " +
		"the same idempotency key, so the handler runs once, and both messages are done.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 2},
		message("m-2", p.body(), 1), message("m-3", `{"amount": 2000, "account":"a-1", "paymentId":"p-2"}`, 1))
	f.check(ctx, completed, p)
}

func failure(ctx context.Context, f *fixture) {
	fails, succeeds := payment{"p-3", "a-1", 500}, payment{"p-4", "a-1", 750}

	f.paragraph("The handler of p-3 fails. The wrapper writes that down, so that the attempt counts, and reports m-4 failed. Nothing of what " +
		"the handler staged is written. The other message of the batch is done.")

	w := f.worker()
	w.failing = "m-4"
	f.deliver(ctx, w, outcome{failed: "m-4", runs: 2, requests: 3}, message("m-4", fails.body(), 1), message("m-5", succeeds.body(), 1))
	f.check(ctx, completed, succeeds)
	f.check(ctx, inProgress, fails)

	f.line("")
	f.paragraph("A released key can be claimed at once: the next delivery of m-4 pays. Its claim is a request of its own, and the completion is " +
		"the transaction with the effects. Each claim of a key has a higher fencing token.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 3}, message("m-4", fails.body(), 2))
	f.check(ctx, completed, fails)
}

func crash(ctx context.Context, f *fixture) {
	p := payment{"p-5", "a-1", 3000}

	f.paragraph("A worker crashes while its handler works on p-5. The first delivery of a message is not claimed beforehand, so the worker " +
		"leaves nothing behind: no record, no lease, no effect.")

	w := f.worker()
	w.freezes(ctx)
	f.deliverUntilFrozen(ctx, w, message("m-6", p.body(), 1))
	f.check(ctx, none, p)

	f.line("")
	f.paragraph("SQS delivers m-6 again. The second worker claims the key at once, and crashes, too. Its claim has a lease of 30 s.")

	w = f.worker()
	w.freezes(ctx)
	f.deliverUntilFrozen(ctx, w, message("m-6", p.body(), 2))
	f.check(ctx, inProgress, p)

	f.pass(10 * time.Second)
	f.paragraph("Nobody knows that the second worker crashed, so nobody may claim its key before the lease ends.")
	f.deliver(ctx, f.worker(), outcome{failed: "m-6", requests: 1}, message("m-6", p.body(), 3))

	f.pass(22 * time.Second)
	f.paragraph("The lease has ended, and so has the second by which clocks may differ. The next delivery takes the key over and pays.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 3}, message("m-6", p.body(), 4))
	f.check(ctx, completed, p)
}

func zombie(ctx context.Context, f *fixture) {
	p := payment{"p-6", "a-1", 4000}

	f.paragraph("A worker freezes while its handler works on p-6: its process stands still, but it is not dead.")

	frozen := f.worker()
	thaw := frozen.freezes(ctx)
	f.deliverUntilFrozen(ctx, frozen, message("m-7", p.body(), 1))

	f.pass(5 * time.Second)
	f.paragraph("Another worker gets m-7 and pays.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 3}, message("m-7", p.body(), 2))
	f.check(ctx, completed, p)

	f.pass(5 * time.Second)
	f.paragraph("The first worker wakes up and goes on. Its handler stages the payment a second time, but the transaction is refused, because the " +
		"record is completed: nothing is written. The wrapper answers that the message is done.")
	f.line("")
	f.field(frozen.id, f.paint(cyan, "m-7")+"  goes on")
	thaw()
	f.finish(frozen, outcome{runs: 1, requests: 1})
	f.check(ctx, completed, p)

	f.line("")
	f.paragraph("This is exact because the effects are in the transaction. An effect outside of it, such as a call to another system, would have " +
		"happened twice here; Claim.Fence returns the fencing token, with which that system can refuse the older worker.")
}

func poison(ctx context.Context, f *fixture) {
	p := payment{"p-7", "a-1", -300}

	f.paragraph("p-7 asks for a negative amount. The payments code returns a Permanent error: the wrapper ends the key as FAILED, gives the " +
		"message to the dead-letter hook and answers that it is done.")
	f.deliver(ctx, f.worker(), outcome{deadLetters: "m-8", runs: 1, requests: 2}, message("m-8", p.body(), 1))
	f.check(ctx, failed, p)

	f.line("")
	f.paragraph("SQS delivers m-8 again. The record refuses the claim, so the handler does not run. The hook gets the message again, because it is " +
		"promised each such message at least once.")
	f.deliver(ctx, f.worker(), outcome{deadLetters: "m-8", requests: 1}, message("m-8", p.body(), 2))
	f.check(ctx, failed, p)
}

func tenMessages(ctx context.Context, f *fixture) {
	var (
		payments       []payment
		batch, another []events.SQSMessage
	)

	for n := 11; n <= 20; n++ {
		id, p := fmt.Sprintf("m-%d", n), payment{fmt.Sprintf("p-%d", n), fmt.Sprintf("a-%d", n), 100}
		payments = append(payments, p)
		batch, another = append(batch, message(id, p.body(), 1)), append(another, message(id, p.body(), 2))
	}

	f.paragraph("Ten payments to ten accounts. Their handlers run at the same time, one transaction commits all of them, and one request removes " +
		"the announcements that were sent. (Payments to one account cannot share a transaction, because an item stands in it once.)")
	// The text of the story has 2, in a bubble where all ten are in time. In real time the last ones may need a second request of
	// each kind.
	f.deliver(ctx, f.worker(), outcome{runs: 10, requests: 4}, batch...)
	f.check(ctx, completed, payments...)

	f.line("")
	f.paragraph("SQS delivers all ten again. One request answers them all.")
	f.deliver(ctx, f.worker(), outcome{requests: 3}, another...)
	f.check(ctx, completed, payments...)
}

func unsent(ctx context.Context, f *fixture) {
	p := payment{"p-21", "a-1", 900}

	f.paragraph("The queue does not take the announcement of p-21. The payment is done, and the announcement stays in its record, which is not " +
		"deleted while it is there.")
	f.queue.setDown(true)
	f.waiting = 1
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 1}, message("m-21", p.body(), 1))
	f.check(ctx, completed, p)

	f.pass(2 * time.Minute)
	f.paragraph("The queue is up again. Each minute functions/relay looks for announcements that are not sent. It finds this one by the table's " +
		"index, sends it under the id that it has had from the start, and removes it.")
	f.queue.setDown(false)
	f.sweep(ctx)
	f.waiting = 0
	delete(f.ended, p.id) // the record has changed: it is without the announcement now
	f.made.Balance, f.made.Payments = f.made.Balance-p.amount, f.made.Payments-1
	f.check(ctx, completed, p)
}

// sweep does what functions/relay does.
func (f *fixture) sweep(ctx context.Context) {
	opts := f.options()

	store, err := idemddb.New(f.engine.DynamoDB, f.engine.RecordTableName, "payments", &opts)
	if err != nil {
		f.failf("%w", err)

		return
	}

	report, err := outbox.Sweep(ctx, store, f.engine.DynamoDB)
	if err != nil || report.Sent != 1 || report.Left != 0 {
		f.failf("the sweep: %+v, %w", report, err)
	}

	f.line("")
	f.field("relay", fmt.Sprintf("%s with unsent messages, %d sent, %d left", count(report.Records, "record"), report.Sent, report.Left))
}
