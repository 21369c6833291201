package lambdawrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/schedule"
)

// message is one record of the event, of a queue or of a stream: planned, worked on, answered.
type message struct {
	events.SQSMessage // as it arrived; empty for a record of a stream

	given     events.SQSMessage // what the handler and the key functions get; empty for a record of a stream
	id        slog.Attr         // names it in the log
	index     int               // in the batch
	group     string            // whose messages are worked on in order, if fifo is set
	fifo      bool              // it is of a FIFO queue or of a stream
	unclaimed bool              // its handler runs without a claim
	receives  int               // how often it was delivered; a guess for a record of a stream

	// The user's functions, with this message or record.
	find  func(context.Context) (schedule.Work, error) // its key and fingerprint; not called for a message with an envelope
	work  func(context.Context) error                  // the handler; not called with Batch, which has one call for all
	hooks hooks                                        // those that the wrapper has

	// What the search for its key found.
	asks    schedule.Work
	noKey   error           // why there is no key
	derived context.Context //nolint:containedctx // what MessageContext returned, kept for another goroutine than the one that asked it
	quest   quest
	parts   []*message // what else stood in its envelope, behind it; the message itself is the first
	place   int        // its position in the batch; with Batch, messages from one envelope have positions of their own
	around  *envelope  // that it stood in; nil if there was none, or nothing else in it

	decisions chan schedule.Action // of the schedule about it, but for the first
	end       outcome              // of other messages of the batch that ask for the same work

	// The answer, written by the one goroutine that has the message.
	failed  bool
	outcome Outcome
	seconds atomic.Int32 // until it comes back, if Options.Visibility says so
}

// quest is the search for the key of one message. The mutex of the search guards it, and the fields of the message that it fills,
// until it has ended.
type quest struct {
	begun, ended bool
	hookFailure  error // of MessageContext
}

// part is one message that stood in the envelope of a queue's message.
type part struct {
	given events.SQSMessage
	asks  schedule.Work
	noKey error
}

type messageKey struct{}

// MessageFrom returns the message whose handler runs with this context: for a handler of [JSON] that needs the message's id,
// attributes or receive count. With [Batch] there is none.
func MessageFrom(ctx context.Context) (events.SQSMessage, bool) {
	m, ok := ctx.Value(messageKey{}).(*message)
	if !ok {
		return events.SQSMessage{}, false
	}

	return m.given, true
}

// plan makes the messages of an event.
func (w *wrapper) plan(event events.SQSEvent) []*message {
	messages := make([]*message, len(event.Records))

	for i, record := range event.Records {
		m := &message{SQSMessage: record, index: i, receives: receiveCount(record), failed: true} // until proven done
		m.id = slog.String("messageId", m.MessageId)
		// The ARN says whether the queue is FIFO. A message group does not: fair queues have message groups, too, without an order.
		if m.fifo = strings.HasSuffix(record.EventSourceARN, ".fifo"); m.fifo {
			m.group = record.EventSourceARN + "\n" + record.Attributes["MessageGroupId"]
		}

		m.hooks, m.given = w.hooks.of(record)
		m.unclaimed = w.opts.Optimistic && m.receives == 1 && !w.disabled // a redelivery is claimed, so that a duplicate costs no run
		m.place = i
		m.work = w.workOf(m)
		m.find = func(ctx context.Context) (schedule.Work, error) {
			return keyOf(ctx, m.given, w.opts.Key, w.opts.Fingerprint)
		}

		messages[i] = m
	}

	return messages
}

// workOf returns the call of the handler for a message.
func (w *wrapper) workOf(m *message) func(context.Context) error {
	return func(ctx context.Context) error { return w.handler(context.WithValue(ctx, messageKey{}, m), m.given) }
}

// hooks are the user's functions that get one message or record as it arrived.
type hooks interface {
	messageContext(ctx context.Context) context.Context
	deadLetter(ctx context.Context, cause error) error
	ended(ctx context.Context, o Outcome)
}

// hookFuncs are the hooks of the messages or records of one type, as the options have them. Those that are nil are not called.
type hookFuncs[R any] struct {
	context    func(context.Context, R) context.Context // Options.MessageContext or StreamOptions.RecordContext
	deadLetter func(context.Context, R, error) error
	ended      func(context.Context, R, Outcome) // Options.OnMessage or StreamOptions.OnRecord
	clone      func(R) R                         // shares nothing with the record
}

// hasHooks says which hooks the user has set.
type hasHooks struct{ context, deadLetter, ended bool }

func (f *hookFuncs[R]) has() hasHooks {
	return hasHooks{context: f.context != nil, deadLetter: f.deadLetter != nil, ended: f.ended != nil}
}

