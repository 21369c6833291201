package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// pauseBeforePaying is PAUSE_MS of the worker that freezes: time for what its wrapper finds out to reach the handler. It is
// cancelled, never waited for.
const pauseBeforePaying = 10 * time.Second

func zombie(ctx context.Context, s *stage) {
	m := func(n int) events.SQSMessage {
		return message("m-7", `{"paymentId":"p-6","account":"a-1","amount":4000}`, n)
	}

	s.say(plain, "A worker claims p-6. Before the answer reaches it, its machine freezes: it does nothing, but it is not dead.")

	frozen := s.pausingWorker(pauseBeforePaying)
	claimed, thaw := frozen.freezesAfterClaim()
	call := s.begin(ctx, frozen, m(1))

	select {
	case <-claimed:
	case <-call.done:
	}

	s.requests(frozen.wire.take())

	s.pass(32 * time.Second)
	s.say(plain, "Its lease is over. m-7 comes again, another worker takes over, pays, and completes.")
	s.deliver(ctx, s.worker(), expected{runs: 1, records: 2}, m(2))
	record := s.ends(ctx, "p-6", "COMPLETED", account{"11500", "6"})

	s.pass(5 * time.Second)
	thaw()
	<-call.done
	s.wakes(ctx, call, record)
}

// wakes is what the zombie does: once as the wrapper has it, then with every write that a claim has.
func (s *stage) wakes(ctx context.Context, call *invocation, record item) {
	s.say(plain, "The frozen worker wakes up and believes that it holds p-6. Its handler begins, and waits before it pays "+
		"(PAUSE_MS). Meanwhile the wrapper renews the lease, which is over, and learns that it is fenced: the handler's context is "+
		"cancelled, and the payment is not sent. m-7 is reported failed, to be safe; if it comes again, the record answers.")
	s.blank()
	s.field(call.id, s.paint(cyan, "m-7")+"  goes on")
	s.end(call, expected{answer: "m-7", runs: 1, records: 1, atLeast: true})
	s.defies(ctx, call.worker, record)
	s.ends(ctx, "p-6", "COMPLETED", account{"11500", "6"})
	s.blank()
	s.say(dim, "What is not promised: that the cancellation comes first. A worker that pays before it hears of it, or that froze "+
		"between its payment and the record of it, pays beside its successor, and the account has it twice. Claim.Fence is higher "+
		"for the successor: with it the other system can refuse the older one.")
}

// defies tries the zombie's claim directly: whatever it wants to write is refused, and the record is what it was before it woke.
func (s *stage) defies(ctx context.Context, w *worker, record item) {
	if s.err != nil {
		return
	}

	s.blank()
	s.say(plain, "Suppose it had ignored all that, and insisted that the work is done, or failed for good:")
	s.blank()

	claim := w.claim
	if err := claim.Complete(ctx, nil); !errors.Is(err, idemddb.ErrFenced) {
		s.failsf("the completion of a worker that had lost its claim: got %v, want ErrFenced", err)
	}

	if err := claim.Fail(ctx, errors.New("because I say so")); !errors.Is(err, idemddb.ErrFenced) {
		s.failsf("the failure of a worker that had lost its claim: got %v, want ErrFenced", err)
	}

	s.requests(w.wire.take())

	if s.unchanged(ctx, "p-6", record); s.err == nil {
		s.field("record", s.paint(green, "what it was before the worker woke up, byte for byte"))
	}
}
