package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

const queueARN = "arn:aws:sqs:eu-central-1:123456789012:payments"

// stage is where the scenes play. Its first error ends the story: what comes after it is left out.
type stage struct {
	*page

	engine *engine
	clock  *idemddbtest.Clock
	work   payment
	sum    tally
	err    error
}

// tally is what the whole story took.
type tally struct {
	invocations, deliveries, runs, effects int
	records, ledger                        bill
}

// bill is what one table was asked.
type bill struct {
	requests int
	units    float64
}

// opening says what the story is about, and how to read it.
func (s *stage) opening() {
	s.say(bold, "What becomes of a payment, whatever happens to its messages")
	s.say(plain, "An SQS queue of payments. Each adds its amount to an account, by an update that would count twice if it ran twice. "+
		"The wrapper and the payments code are the real ones, as is the JSON that Lambda would hand them. "+
		"Only the clock is the demo's, so that leases end without waiting.")
	s.blank()
	s.field("engine", s.engine.name)
	s.field("clocks", "a claim's lease 30 s · clocks may differ by 1 s · a record answers for 7 days")
	s.prose("a record", plain, "st state · own whose claim · fence rises with each claim · att attempts begun · lease held until · prev "+
		"the lease that was found · born first claim · done completion · exp end of retention · fp fingerprint of account and amount · "+
		"v format · err last failure")
	s.field("prices", "WU: a write unit, for each write of up to 1 KB, also for one that is refused")
}

// closing adds it all up.
func (s *stage) closing() {
	t := s.sum
	if t.effects != paid {
		s.failsf("%d effects for %d payments", t.effects, paid)

		return
	}

	s.heading("All as it should be", s.time())
	all := t.records
	all.add(t.ledger)
	s.field("in all", fmt.Sprintf("%d deliveries · %s · ", t.deliveries, count(t.runs, "run"))+
		s.paint(green, fmt.Sprintf("%d effects for %d payments", t.effects, paid))+
		" · "+count(all.requests, "request")+" · "+count(int(all.units), "write unit"))
	s.field("of these", "records "+t.records.String()+" · ledger "+t.ledger.String())
}

// tell plays every scene and says what it took.
func tell(ctx context.Context, e *engine, p *page, work payment) error {
	s := &stage{page: p, engine: e, work: work, clock: idemddbtest.NewClock(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))}
	s.opening()

	for n, scene := range scenes {
		s.heading(fmt.Sprintf("%d · %s", n+1, scene.title), s.time())
		scene.play(ctx, s)

		if s.err != nil {
			return fmt.Errorf("scene %d, %s: %w", n+1, scene.title, s.err)
		}

		s.clock.Advance(time.Minute)
	}

	s.closing()

	return s.err
}

// failsf keeps the first thing that is not as it should be.
func (s *stage) failsf(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *stage) worker() *worker { return s.pausingWorker(0) }

func (s *stage) pausingWorker(pause time.Duration) *worker {
	w, err := newWorker(s.engine, s.clock.Now, s.work, pause)
	if err != nil {
		s.failsf("%w", err)
	}

	return w
}

// message is a payment on its way; count is how often it was received, which gives it another receipt handle each time.
func message(id, body string, count int) events.SQSMessage {
	return events.SQSMessage{
		MessageId:      id,
		ReceiptHandle:  fmt.Sprintf("%s-receipt-%d", id, count),
		Body:           body,
		Attributes:     map[string]string{"ApproximateReceiveCount": strconv.Itoa(count)},
		EventSource:    "aws:sqs",
		EventSourceARN: queueARN,
		AWSRegion:      "eu-central-1",
	}
}

// deliver hands a batch to a worker, waits for its answer, and shows and checks it.
func (s *stage) deliver(ctx context.Context, w *worker, want expected, batch ...events.SQSMessage) {
	if s.err != nil {
		return
	}

	call := s.begin(ctx, w, batch...)
	<-call.done
	s.end(call, want)
}

// begin hands a batch to a worker.
func (s *stage) begin(ctx context.Context, w *worker, batch ...events.SQSMessage) *invocation {
	s.sum.invocations++
	s.sum.deliveries += len(batch)
	id := s.lastCall()

	shown := batch
	if len(batch) > few {
		shown = batch[:1]
	}

	lines := make([]string, len(shown), len(shown)+1)
	for i, m := range shown {
		lines[i] = s.paint(cyan, m.MessageId) + "  " + m.Body + s.paint(dim, "  delivery "+m.Attributes["ApproximateReceiveCount"])
	}

	if more := len(batch) - len(shown); more > 0 {
		lines = append(lines, s.paint(dim, fmt.Sprintf("… %d more like it, to ", more))+s.paint(cyan, batch[more].MessageId))
	}

	s.blank()
	s.field(id, lines...)

	return w.invoke(ctx, id, batch)
}

// lastCall is the request id of the invocation that began last.
func (s *stage) lastCall() string { return fmt.Sprintf("call-%d", s.sum.invocations) }

// end shows what an invocation did, and compares it with what it should have done.
func (s *stage) end(call *invocation, want expected) {
	w := call.worker
	log := w.wire.take()
	got := expected{
		answer: failures(call.answer), letters: strings.Join(w.dead, " "), runs: int(w.runs.Swap(0)), records: requestsOf(log, "records"),
	}

	s.requests(log)
	s.handler(got.runs)

	for _, line := range w.notes.take() {
		s.prose("log", dim, line)
	}

	if len(w.dead) > 0 {
		s.field("dead letter", s.paint(yellow, strings.Join(w.dead, " ")))
	}

	w.dead = nil

	s.answer(call)
	s.sum.runs += got.runs

	if call.err != nil {
		s.failsf("the invocation failed: %w", call.err)
	}

	s.compare(got, want)
}

// failures are the ids in an answer; a worker that died has given none.
func failures(answer string) string {
	var response events.SQSEventResponse
	if err := json.Unmarshal([]byte(answer), &response); err != nil {
		return noAnswer
	}

	ids := make([]string, len(response.BatchItemFailures))
	for i, f := range response.BatchItemFailures {
		ids[i] = f.ItemIdentifier
	}

	return strings.Join(ids, " ")
}