// of returns the hooks of a record, and the record for the handler and for the key functions. If there is a hook, that is a copy,
// because the hook must not get what the handler has changed.
func (f *hookFuncs[R]) of(record R) (h hooks, given R) {
	if f.has() == (hasHooks{}) {
		return nil, record
	}

	return &recordHooks[R]{f, record}, f.clone(record)
}

// recordHooks are the hooks of one message or record.
type recordHooks[R any] struct {
	funcs  *hookFuncs[R]
	record R
}

func (h *recordHooks[R]) messageContext(ctx context.Context) context.Context {
	return h.funcs.context(ctx, h.record)
}

func (h *recordHooks[R]) deadLetter(ctx context.Context, cause error) error {
	return h.funcs.deadLetter(ctx, h.funcs.clone(h.record), cause)
}

func (h *recordHooks[R]) ended(ctx context.Context, o Outcome) { h.funcs.ended(ctx, h.record, o) }

// clone returns a copy that shares nothing with the message: what a handler does to its message must not reach the dead-letter
// hook.
func clone(m events.SQSMessage) events.SQSMessage {
	m.Attributes = maps.Clone(m.Attributes)
	m.MessageAttributes = maps.Clone(m.MessageAttributes)

	for name, a := range m.MessageAttributes {
		if a.StringValue != nil {
			a.StringValue = new(*a.StringValue)
		}

		a.BinaryValue = bytes.Clone(a.BinaryValue)
		m.MessageAttributes[name] = a
	}

	return m
}

// receiveCount returns how often the message was delivered: at least 1, also if the attribute is missing or unreadable.
func receiveCount(m events.SQSMessage) int {
	n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}

	return max(n, 1)
}

// source is an event source whose records a wrapper takes. An event of another source is refused as a whole, before anything
// runs: the JSON of many sources decodes into each other's types, and an answer without failures would mean that their work is
// done.
type source struct {
	name string // in errors
	id   string // what its records have as their eventSource
	mark string // the fields by which a record without an eventSource is known to be of this source; in errors
}

var (
	sourceSQS      = source{"Amazon SQS", "aws:sqs", "messageId or body"}
	sourceKinesis  = source{"Amazon Kinesis Data Streams", "aws:kinesis", "sequence number"}
	sourceDynamoDB = source{"Amazon DynamoDB Streams", "aws:dynamodb", "sequence number"}
)

// errNoRecords is the error of an event without Records.
func (s source) errNoRecords() error {
	return fmt.Errorf("lambdawrap: the event has no Records: expected an event of %s, is this one of another source or a console test?", s.name)
}

// check refuses a record of another source. A record without an eventSource is one of this source if it is marked.
func (s source) check(i int, eventSource string, isMarked bool) error {
	switch {
	case eventSource != "" && eventSource != s.id:
		return fmt.Errorf("lambdawrap: Records[%d] is of %.100q: expected an event of %s (%q); nothing of the event ran", i, eventSource, s.name, s.id)
	case eventSource == "" && !isMarked:
		return fmt.Errorf("lambdawrap: Records[%d] has no %s and no eventSource: expected an event of %s; nothing of the event ran", i, s.mark, s.name)
	default:
		return nil
	}
}

// checkMessages refuses events of other sources than SQS.
func checkMessages(event events.SQSEvent) error {
	if event.Records == nil {
		return sourceSQS.errNoRecords()
	}

	for i, record := range event.Records {
		if err := sourceSQS.check(i, record.EventSource, record.MessageId != "" || record.Body != ""); err != nil {
			return err
		}
	}

	return nil
}

// answer reports the messages that must come back. Lambda takes an empty id for success or for total failure, depending on the
// version that reads it.
func (w *wrapper) answer(messages []*message) (events.SQSEventResponse, error) {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}} // null would be a success as well, but says less
	reported := map[string]bool{}

	for _, m := range messages {
		switch {
		case !m.failed || reported[m.MessageId]:
		case m.MessageId == "":
			return events.SQSEventResponse{}, errors.New("lambdawrap: a message without messageId failed, so the whole batch must come back")
		default:
			reported[m.MessageId] = true
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}

	if w.opts.FailOnOutage && isOutage(messages) {
		return events.SQSEventResponse{}, errors.New("lambdawrap: DynamoDB answered or accepted no claim and no commit of the batch, and Options.FailOnOutage is set")
	}

	return response, nil
}

// isOutage reports whether all messages failed because DynamoDB did not answer their claims, or because they were behind such a
// message, or because waiting for DynamoDB left too little time.
func isOutage(messages []*message) bool {
	unanswered := 0

	for _, m := range messages {
		switch m.outcome {
		case OutcomeUnanswered, OutcomeUncommitted:
			unanswered++
		case OutcomeBlocked, OutcomeNoTime:
		default:
			return false
		}
	}

	return unanswered > 0
}
