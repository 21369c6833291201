package lambdawrap

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
)

// Handler does the work of one message. Nil means done: the message is deleted, and its key never runs again while its record lives. An
// error means that the message comes back, unless it is marked [Permanent]. The context carries the claim ([idemddb.FromContext]) and
// the message ([MessageFrom]). It ends after Options.Timeout, when Options.Reserve begins, or, with idemddb.ErrFenced as its cause,
// when the claim is lost. What the handler returns after that still counts, until half of the reserve is left.
type Handler func(context.Context, events.SQSMessage) error

// Options shape a wrapper. Nil and zero mean the defaults.
type Options struct {
	// DeadLetter takes a message that will never succeed, as it arrived: its handler returned [Permanent], its key failed for good
	// before or has its attempts used up, it came with another fingerprint than its key, or it has no key. If it returns nil, the
	// message is done; else the message is reported failed. It is called at least once for each such message, with what is left of
	// the invocation's time. Defaults to nil: such messages are reported failed and reach the queue's own dead-letter queue by their
	// receive count.
	DeadLetter func(context.Context, events.SQSMessage, error) error

	// FailOnOutage makes the invocation fail if all messages of a batch failed because DynamoDB did not answer or refused their claims:
	// then Lambda's error metric shows the outage, and the event source backs off. Defaults to false: each message is reported failed.
	FailOnOutage bool

	// Fingerprint identifies a message's input, after Key and under the rules of [KeyFunc]: another input under the same key is refused and handled as permanently failed. A change
	// of this function makes the redeliveries of messages that were worked on before a mismatch. Defaults to nil: inputs under one key
	// are not compared.
	Fingerprint KeyFunc

	// Key picks a message's key. Defaults to [MessageID].
	Key KeyFunc

	// Logger gets one line for each message that does not end well, with its id and the hash of its key, never its body. It also gets a
	// warning for each takeover: the work of that message may have been done before; and a line for each staged message that is not sent.
	// Defaults to slog.Default() at the time of the call.
	Logger *slog.Logger

	// Optimistic is for handlers that have no effect but what they stage ([idemddb.Stage]). A first delivery is not claimed beforehand:
	// the handler runs, and one transaction commits the record and the effects together. So there is no lease, nothing to take over,
	// and a batch's commits share requests. A redelivery is claimed as ever. [idemddb.FromContext] has no claim at a first delivery.
	// A handler that returns nil without having staged anything, not even nothing, is failed with an ERROR in the log. With Batch it is
	// an invocation error. Defaults to false.
	Optimistic bool

	// MessageContext returns the context of one message, derived from ctx: with a span, for example. It is called once for each message,
	// with the message as it arrived, before its key is asked for. The context goes to Key and Fingerprint, to the claim (so
	// idemddb.Options.Trace and idemddb.Options.Observe see it), to the handler, to DeadLetter and to OnMessage; with Batch not to the handler, whose one call has
	// many messages. It ends in time for the answer even if it is not derived from ctx. It must be safe for concurrent use. If it panics or
	// returns nil, that is logged, and the message has the context of the invocation. If it hangs, its message ends as one whose key is
	// not there in time. Defaults to nil: all messages have that one.
	MessageContext func(ctx context.Context, m events.SQSMessage) context.Context

	// OnMessage is called after each message's end, with the message as it arrived and its outcome. It must be safe for concurrent use.
	// Its panic is logged and changes nothing. Defaults to nil.
	OnMessage func(context.Context, events.SQSMessage, Outcome)

	// Reserve is the part of the invocation's time that is kept back for settling and for the answer. When it begins, nothing starts any
	// more and the contexts of running handlers end. Until half of it is left, what a handler returns is taken as it is. Then its message
	// is reported failed and its claim is extended by one lease, because the handler may still run. The answer is sent when a quarter of it
	// is left. For tables that throttle, 2 s or more leave room for retries. Without a deadline in the context there is no reserve. If an
	// invocation has no more time than the reserve, nothing starts in it, and a warning says so once. Negative is an error.
	// Defaults to 1 s.
	Reserve time.Duration

	// Timeout is the time for one handler; with Batch, for the one call with all messages. Its context ends after that, and no handler
	// starts with less time left before the reserve. A handler that has not returned half of a Reserve after its Timeout is late: it
	// keeps its worker, and if all workers are kept like that, nothing more starts and the answer is sent. A Timeout that does not fit
	// into the invocation's time is an invocation error that names the numbers. Negative is an error. Defaults to 0: no limit for a
	// running handler, and a handler starts if a quarter more than the longest of the last 16 successful ones is left, at most half of
	// the invocation's time.
	Timeout time.Duration

	// Visibility shapes the next delivery of a failed message, with one request of ChangeMessageVisibility each. The message comes back
	// after a pause that doubles with each receive, 1 to 2 s after the first and at most 15 minutes, with jitter; and if another worker
	// holds its key, not before that worker's lease is over. What will never succeed is not hidden. The role needs
	// sqs:ChangeMessageVisibility. A request that fails is logged, and the queue's own visibility time-out holds. Defaults to nil: that
	// time-out always holds.
	Visibility VisibilityAPI

	// Wait is how long a message waits for a key that another worker holds, before it is reported failed. It costs 1 request and 1 WCU
	// for each look, after pauses of 50 ms to 1 s. Negative is an error. Defaults to 0: it does not wait.
	Wait time.Duration

	// Workers is how many handlers run at a time, and beside them how many functions that find a key (Key, Fingerprint, MessageContext).
	// Handlers of one FIFO group always run one after the other. Negative is an error. Defaults to 1.
	Workers int
}

