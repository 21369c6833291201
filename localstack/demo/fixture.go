package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// fixture is what the steps share. It keeps the first error; after that its methods do nothing, so that a step reads as a list of
// deliveries and checks.
type fixture struct {
	*printer

	engine *engine
	queue  *queue
	clock  *idemddbtest.Clock
	work   handler
	err    error

	workers    []*worker
	deliveries int

	effects int                        // the payments that the accounts hold
	made    pipeline.Account           // what the accounts should hold together
	waiting int                        // announcements that should still be in their records
	ended   map[string]pipeline.Record // the records that are COMPLETED or FAILED, by payment
}

// play runs the steps and prints them under their result: a reader learns first what the demo is about.
func play(ctx context.Context, e *engine, out *printer, work handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the worker that died

	var text bytes.Buffer

	f := &fixture{
		printer: &printer{out: &text, coloured: out.coloured},
		engine:  e,
		queue:   &queue{ids: map[string]string{}},
		clock:   idemddbtest.NewClock(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)),
		work:    work,
		ended:   map[string]pipeline.Record{},
	}

	err := f.runSteps(ctx)
	if err == nil {
		f.introduce(out)
		f.heading("All as it should be", f.time())
		f.line(f.paint(green, f.result()))
	}

	fmt.Fprint(out.out, text.String())

	return err
}

func (f *fixture) runSteps(ctx context.Context) error {
	for i, step := range steps {
		f.heading(fmt.Sprintf("%d · %s", i+1, step.title), f.time())
		step.run(ctx, f)

		if f.err != nil {
			accounts, err := f.engine.Accounts(ctx)
			err = errors.Join(f.err, err)

			return fmt.Errorf("step %d, %s: %w: the accounts have %s, they should have %s", i+1, step.title, err,
				describeAmount(sum(accounts)), describeAmount(f.made))
		}

		f.clock.Advance(time.Minute)
	}

	return nil
}

// result is the first and the last line that the program prints.
func (f *fixture) result() string {
	var runs int64
	for _, w := range f.workers {
		runs += w.runs.Load()
	}

	return fmt.Sprintf("%d deliveries · %d runs · %d effects for %d payments", f.deliveries, runs, f.effects, f.made.Payments)
}

func (f *fixture) time() string { return f.clock.Now().Format(time.TimeOnly) }

// failf keeps the first error. Nothing is printed after it.
func (f *fixture) failf(format string, args ...any) {
	if f.err == nil {
		f.err, f.out = fmt.Errorf(format, args...), io.Discard
	}
}

// pass moves the clock of all workers.
func (f *fixture) pass(d time.Duration) {
	f.clock.Advance(d)
	f.line("")
	f.line(f.paint(dim, fmt.Sprintf("… %g s later, %s", d.Seconds(), f.time())))
}

func (f *fixture) worker() *worker {
	w, err := newWorker(f.engine, f.work, f.options())
	if err != nil {
		f.failf("%w", err)
	}

	f.workers = append(f.workers, w)
	w.id = fmt.Sprintf("call-%d", len(f.workers))

	return w
}

func (f *fixture) options() idemddb.Options {
	return idemddb.Options{Now: f.clock.Now, UnsentIndex: "unsent", Senders: map[string]idemddb.Sender{ledger.Captured: f.queue}}
}

// payment is one piece of work. Its id is the idempotency key.
type payment struct {
	id, account string
	amount      int // minor units
}

func (p payment) body() string { return pipeline.Payment(p.id, p.account, p.amount) }

// message is one delivery of a message; receives counts this one and all earlier ones.
func message(id, body string, receives int) events.SQSMessage {
	return events.SQSMessage{
		MessageId:      id,
		Body:           body,
		Attributes:     map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives)},
		EventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:payments",
	}
}

// outcome is what an invocation does. The number of requests in an expected outcome is an upper bound.
type outcome struct {
	failed, deadLetters string // message ids
	runs                int    // of the handler
	requests            int    // of DynamoDB
}

// deliver hands a batch to a worker, waits for the answer and checks it.
func (f *fixture) deliver(ctx context.Context, w *worker, want outcome, batch ...events.SQSMessage) {
	if f.err == nil {
		f.begin(ctx, w, batch)
		f.finish(w, want)
	}
}

// deliverUntilFrozen hands a message to a worker and waits until its handler freezes.
func (f *fixture) deliverUntilFrozen(ctx context.Context, w *worker, m events.SQSMessage) {
	if f.err != nil {
		return
	}

	f.begin(ctx, w, []events.SQSMessage{m})

	select {
	case <-w.frozenAt:
		f.printEvents(w)
		f.field("handler", "began, and does no more")
		f.field("answer", f.paint(red, "none"))
	case <-w.done:
		f.failf("the invocation ended before its handler began: %v", w.err)
	}
}

func (f *fixture) begin(ctx context.Context, w *worker, batch []events.SQSMessage) {
	f.deliveries += len(batch)

	lines := make([]string, len(batch))
	for i, m := range batch {
		lines[i] = f.paint(cyan, m.MessageId) + "  " + m.Body + f.paint(dim, "  delivery "+m.Attributes["ApproximateReceiveCount"])
	}

	if n := len(batch); n > 3 {
		lines = []string{lines[0], fmt.Sprintf("… %d more, to %s", n-1, f.paint(cyan, batch[n-1].MessageId))}
	}

	f.line("")
	f.field(w.id, lines...)
	w.invoke(ctx, batch)
}

// finish waits for the answer of a worker, prints what the worker did and compares that with what it should have done.
func (f *fixture) finish(w *worker, want outcome) {
	if f.err != nil {
		return
	}

	<-w.done

	got := outcome{w.failed, strings.Join(w.deadLetters, " "), int(w.runs.Load()), int(w.requests.Load())}
	f.printOutcome(w, got)

	if got.requests <= want.requests {
		want.requests = got.requests
	}

	if w.err != nil || got != want {
		f.failf("%s did %+v with error %v, want %+v", w.id, got, w.err, want)
	}
}
