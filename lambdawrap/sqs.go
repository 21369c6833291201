package lambdawrap

import (
	"context"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// SQS wraps a handler of single messages for lambda.Start and makes it idempotent: each message's key is claimed, its work is
// done once, and a message that must come back is reported as a batch item failure. The event source mapping must have
// ReportBatchItemFailures, or Lambda deletes the failed messages, too. The package documentation says what becomes of each
// message.
//
// If IDEMDDB_DISABLED turned the Store off, handlers run on every delivery, without keys and requests. Order, workers and the
// reserve are as ever, and one warning is logged.
//
// The returned function is safe for concurrent use. Its error is not nil only if a record of the event is none of SQS (then
// nothing of the event ran), if the wrapper itself failed (then the whole batch comes back), or if Options.FailOnOutage asks for
// it. With a wrong option it is never nil and names the field. A record that was built by hand, without an EventSource, is one of
// SQS if it has a MessageId or a Body. SQS panics for a nil store or handler.
func SQS(
	store *idemddb.Store, h Handler, opts *Options,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	w := newWrapper(store, opts, "Options")
	w.handler = h

	return w.serve(nil)
}

// serve returns the function for lambda.Start. whole works on all messages of an event; nil means that each is worked on by
// itself.
func (w *wrapper) serve(
	whole func(v *invocation, ctx context.Context),
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	w.hooks = hookFuncs[events.SQSMessage]{w.opts.MessageContext, w.opts.DeadLetter, w.opts.OnMessage, clone}
	w.has, w.hasOneHandler = w.hooks.has(), whole != nil

	return func(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
		wrongEvent, messages := checkMessages(event), w.plan(event)

		v, err := w.newInvocation(ctx, wrongEvent)
		if err != nil {
			return response, err
		}

		if err := v.run(ctx, messages, whole); err != nil {
			return response, err
		}

		slices.SortStableFunc(v.messages, func(a, b *message) int { return a.place - b.place })

		return w.answer(v.messages)
	}
}
