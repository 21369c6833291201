package lambdawrap

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Handler does the work of one message. Nil means done: the message is deleted and its key never run again while its record
// lives. An error means that it comes back, unless it is marked [Permanent]. The context carries the claim
// ([idemddb.FromContext]); it ends when Options.Reserve begins, or, with idemddb.ErrFenced as its cause, when the claim is
// lost.
type Handler func(context.Context, events.SQSMessage) error

// Options shape a wrapper. Nil and zero mean the defaults.
type Options struct {
	// DeadLetter takes a message that will never succeed: its handler returned [Permanent], its key failed for good before
	// or has its attempts used up, or it came with another fingerprint than its key. On nil the message is done; on an error
	// it is reported failed. It is called at least once for each such message, with what is left of the invocation's time.
	// Defaults to nil: such messages are reported failed and reach the queue's own dead-letter queue by their receive count.
	DeadLetter func(context.Context, events.SQSMessage, error) error

	// Fingerprint stands for a message's input: another one under the same key is refused and handled as permanently
	// failed. Defaults to nil: inputs under one key are not compared.
	Fingerprint KeyFunc

	// Key picks a message's key. Defaults to [MessageID].
	Key KeyFunc

	// Logger gets one line for each message that does not end well, with its id and its key's hash, never its body.
	// Defaults to slog.Default() at the time of the call.
	Logger *slog.Logger

	// Reserve is kept back from the invocation's time for the answer: a message that has not started by then is reported
	// failed without a claim, and a handler still running then is cancelled, its message reported failed and its key left to
	// its lease. Without a deadline in the context there is none. Negative is an
	// error. Defaults to 1 s.
	Reserve time.Duration

	// Visibility shapes the next delivery of a failed message, with one request of ChangeMessageVisibility each: it comes back when
	// the lease of the worker that holds its key is over, and after any other failure after a pause that doubles with each
	// receive, 1 to 2 s after the first and at most 15 minutes, with jitter. The role needs sqs:ChangeMessageVisibility. A request that
	// fails is logged, and the queue's own visibility time-out holds. Nil is none: that time-out always holds.
	Visibility VisibilityAPI

	// Workers is how many messages are worked on at a time; those of one FIFO group always one after the other. Negative
	// is an error. Defaults to 1.
	Workers int
}

const defaultReserve = time.Second

// SQS wraps a handler of single messages for lambda.Start: each message's key is claimed, its work done once, and what must
// come back reported as a batch item failure. The event source mapping must have ReportBatchItemFailures, or Lambda deletes
// the failed messages, too. The package documentation says what becomes of each message.
//
// With a Store that IDEMDDB_DISABLED turned off, handlers run on every delivery, without keys and requests; order, workers and the
// reserve are as ever, and one warning is logged.
//
// The function returned is safe for concurrent use. Its error is not nil only if the wrapper itself failed: then the whole
// batch comes back; with a negative option it is never nil and names the field. SQS panics for a nil store or handler.
func SQS(
	store *idemddb.Store, h Handler, opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	w := newWrapper(store, opts)
	w.handle, w.run = h, (*batch).run

	return w.serve
}

// wrapper is one wrapped handler; it is never written after newWrapper.
type wrapper struct {
	store   *idemddb.Store
	run     func(b *batch, work, settle context.Context, messages []*message) error
	handle  Handler // of one message
	opts    Options
	reserve time.Duration
	workers int
	invalid error // what is wrong with the options; answered to every invocation, so that no message is lost
}

func newWrapper(store *idemddb.Store, opts *Options) *wrapper {
	if opts == nil {
		opts = &Options{}
	}

	if store == nil {
		panic("lambdawrap: store: must not be nil; check the error of idemddb.New")
	}

	w := &wrapper{
		store:   store,
		opts:    *opts,
		reserve: cmp.Or(opts.Reserve, defaultReserve),
		workers: cmp.Or(opts.Workers, 1),
		invalid: opts.validate(),
	}
	if w.opts.Key == nil {
		w.opts.Key = MessageID
	}

	if store.Disabled() {
		w.logger().Warn("idempotency is off: IDEMDDB_DISABLED is set; every delivery of a message runs its handler")
	}

	return w
}

func (o *Options) validate() error {
	switch {
	case o.Reserve < 0:
		return fmt.Errorf("lambdawrap: Options.Reserve: must not be negative, is %v", o.Reserve)
	case o.Workers < 0:
		return fmt.Errorf("lambdawrap: Options.Workers: must not be negative, is %d", o.Workers)
	default:
		return nil
	}
}

func (w *wrapper) logger() *slog.Logger {
	if w.opts.Logger != nil {
		return w.opts.Logger
	}

	return slog.Default()
}
