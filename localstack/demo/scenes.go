package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

const paid = 16 // payments that the story makes

// scenes is the story, in its order. Each leaves the ledger to the next.
var scenes = []struct {
	title string
	play  func(context.Context, *stage)
}{
	{"First delivery", first},
	{"The same message again", duplicate},
	{"One payment, two messages, one batch", twice},
	{"One of two messages fails", failing},
	{"A worker dies", crash},
	{"A frozen worker wakes up too late", zombie},
	{"A message that can never succeed", poison},
	{"Ten messages in one batch", ten},
}

func first(ctx context.Context, s *stage) {
	s.say(plain, "A message asks for 12.50 on account a-1. The wrapper claims its paymentId, the handler pays, the wrapper "+
		"records that it is done. Two requests and two write units are the price of it all.")
	s.deliver(ctx, s.worker(), expected{runs: 1, records: 2},
		message("m-1", `{"paymentId":"p-1","account":"a-1","amount":1250}`, 1))
	s.ends(ctx, "p-1", "COMPLETED", account{"1250", "1"})
}

func duplicate(ctx context.Context, s *stage) {
	s.say(plain, "SQS delivers at least once: m-1 comes again, to another process. The claim is refused, and the refusal "+
		"carries the record: completed. So the message is done, and nobody paid.")
	s.deliver(ctx, s.worker(), expected{records: 1},
		message("m-1", `{"paymentId":"p-1","account":"a-1","amount":1250}`, 2))
	s.ends(ctx, "p-1", "COMPLETED", account{"1250", "1"})
}

func twice(ctx context.Context, s *stage) {
	s.say(plain, "The sender was not sure and sent p-2 twice, the second time written differently. Both arrive in one batch. They "+
		"are one piece of work: it runs once, and both messages are done.")
	s.deliver(ctx, s.worker(), expected{runs: 1, records: 2},
		message("m-2", `{"paymentId":"p-2","account":"a-1","amount":2000}`, 1),
		message("m-3", `{"amount": 2000, "account":"a-1", "paymentId":"p-2"}`, 1))
	s.ends(ctx, "p-2", "COMPLETED", account{"3250", "2"})
}

func failing(ctx context.Context, s *stage) {
	body := `{"paymentId":"p-3","account":"a-1","amount":500}`

	s.say(plain, "One request claims both. DynamoDB throttles the ledger while p-3 is paid: its claim is released, with the reason, "+
		"and m-4 alone is reported failed. m-5, beside it in the batch, is paid.")

	w := s.worker()
	w.isThrottled()
	s.deliver(ctx, w, expected{answer: "m-4", runs: 2, records: 3},
		message("m-4", body, 1), message("m-5", `{"paymentId":"p-4","account":"a-1","amount":750}`, 1))
	s.ends(ctx, "p-3", "INPROGRESS", account{"4000", "3"})

	s.blank()
	s.say(plain, "A released key waits for nothing: m-4 succeeds as soon as it comes back. att counts two attempts.")
	s.deliver(ctx, w, expected{runs: 1, records: 2}, message("m-4", body, 2))
	s.ends(ctx, "p-3", "COMPLETED", account{"4500", "4"})
}

func crash(ctx context.Context, s *stage) {
	body := `{"paymentId":"p-5","account":"a-1","amount":3000}`

	s.say(plain, "A worker claims p-5 and dies before it pays. There is no answer and no release; the claim stays, with a lease "+
		"of 30 s.")

	w := s.worker()
	w.diesAfterClaim()
	s.deliver(ctx, w, expected{answer: noAnswer, records: 1}, message("m-6", body, 1))
	s.ends(ctx, "p-5", "INPROGRESS", account{"4500", "4"})

	s.pass(10 * time.Second)
	s.say(plain, "m-6 comes again. The holder might still be at work: nobody may have its key before the lease is over.")
	s.deliver(ctx, s.worker(), expected{answer: "m-6", records: 1}, message("m-6", body, 2))

	s.pass(22 * time.Second)
	s.say(plain, "The lease is over, and so is the second that is added because clocks differ. m-6 comes again: takeover. "+
		"prev tells that an earlier lease ran out.")
	s.deliver(ctx, s.worker(), expected{runs: 1, records: 2}, message("m-6", body, 3))
	s.ends(ctx, "p-5", "COMPLETED", account{"7500", "5"})
}

func poison(ctx context.Context, s *stage) {
	body := `{"paymentId":"p-7","account":"a-1","amount":-300}`

	s.say(plain, "p-7 asks for a negative amount. The payments code calls that Permanent: the key is FAILED, the message is given "+
		"to the dead-letter hook, and it is done with.")
	s.deliver(ctx, s.worker(), expected{runs: 1, records: 2, letters: "m-8"}, message("m-8", body, 1))
	s.ends(ctx, "p-7", "FAILED", account{"11500", "6"})

	s.blank()
	s.say(plain, "Delivered again, it is refused by its record. The handler does not run; the hook is called again, because it is "+
		"promised each such message at least once.")
	s.deliver(ctx, s.worker(), expected{records: 1, letters: "m-8"}, message("m-8", body, 2))
	s.ends(ctx, "p-7", "FAILED", account{"11500", "6"})
}

func ten(ctx context.Context, s *stage) {
	ids := make([]string, 10)
	batch := func(delivery int) []events.SQSMessage {
		messages := make([]events.SQSMessage, len(ids))
		for i := range ids {
			ids[i] = fmt.Sprintf("p-%d", 11+i)
			messages[i] = message(fmt.Sprintf("m-%d", 11+i), `{"paymentId":"`+ids[i]+`","account":"a-1","amount":100}`, delivery)
		}

		return messages
	}

	s.say(plain, "One request claims ten payments. The next records the first of them, and is slow for once: meanwhile the other nine "+
		"are made. They wait for it, and are recorded in one request, too. Three instead of twenty, for as many write units.")

	w := s.worker()
	w.isSlowAtFirst(len(ids))
	s.deliver(ctx, w, expected{runs: len(ids), records: 3}, batch(1)...)
	by := s.lastCall()
	records := s.endAll(ctx, ids, by, account{"12500", "16"})

	s.blank()
	s.say(plain, "All ten come again. One request asks for them, and each refusal in it carries its record.")
	s.deliver(ctx, s.worker(), expected{records: 1}, batch(2)...)

	if again := s.endAll(ctx, ids, by, account{"12500", "16"}); !reflect.DeepEqual(records, again) {
		s.failsf("a record was changed by a message that came again")
	}
}

// pass moves the clock.
func (s *stage) pass(d time.Duration) {
	s.clock.Advance(d)
	s.blank()
	s.line(s.paint(dim, "… "+span(d)+" later, "+s.time()))
}
