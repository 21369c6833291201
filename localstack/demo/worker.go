package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// timeLimit is the function's time-out. It is longer than a lease, because a lease ends with the invocation at the latest.
const timeLimit = time.Minute

// handler is the work for one message: [pay], or a wrong one in a test.
type handler func(context.Context, *ledger.Ledger, events.SQSMessage) error

func pay(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
	return accounts.Pay(ctx, m)
}

// worker is one process of the payments function. It gets one invocation.
type worker struct {
	id       string // the request id of the invocation
	function func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

	done   chan struct{} // closed when the invocation has ended
	failed string        // the message ids in its answer
	err    error

	frozenAt chan struct{} // closed when the handler freezes; nil in a worker that does not freeze
	thawed   chan struct{} // closed when it may go on
	failing  string        // the id of the message whose handler fails

	requests, runs atomic.Int64 // requests of DynamoDB, runs of the handler

	log bytes.Buffer // of the wrapper

	mu          sync.Mutex // guards the fields below
	events      []idemddb.Event
	deadLetters []string // message ids
}

// errDown is the failure of a handler.
var errDown = errors.New("the service that checks limits does not answer")

// newWorker does what functions/payments/main.go does, with ten handlers at a time and a dead-letter hook.
//
//nolint:contextcheck,nolintlint // it makes no request
func newWorker(e *engine, work handler, opts idemddb.Options) (*worker, error) {
	w := &worker{}
	opts.Observe = w.observe

	store, err := idemddb.New(w.client(e), e.RecordTableName, "payments", &opts)
	if err != nil {
		return w, fmt.Errorf("the store: %w", err)
	}

	accounts, err := ledger.New(e.LedgerTableName, nil)
	if err != nil {
		return w, fmt.Errorf("the payments code: %w", err)
	}

	wrap := accounts.Options()
	wrap.Workers = 10
	wrap.Logger = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	wrap.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
		w.mu.Lock()
		defer w.mu.Unlock()

		w.deadLetters = append(w.deadLetters, m.MessageId)

		return nil
	}
	w.function = lambdawrap.SQS(store, func(ctx context.Context, m events.SQSMessage) error {
		w.runs.Add(1)
		w.freezeHere()

		if m.MessageId == w.failing {
			return errDown
		}

		return work(ctx, accounts, m)
	}, wrap)

	return w, nil
}

// client returns a client of the engine for this worker. It counts the requests, and holds them back while the worker is frozen.
func (w *worker) client(e *engine) *dynamodb.Client {
	intercept := func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
		w.waitUntilThawed()

		if err := ctx.Err(); err != nil {
			return out, metadata, err //nolint:wrapcheck // as the SDK's own
		}

		w.requests.Add(1)

		return next.HandleInitialize(ctx, in)
	}

	return dynamodb.New(e.DynamoDB.Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(slices.Clone(o.APIOptions), func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("demo", intercept), middleware.Before)
		})
	})
}

// freezes makes the worker freeze when its handler begins: neither its handler nor its renewals do anything until thaw is called
// or ctx ends. A worker that nobody thaws is a worker that died.
func (w *worker) freezes(ctx context.Context) (thaw func()) {
	w.frozenAt, w.thawed = make(chan struct{}), make(chan struct{})
	thaw = sync.OnceFunc(func() { close(w.thawed) })
	context.AfterFunc(ctx, thaw)

	return thaw
}

func (w *worker) freezeHere() {
	if w.frozenAt != nil {
		close(w.frozenAt)
		<-w.thawed
	}
}

func (w *worker) waitUntilThawed() {
	select {
	case <-w.frozenAt:
		<-w.thawed
	default:
	}
}

func (w *worker) observe(_ context.Context, e idemddb.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.events = append(w.events, e)
}

// invoke starts the invocation and returns.
func (w *worker) invoke(ctx context.Context, batch []events.SQSMessage) {
	w.done = make(chan struct{})

	go func() {
		defer close(w.done)

		ctx, cancel := context.WithTimeout(ctx, timeLimit)
		defer cancel()

		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: w.id})

		answer, err := w.function(ctx, events.SQSEvent{Records: batch})
		for _, failure := range answer.BatchItemFailures {
			w.failed = strings.TrimSpace(w.failed + " " + failure.ItemIdentifier)
		}

		w.err = err
	}()
}
