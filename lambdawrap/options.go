package lambdawrap

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// Handler does the work of one message. Nil means done: the message is deleted, and its key never runs again while its record
// lives. An error means that the message comes back, unless it is marked [Permanent]. The context carries the claim
// ([idemddb.FromContext]) and the message ([MessageFrom]). It ends after Options.Timeout, when Options.Reserve begins, or, with
// idemddb.ErrFenced as its cause, when the claim is lost. What the handler returns after that still counts, until half of the
// reserve is left.
type Handler func(context.Context, events.SQSMessage) error

// Options shape a wrapper. Nil and zero mean the defaults. A Reserve, Timeout or Wait above zero and below 1 ms is an error, in
// the options of every wrapper: a number without a unit is nanoseconds.
type Options struct {
	// Backoff is how long a failed message stays hidden, with Visibility: receives is how often it was delivered, 1 for the first. It
	// is rounded up to seconds, at least 1 s and at most 11.5 h; a message whose key another worker holds also stays hidden until
	// that lease is over. It is called concurrently. If it panics, that is logged, and the default holds. Set without Visibility, it
	// is an error. Defaults to [ExponentialBackoff].
	Backoff func(receives int) time.Duration

	// DeadLetter takes a message that will never succeed, as it arrived: its handler returned [Permanent], its key failed for good
	// before or has its attempts used up, it came with another fingerprint than its key, or it has no key. If it returns nil, the
	// message is done; else the message is reported failed. It is called at least once for each such message, with what is left of
	// the invocation's time, or with one Lease of the Store if the context has no deadline. Defaults to nil: such messages are
	// reported failed and reach the queue's own dead-letter queue by their receive count.
	DeadLetter func(context.Context, events.SQSMessage, error) error

	// Envelope opens what stands around the message in a body: [SNS], [EventBridge], [S3], [S3Pointer], a [Chain] of them or one of
	// your own. Key, Fingerprint, [JSON] and the handler see what it returns; the hooks see the message as it arrived, once for each
	// message that stood in the envelope. The message of the queue is done when all that it holds are, and is reported failed if one
	// of them is not; what is done of it is answered from its record at the next delivery. An envelope that holds nothing is done,
	// with a line in the log. One that does not open has no key ([ErrNoKey]), unless the failure may pass. It runs before Key, under
	// the rules of [KeyFunc]. Defaults to nil: the body is the message.
	Envelope EnvelopeFunc

	// FailOnOutage makes the invocation fail if DynamoDB answered or accepted no claim and no commit of a batch, so that all of its
	// messages failed: then Lambda's error metric shows the outage, and the event source backs off. Defaults to false: each message
	// is reported failed.
	FailOnOutage bool

	// Fingerprint identifies a message's input, after Key and under the rules of [KeyFunc]: another input under the same key is
	// refused and handled as permanently failed. So is a message whose fingerprint is empty, as without a key. If this function is
	// changed, redeliveries of finished messages become mismatches. Defaults to nil: inputs under one key are not compared.
	Fingerprint KeyFunc

	// Key picks a message's key. Defaults to [MessageID], with Envelope to [Enveloped.Key].
	Key KeyFunc

	// Logger gets one line for each message that does not end well, with its id and the hash of its key, never its body. It also gets
	// a warning for each takeover: the work of that message may have been done before; a line for each staged message that is not
	// sent; one for a panic of Options.Trace or of a renewal; and one for requests that are no longer shared, and for reads that are
	// denied. Defaults to slog.Default() at the time of the call.
	Logger *slog.Logger

	// MessageContext returns the context of one message, derived from ctx: with a span, for example. It is called once for each
	// message, with the message as it arrived, before its key is asked for. The context goes to Key and Fingerprint, to the claim (so
	// idemddb.Options.Trace and idemddb.Options.Observe see it), to the handler, to DeadLetter and to OnMessage; with Batch not to
	// the handler, whose one call has many messages. It ends in time for the answer even if it is not derived from ctx. It must be
	// safe for concurrent use. If it panics or returns nil, that is logged, and the message has the context of the invocation. If it
	// hangs, the message ends as [OutcomeNoTime]. Defaults to nil: every message has the context of the invocation.
	MessageContext func(ctx context.Context, m events.SQSMessage) context.Context

	// OnMessage is called after each message's end, with the message as it arrived and its outcome. It must be safe for concurrent
	// use. It has the time that DeadLetter has. Its panic is logged and changes nothing. Defaults to nil.
	OnMessage func(context.Context, events.SQSMessage, Outcome)

	// Optimistic is for handlers that have no effect but what they stage ([idemddb.Stage]). A first delivery is not claimed
	// beforehand: the handler runs, and one transaction commits the record and the effects together. So there is no lease, nothing
	// to take over, and a batch's commits share requests. The Store must have a Retention of at least 1 hour and a client with
	// TransactWriteItems; otherwise each invocation is an error that says so. A redelivery is claimed as ever. Cost: a duplicate
	// that comes as a new message runs the handler, too, and may be charged for a cancelled transaction, unless Options.Cache of
	// the Store has the record. [idemddb.FromContext] has no claim at a first delivery. If a handler returns nil without a call of
	// Stage, not even Stage(ctx, Effects{}), its message is reported failed, with an ERROR in the log. With Batch it is an
	// invocation error. Defaults to false.
	Optimistic bool

	// Reserve is the part of the invocation's time that is kept back for settling and for the answer. When it begins, nothing starts
	// any more and the contexts of running handlers end. Until half of it is left, what a handler returns is taken as it is. Then its
	// message is reported failed and its claim is extended by one lease, because the handler may still run. The answer is sent when a
	// quarter of it is left. For tables that throttle, 2 s or more leave room for retries. Without a deadline in the context there is
	// no reserve. If an invocation has no more time than the reserve, nothing starts in it, and a warning says so once. Negative is
	// an error. Defaults to 1 s.
	Reserve time.Duration

	// StopAtFailure lets nothing more of a batch start after the first message that is reported failed, as where a service that all
	// of them need is down. What runs goes on. The rest is reported failed with [OutcomeBlocked]: it was not claimed, or its claim is
	// given back, and no attempt counts. It is for standard queues, whose maxReceiveCount the rest uses up with each delivery. A FIFO
	// queue ignores it, because a group stops by itself and must not stop another one. Batch refuses it. Defaults to false: each
	// message of a standard queue is worked on.
	StopAtFailure bool

	// Timeout is the time for one handler; with Batch, for the one call with all messages. Its context ends after that, and no
	// handler starts with less time left before the reserve. A handler that has not returned half of a Reserve after its Timeout is
	// overdue: it keeps its worker, and if overdue handlers keep all workers, no other handler starts. When nothing but overdue
	// handlers is at work, they are late, and the answer is sent. A Timeout that does not fit into the invocation's time is an
	// invocation error that names the numbers. Negative is an error. Defaults to 0: no limit for a running handler, and a handler
	// starts if the time left is at least 125 % of the longest of the last 16 successful ones; at most half of the time before the
	// reserve is required.
	Timeout time.Duration

	// Visibility shapes the next delivery of a failed message, with one request of ChangeMessageVisibility each. The message comes
	// back after a pause that doubles with each receive, 1 to 2 s after the first and at most 15 minutes, with jitter; and if another
	// worker holds its key, not before that worker's lease is over. What will never succeed is not hidden. The role needs
	// sqs:ChangeMessageVisibility. A request that fails is logged, and the queue's own visibility time-out holds. Defaults to nil:
	// that time-out always holds.
	Visibility VisibilityAPI

	// Wait is how long a message waits for a key that another worker holds, before it is reported failed. It costs 1 request and 1
	// WCU for each look, after pauses of 50 ms to 1 s. Negative is an error. Defaults to 0: it does not wait.
	Wait time.Duration

	// Workers is how many handlers run at a time, and beside them how many functions that find a key (Key, Fingerprint,
	// MessageContext). Handlers of one FIFO group always run one after the other. Negative is an error. Defaults to 1.
	Workers int
}