const defaultReserve = time.Second

// SQS wraps a handler of single messages for lambda.Start and makes it idempotent: each message's key is claimed, its work is done once,
// and a message that must come back is reported as a batch item failure. The event source mapping must have ReportBatchItemFailures, or
// Lambda deletes the failed messages, too. The package documentation says what becomes of each message.
//
// If IDEMDDB_DISABLED turned the Store off, handlers run on every delivery, without keys and requests. Order, workers and the reserve
// are as ever, and one warning is logged.
//
// The returned function is safe for concurrent use. Its error is not nil only if a record of the event is none of SQS (then nothing of the
// event ran), if the wrapper itself failed (then the whole batch comes back), or if Options.FailOnOutage asks for it. With a wrong option it is
// never nil and names the field. A record that was built by hand, without an EventSource, is one of SQS if it has a MessageId or a Body. SQS
// panics for a nil store or handler.
func SQS(
	store *idemddb.Store, h Handler, opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	w := newWrapper(store, opts, "Options")
	w.handler = h

	return w.serve((*invocation).workAll)
}

// wrapper is one wrapped handler.
type wrapper struct {
	store    *idemddb.Store
	engine   *engine.Engine // of the Store
	handler  Handler        // of SQS
	opts     Options
	optsName string // of the type of the options that the user set, for errors
	reserve  time.Duration
	workers  int
	disabled bool
	isWhole  bool  // one handler works on all messages of an event
	invalid  error // what is wrong with the options; answered to every invocation, so that no message is lost

	durations     durations // of the handlers that succeeded
	reserveWarned sync.Once
}

func newWrapper(store *idemddb.Store, opts *Options, name string) *wrapper {
	if opts == nil {
		opts = &Options{}
	}

	if store == nil {
		panic("lambdawrap: store: must not be nil; check the error of idemddb.New")
	}

	w := &wrapper{
		store:    store,
		engine:   store.Engine(),
		opts:     *opts,
		optsName: name,
		reserve:  cmp.Or(opts.Reserve, defaultReserve),
		workers:  cmp.Or(opts.Workers, 1),
		invalid:  opts.validate(name),
	}
	if w.opts.Key == nil {
		w.opts.Key = MessageID
	}

	if w.disabled = store.Disabled(); w.disabled {
		w.logger().Warn("idempotency is off: IDEMDDB_DISABLED is set; the handler runs each time, whatever the key")
	}

	return w
}

func (o *Options) validate(name string) error {
	for _, field := range []struct {
		name  string
		value time.Duration
	}{{"Reserve", o.Reserve}, {"Timeout", o.Timeout}, {"Wait", o.Wait}} {
		if field.value < 0 {
			return fmt.Errorf("lambdawrap: %s.%s: must not be negative, is %v", name, field.name, field.value)
		}
	}

	if o.Workers < 0 {
		return fmt.Errorf("lambdawrap: %s.Workers: must not be negative, is %d", name, o.Workers)
	}

	return nil
}

func (w *wrapper) logger() *slog.Logger {
	return cmp.Or(w.opts.Logger, slog.Default())
}
