package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// timeLimit is what an invocation has; longer than a lease, so that the lease is a whole one.
const timeLimit = time.Minute

// worker is one process of the payments function, with a DynamoDB connection of its own.
type worker struct {
	wire   *meter
	lambda lambda.Handler // takes and gives JSON, as Lambda does

	runs  atomic.Int64
	claim *idemddb.Claim // of the last run
	dead  []string       // ids that the dead-letter hook got
	notes notes
}

// payment is the work of a message. The story's is [pay]; a test has a wrong one.
type payment func(context.Context, *ledger.Ledger, events.SQSMessage) error

func pay(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
	return accounts.Pay(ctx, m) //nolint:wrapcheck // the wrapper reads it
}

// newWorker starts a process: what functions/payments/main.go does, and a dead-letter hook. pause is its PAUSE_MS.
//
//nolint:contextcheck,nolintlint // it makes no request
func newWorker(e *engine, now func() time.Time, work payment, pause time.Duration) (*worker, error) {
	w := &worker{wire: &meter{api: e.client, records: e.records}}

	store, err := idemddb.New(w.wire, e.records, "payments", &idemddb.Options{Now: now})
	if err != nil {
		return w, fmt.Errorf("the store: %w", err)
	}

	accounts, err := ledger.New(w.wire, e.ledger, &ledger.Options{Pause: pause})
	if err != nil {
		return w, fmt.Errorf("the payments code: %w", err)
	}

	opts := accounts.Options()
	opts.Logger = w.notes.logger()
	opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
		w.dead = append(w.dead, m.MessageId)

		return nil
	}

	handler := func(ctx context.Context, m events.SQSMessage) error {
		w.runs.Add(1)
		w.claim, _ = idemddb.FromContext(ctx)

		return work(ctx, accounts, m)
	}
	w.lambda = lambda.NewHandler(lambdawrap.SQS(store, handler, opts))

	return w, nil
}

// invocation is one call of a worker.
type invocation struct {
	id     string // of the request
	worker *worker
	done   chan struct{} // closed when it has answered, or died
	answer string        // JSON; "" from a worker that died
	err    error
}

// invoke hands a batch over.
func (w *worker) invoke(ctx context.Context, id string, batch []events.SQSMessage) *invocation {
	call := &invocation{id: id, worker: w, done: make(chan struct{})}

	go func() {
		defer close(call.done)

		ctx, cancel := context.WithTimeout(ctx, timeLimit)
		defer cancel()

		event, err := json.Marshal(events.SQSEvent{Records: batch})
		if err != nil {
			call.err = err

			return
		}

		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: id})

		answer, err := w.lambda.Invoke(ctx, event)
		if w.wire.dead.Load() {
			w.notes.take()

			return
		}

		call.answer, call.err = strings.TrimSpace(string(answer)), err
	}()

	return call
}

// diesAfterClaim kills the process when its claim stands in the table, before it knows: from then on nothing that it does gets out.
func (w *worker) diesAfterClaim() {
	w.wire.after = func(request) { w.wire.dead.Store(true) }
}

// freezesAfterClaim stops the process when its claim stands in the table, before it knows; claimed is closed then. It goes on
// with thaw.
func (w *worker) freezesAfterClaim() (claimed <-chan struct{}, thaw func()) {
	stopped, running := make(chan struct{}), make(chan struct{})

	var frozen atomic.Bool

	w.wire.after = func(request) {
		if frozen.CompareAndSwap(false, true) {
			close(stopped)
			<-running
		}
	}

	return stopped, func() { close(running) }
}

// isThrottled has DynamoDB refuse the next update of the ledger, and the one after it wait for what is written down of that, so
// that each time these go in requests of their own.
func (w *worker) isThrottled() {
	var met atomic.Bool

	told := make(chan struct{})
	tell := sync.OnceFunc(func() { close(told) })

	w.wire.before = func(ctx context.Context, r request) error {
		switch {
		case r.table != "ledger":
		case met.CompareAndSwap(false, true):
			message := "The level of configured provisioned throughput for the table was exceeded"

			return &types.ProvisionedThroughputExceededException{Message: &message}
		default:
			wait(ctx, told)
		}

		return nil
	}
	w.wire.after = func(r request) {
		if met.Load() && r.table == "records" {
			tell()
		}
	}
}

// isSlowAtFirst has the first write after the claims take as long as the other payments of the batch: none of these begins
// before it, and it is not sent before they have ended.
func (w *worker) isSlowAtFirst(payments int) {
	var (
		first atomic.Bool
		paid  atomic.Int64
	)

	underWay, allPaid := make(chan struct{}), make(chan struct{})

	w.wire.before = func(ctx context.Context, r request) error {
		switch {
		case r.table == "ledger" && paid.Load() > 0:
			wait(ctx, underWay)
		case r.purpose == "complete" && first.CompareAndSwap(false, true):
			close(underWay)
			wait(ctx, allPaid)
			aMoment()
		}

		return nil
	}
	w.wire.after = func(r request) {
		if r.table == "ledger" && paid.Add(1) == int64(payments) {
			close(allPaid)
		}
	}
}

// wait waits for what another request does, in a story that goes wrong not for ever.
func wait(ctx context.Context, happened <-chan struct{}) {
	select {
	case <-happened:
	case <-ctx.Done():
	}
}

// aMoment is for the last payment's way from its answer to the queue of completions, which nobody sees from here: some
// microseconds. It comes in many parts, so that a machine that stops for longer takes one of them and not all.
func aMoment() {
	for range 50 {
		time.Sleep(2 * time.Millisecond) //nolint:forbidigo // nothing tells that it happened
	}
}
