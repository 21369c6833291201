package lambdawrap

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/schedule"
)

// FuncOptions shape the wrapper of a function with the input In. Zero means the default, but Key must be set.
type FuncOptions[In any] struct {
	// Key picks the idempotency key of an invocation, under the rules of [KeyFunc]. There is no default: a whole event as a key
	// would hold parts that change with each delivery, so no duplicate would ever match. [EventBridgeID], [SNSMessageID],
	// [S3ObjectVersion] and [RequestID] are ready. Its context ends when Reserve begins. If it has not answered when it is too
	// late for the handler to start, the invocation fails in time, with nothing claimed. If it is nil, each invocation fails.
	Key func(context.Context, In) (string, error)

	// Fingerprint identifies the input, after Key and within its time: another input under the same key is refused with
	// idemddb.ErrMismatch, and an empty fingerprint with [ErrNoKey]. Defaults to nil: inputs under one key are not compared.
	Fingerprint func(context.Context, In) (string, error)

	// Logger gets a warning for each takeover, because the work may have been done before, and for each result that is not kept, and
	// a line for each staged message that is not sent, with the request id and the hash of the key. Defaults to slog.Default() at
	// the time of the call.
	Logger *slog.Logger

	// NeedResult makes an invocation fail with idemddb.ErrResultOmitted if its work was done before and the result was not kept: it
	// was too large, or JSON cannot carry it. Set it where a caller reads the result. Defaults to false: such an invocation returns a
	// zero value and no error, so that an event source does not send the event again.
	NeedResult bool

	// OnReplay is called with the record that answers an invocation whose work was done before, as idemddb.ClaimOptions.OnReplay is:
	// it may replace record.Result, which is JSON, or fail the invocation. The key stays completed. Defaults to nil.
	OnReplay func(ctx context.Context, record *idemddb.Record) error

	// Optimistic is for handlers that have no effect but what they stage, as for [Options]: the handler runs without a claim, and
	// one transaction commits the record, the result and the effects. Cost: a duplicate runs the handler, too, and is charged for
	// its cancelled transaction, unless Options.Cache of the Store has the record. With a Store without the Retention or the
	// client that it needs, each invocation is an error that says so. Defaults to false.
	Optimistic bool

	// Reserve is the part of the invocation's time that is kept back for settling and for the answer. The handler's context ends when
	// it begins. Negative is an error. Defaults to 1 s.
	Reserve time.Duration

	// Timeout is the time for the handler. Its context ends after that, and it does not start with less time left before the reserve.
	// A Timeout that does not fit into the invocation's time is an error that names the numbers. Negative is an error. Defaults to 0:
	// no limit for a running handler, and one starts with as much time left as for [Options].
	Timeout time.Duration

	// Wait is how long an invocation waits for a key that another one holds, as long as there is time to start, before it fails with
	// idemddb.ErrInProgress. Negative is an error. Defaults to 0: it does not wait.
	Wait time.Duration
}

// Func wraps a handler of any event for lambda.Start and makes it idempotent: EventBridge, SNS, S3, Scheduler, Step Functions,
// direct and asynchronous invocations. The first invocation with a key runs the handler; each later one returns the stored
// result, under the rules of [idemddb.Do].
//
// The context of the handler carries the claim ([idemddb.FromContext]); what the handler stages ([idemddb.Stage]) is written in
// one transaction with the result. It ends after FuncOptions.Timeout, when FuncOptions.Reserve begins, or, with idemddb.ErrFenced
// as its cause, when the claim is lost. What the handler returns after that still counts. A handler that never returns is ended
// by Lambda together with the invocation, and its claim ends with the invocation's time, too.
//
// If the handler fails or panics, its key is released, and the next invocation runs it again; an error marked [Permanent] ends
// the key for good, and later invocations fail with idemddb.ErrFailed. For work that is done the error is nil, so that no caller
// repeats it; if its record could not be written, an [idemddb.Event] says so. Lambda sends the event of an asynchronous
// invocation that failed again, twice by default, and then to its OnFailure destination.
//
// Errors: those of [idemddb.Do]; that of FuncOptions.Key, which may be [ErrNoKey]; and [ErrNoTime]. With a wrong option each
// invocation fails with an error that names the field. With IDEMDDB_DISABLED the handler runs on every invocation. The result
// must not be an io.Reader, because a stream can be read once, nor the answer of a batch, such as an events.SQSEventResponse: its
// record would name a message that failed once as failed for ever. An array of records, as a pipe sends it, and an invocation of
// a durable function are errors, and nothing ran: give lambda.Start the function as it is, because a function around it does not
// show them.
//
// The returned function is safe for concurrent use. Func panics for a nil store or handler.
func Func[In, Out any](
	store *idemddb.Store, h func(context.Context, In) (Out, error), opts *FuncOptions[In],
) EventFunc[In, Out] {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	o := FuncOptions[In]{}
	if opts != nil {
		o = *opts
	}

	w := newWrapper(store, &Options{
		Logger: o.Logger, Optimistic: o.Optimistic, Reserve: o.Reserve, Timeout: o.Timeout, Wait: o.Wait,
	}, "FuncOptions")
	w.invalid = errors.Join(w.invalid, checkFunc[Out](o.Key != nil))

	return (&function[In, Out]{w, o, h}).call
}

// function is a handler that Func wrapped.
type function[In, Out any] struct {
	*wrapper

	opts    FuncOptions[In]
	handler func(context.Context, In) (Out, error)
}

