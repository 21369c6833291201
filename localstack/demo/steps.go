package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// steps is the story. Each step finds the account as the step before left it.
var steps = []struct {
	title string
	run   func(context.Context, *fixture)
}{
	{"First delivery", firstDelivery},
	{"The same message again", duplicate},
	{"One payment, two messages, one batch", samePaymentTwice},
	{"One of two messages fails", failure},
	{"A worker crashes", crash},
	{"A worker that was frozen wakes up too late", zombie},
	{"A message that can never succeed", poison},
	{"Ten messages share their requests", tenMessages},
}

func firstDelivery(ctx context.Context, f *fixture) {
	p := payment{"p-1", 1250}

	f.paragraph("A message asks for a payment of 12.50. The wrapper claims its paymentId, the handler pays, and the wrapper completes the record.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 2}, message("m-1", p.body(), 1))
	f.check(ctx, completed, p)
}

func duplicate(ctx context.Context, f *fixture) {
	p := payment{"p-1", 1250}

	f.paragraph("SQS delivers m-1 again, to another worker. Its claim is refused, and the refusal carries the completed record. So the wrapper " +
		"answers that the message is done, and the handler does not run.")
	f.deliver(ctx, f.worker(), outcome{requests: 1}, message("m-1", p.body(), 2))
	f.check(ctx, completed, p)
}

func samePaymentTwice(ctx context.Context, f *fixture) {
	p := payment{"p-2", 2000}

	f.paragraph("The sender got no answer and sent p-2 twice, the second time written differently. Both messages arrive in one batch. They have " +
		"the same idempotency key, so the handler runs once, and both messages are done.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 2},
		message("m-2", p.body(), 1), message("m-3", `{"amount": 2000, "account":"a-1", "paymentId":"p-2"}`, 1))
	f.check(ctx, completed, p)
}

func failure(ctx context.Context, f *fixture) {
	fails, succeeds := payment{"p-3", 500}, payment{"p-4", 750}

	f.paragraph("DynamoDB throttles the update of the account while the handler pays p-3. The wrapper releases the claim and reports m-4 failed. " +
		"The other message of the batch is done.")

	w := f.worker()
	w.throttled = "m-4"
	f.deliver(ctx, w, outcome{failed: "m-4", runs: 2, requests: 4}, message("m-4", fails.body(), 1), message("m-5", succeeds.body(), 1))
	f.check(ctx, completed, succeeds)
	f.check(ctx, inProgress, fails)

	f.line("")
	f.paragraph("A released key can be claimed at once: the next delivery of m-4 pays. Each claim of a key has a higher fencing token.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 2}, message("m-4", fails.body(), 2))
	f.check(ctx, completed, fails)
}

func crash(ctx context.Context, f *fixture) {
	p := payment{"p-5", 3000}

	f.paragraph("A worker crashes before it pays p-5. It sends no answer and does not release its claim, which has a lease of 30 s.")

	w := f.worker()
	w.freezes(ctx)
	f.deliverUntilFrozen(ctx, w, message("m-6", p.body(), 1))
	f.check(ctx, inProgress, p)

	f.pass(10 * time.Second)
	f.paragraph("SQS delivers m-6 again. Nobody knows that the first worker crashed, so nobody may claim its key before the lease ends.")
	f.deliver(ctx, f.worker(), outcome{failed: "m-6", requests: 1}, message("m-6", p.body(), 2))

	f.pass(22 * time.Second)
	f.paragraph("The lease has ended, and so has the second by which clocks may differ. The next delivery takes the key over and pays.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 2}, message("m-6", p.body(), 3))
	f.check(ctx, completed, p)
}

func zombie(ctx context.Context, f *fixture) {
	const lease, pause = time.Second, 10 * time.Second

	p := payment{"p-6", 4000}

	f.paragraph("A worker claims p-6 and freezes before it pays: its process stands still, but it is not dead. Its lease is 1 s in this step, " +
		"because the renewal at half of a lease runs in real time.")

	frozen := f.workerWith(idemddb.Options{Lease: lease}, pause)
	thaw := frozen.freezes(ctx)
	f.deliverUntilFrozen(ctx, frozen, message("m-7", p.body(), 1))

	f.pass(5 * time.Second)
	f.paragraph("Its lease has ended. Another worker gets m-7, takes the key over and pays.")
	f.deliver(ctx, f.worker(), outcome{runs: 1, requests: 2}, message("m-7", p.body(), 2))
	f.check(ctx, completed, p)

	f.pass(5 * time.Second)
	f.paragraph("The first worker wakes up and goes on (PAUSE_MS is 10 s, so it does not pay at once). The wrapper renews the lease, and the " +
		"renewal is fenced. So the wrapper cancels the handler's context: the payment is not sent, and m-7 is reported failed. The next " +
		"delivery would be answered from the record.")
	f.line("")
	f.field(frozen.id, f.paint(cyan, "m-7")+"  goes on")
	thaw()
	f.finish(frozen, outcome{failed: "m-7", runs: 1, requests: 5})
	f.check(ctx, completed, p)

	f.line("")
	f.paragraph("Not promised: a worker that pays before its context is cancelled, or that froze between its payment and the completion, pays " +
		"a second time. Claim.Fence returns the fencing token, with which the paid system can refuse the older worker.")
}

func poison(ctx context.Context, f *fixture) {
	p := payment{"p-7", -300}

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
		id, p := fmt.Sprintf("m-%d", n), payment{fmt.Sprintf("p-%d", n), 100}
		payments = append(payments, p)
		batch, another = append(batch, message(id, p.body(), 1)), append(another, message(id, p.body(), 2))
	}

	f.paragraph("One request claims ten payments. Their handlers run at the same time and take 20 ms each, and completions that are ready " +
		"at the same time share a request, too. With requests of their own, ten messages would need twenty.")
	f.deliver(ctx, f.workerWith(idemddb.Options{}, 20*time.Millisecond), outcome{runs: 10, requests: 11}, batch...)
	f.check(ctx, completed, payments...)

	f.line("")
	f.paragraph("SQS delivers all ten again. One request answers them all.")
	f.deliver(ctx, f.worker(), outcome{requests: 1}, another...)
	f.check(ctx, completed, payments...)
}