// VisibilityAPI is what Options.Visibility needs of SQS; *sqs.Client fits. With it, a message that is reported failed comes back
// when there may be work for it, and not only when the queue's visibility time-out is over: when the lease of the worker that
// holds its key ends, or else after a pause that doubles with each delivery, from 1 to 2 s up to 7.5 to 15 min.
//
// It costs one SQS request for each failed message, and the function needs sqs:ChangeMessageVisibility on its queue, which
// AWSLambdaSQSQueueExecutionRole does not grant. A request that fails is logged and changes nothing: the message comes back after
// the queue's time-out. SQS takes a new time for this delivery alone and does not remember it for later ones, and refuses one
// that ends later than 12 h after the message was received.
//
// A message that comes back sooner uses up the queue's maxReceiveCount sooner: the fifth delivery comes 15 to 30 s after the
// first, the tenth after 8.5 to 17 min. So choose maxReceiveCount by the longest outage that messages should outlast.
//
// The client must be one of the function's own region, where its queue is, too. It must be safe for concurrent use.
type VisibilityAPI interface {
	ChangeMessageVisibility(
		context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options),
	) (*sqs.ChangeMessageVisibilityOutput, error)
}

func (o *Options) validate(name string) error {
	for _, field := range []struct {
		name  string
		value time.Duration
	}{{"Reserve", o.Reserve}, {"Timeout", o.Timeout}, {"Wait", o.Wait}} {
		if field.value < 0 {
			return fmt.Errorf("lambdawrap: %s.%s: must not be negative, is %v", name, field.name, field.value)
		}

		if field.value > 0 && field.value < time.Millisecond {
			return fmt.Errorf("lambdawrap: %s.%s: must not be below 1ms, is %v; a number without a unit is nanoseconds", name, field.name, field.value)
		}
	}

	if o.Visibility != nil && panicerror.IsNil(o.Visibility) {
		return fmt.Errorf("lambdawrap: %s.Visibility: must not be a nil pointer", name)
	}

	if o.Backoff != nil && o.Visibility == nil {
		return fmt.Errorf("lambdawrap: %s.Backoff: must not be set without %[1]s.Visibility, which hides messages", name)
	}

	if o.Workers < 0 {
		return fmt.Errorf("lambdawrap: %s.Workers: must not be negative, is %d", name, o.Workers)
	}

	return nil
}