// call answers one invocation, by running the handler or from the record of its key, and counts it.
func (f *function[In, Out]) call(ctx context.Context, in In) (out Out, err error) {
	r := &funcRun[In, Out]{function: f, in: in}

	defer func() { countMessage(ctx, r.outcomeOf(err), err != nil) }()

	var wrongEvent error
	if _, isDurable := engine.DurableExecution(ctx); isDurable {
		wrongEvent = errDurable
	}

	v, err := f.newInvocation(ctx, wrongEvent)
	if err != nil {
		return out, err
	}

	work, cancel := v.workContext(ctx)
	defer cancel()

	v.stopped = work.Done()

	m, err := f.begin(work, v, in)
	if err != nil {
		return out, err
	}

	r.invocation, r.message = v, m

	i := *engine.Of(work)
	i.Noted = func(kind, key string, err error) { f.logNote(work, note{kind, key, err}, m.id) }

	return idemddb.Do(engine.With(work, &i), f.store, m.asks.Key, r.claimOptions(), r.run)
}

// funcRun is one invocation of a function whose key is known.
type funcRun[In, Out any] struct {
	*function[In, Out]

	in         In
	invocation *invocation
	message    *message

	ran    bool // the handler has begun
	ending idemddb.Ending
}

// run runs the handler, unless the claim has left too little time for it.
func (r *funcRun[In, Out]) run(ctx context.Context) (out Out, err error) {
	if err := r.mayBegin(ctx); err != nil {
		return out, err
	}

	ctx, cancel := withTimeout(ctx, r.opts.Timeout)
	defer cancel()

	r.ran = true
	begun := time.Now()

	if out, err = r.handler(ctx, r.in); err == nil {
		r.durations.add(time.Since(begun))
	}

	return out, err
}

// mayBegin gives the claim back if it has left too little time for the handler.
func (r *funcRun[In, Out]) mayBegin(ctx context.Context) error {
	claim, isClaimed := idemddb.FromContext(ctx)

	switch {
	case !isClaimed:
	case !r.invocation.hasTime() || ctx.Err() != nil:
		return errors.Join(ErrNoTime, claim.ReleaseUnused(ctx))
	case claim.Takeover():
		logTakeover(ctx, r.logger(), r.message.asks.Key, r.message.id)
	}

	return nil
}

// outcomeOf returns the outcome of an invocation that returns this error.
func (r *funcRun[In, Out]) outcomeOf(err error) Outcome {
	switch {
	case err != nil && !r.ran && errors.Is(err, ErrNoTime):
		return OutcomeNoTime
	case err != nil && r.message == nil: // the Store is not asked
		return noKeyOutcome(err).name
	case r.ending.Record != nil && errors.Is(err, idemddb.ErrCorrupt): // the stored result is not of the type Out
		return OutcomeCorrupt
	default:
		return outcomeOf(r.ending).name
	}
}

func checkFunc[Out any](hasKey bool) error {
	switch {
	case !hasKey:
		return errors.New("lambdawrap: FuncOptions.Key: must be set: it says which invocations are one piece of work; " +
			"EventBridgeID, SNSMessageID, S3ObjectVersion and RequestID are ready")
	case reflect.TypeFor[Out]().Implements(reflect.TypeFor[io.Reader]()):
		return errors.New("lambdawrap: Func: the result must not be an io.Reader, which cannot be stored and replayed")
	case isBatchAnswer(reflect.TypeFor[Out]()):
		return errors.New("lambdawrap: Func: the result must not be the answer of a batch: from its record, a message that failed once " +
			"would be answered as failed for ever, and never be worked on; use SQS, Batch, Kinesis, DynamoDBStream or Kafka")
	default:
		return nil
	}
}

// isBatchAnswer reports whether a result names the messages of a batch that failed.
func isBatchAnswer(result reflect.Type) bool {
	if result.Kind() == reflect.Pointer {
		result = result.Elem()
	}

	if result.Kind() != reflect.Struct {
		return false
	}

	_, namesFailures := result.FieldByName("BatchItemFailures")

	return namesFailures
}

// begin finds the key of an invocation, and refuses one that has no time or no key.
func (f *function[In, Out]) begin(work context.Context, v *invocation, in In) (*message, error) {
	m := &message{id: slog.String("requestId", engine.RequestID(work))}
	m.find = func(ctx context.Context) (schedule.Work, error) {
		return keyOf(ctx, in, f.opts.Key, f.opts.Fingerprint)
	}

	keys := v.newSearch([]*message{m}, v.untilLastStart())
	keys.start(work)
	keys.await()
	keys.conclude(work, m)

	if m.noKey == nil && !v.hasTime() { // the key function may have taken long
		return m, ErrNoTime
	}

	return m, m.noKey
}

// claimOptions returns the options for the claim of the invocation.
func (r *funcRun[In, Out]) claimOptions() *idemddb.ClaimOptions {
	wait := r.opts.Wait
	if v := r.invocation; !v.deadline.IsZero() {
		wait = max(0, min(wait, v.untilLastStart()))
	}

	return &idemddb.ClaimOptions{
		Fingerprint: r.message.asks.Fingerprint, NeedResult: r.opts.NeedResult, Optimistic: r.opts.Optimistic, Wait: wait,
		OnReplay: r.opts.OnReplay, OnEnding: func(_ context.Context, e idemddb.Ending) { r.ending = e },
	}
}
