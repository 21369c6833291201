package lambdawrap

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// EnvelopeFunc opens what another service has put around the message in the body of a queue's message. [SNS], [EventBridge],
// [S3], [S3Pointer], [Base64] and [Gzip] are ready, and [Chain] opens one inside of the other.
//
// It returns the messages that the envelope holds: mostly one, none if there is nothing to do. It must return the same ones, in
// the same order, whenever the message is delivered. An error that wraps [ErrNoKey] or is marked by [Permanent] says that the
// envelope will never open. Any other error is a failure that may pass. It is called concurrently.
type EnvelopeFunc func(context.Context, events.SQSMessage) ([]Enveloped, error)

// Open opens the envelope around a message, as a wrapper with Options.Envelope does. The first of the messages in it has the id
// of the queue's message, and each further one that id with its number behind it, as m-1/1: two pieces of work must not share an
// id, neither in a key nor in the answer of a handler of whole events. The error is that of f.
func (f EnvelopeFunc) Open(ctx context.Context, m events.SQSMessage) ([]Enveloped, error) {
	opened, err := f(ctx, m)
	if err != nil {
		return nil, err
	}

	opened = slices.Clone(opened)
	for i := range opened {
		opened[i].Message.MessageId = m.MessageId
		if i > 0 {
			opened[i].Message.MessageId = fmt.Sprintf("%s/%d", m.MessageId, i)
		}
	}

	return opened, nil
}

// Enveloped is one message that stood in an envelope.
type Enveloped struct {
	// Message is the queue's message, with the body and the message attributes that stood in the envelope. Everything else of it,
	// such as its receive count, is as it arrived, and its MessageId is what [EnvelopeFunc.Open] makes of it.
	Message events.SQSMessage

	// ID names the message for the service or the program that made the envelope, and stays when that service delivers the message
	// twice. "" stands for none.
	ID string

	// Name is that of the kind of envelope from which ID comes, so that the ids of two services never meet. The ready envelopes have
	// the names of their functions.
	Name string
}

// Key returns the default key of a message that stood in an envelope: the list of Name and ID, or that of [MessageID] if it has
// no ID. With an ID the queue is no part of it, so what reaches one function by two queues is one piece of work. The error is
// [ErrNoKey].
func (e Enveloped) Key() (string, error) {
	if e.ID == "" {
		return keyOfMessage(e.Message)
	}

	key, err := strictjson.ListKey(e.Name, e.ID)
	if err != nil {
		return "", noKey("the id in the envelope %w", err)
	}

	return key, nil
}

// EnvelopeLimits bound what an envelope may unpack. Zero means the default of each field.
type EnvelopeLimits struct {
	// Bytes is the limit, in bytes, for all bodies together that one envelope of a Chain, or the only one, unpacks from one message
	// of the queue. A larger one does not open. What is opened stays in memory until its message has ended. If it is negative, each
	// message fails with an error. Defaults to 10 MB.
	Bytes int64

	// Depth is how many envelopes may stand inside of each other. If it is negative, each message fails with an error. Defaults to 4.
	Depth int
}

const (
	defaultEnvelopeBytes = 10 << 20
	defaultEnvelopeDepth = 4
)

// Limited returns an envelope that opens within other limits than the default ones. They bind an envelope of your own only inside
// of a Chain. An envelope that holds more than Bytes is [ErrNoKey], because no delivery makes it smaller. Limited panics for a
// nil envelope.
func Limited(open EnvelopeFunc, limits EnvelopeLimits) EnvelopeFunc {
	if open == nil {
		panic("lambdawrap: Limited: open: must not be nil")
	}

	return func(ctx context.Context, m events.SQSMessage) ([]Enveloped, error) {
		if limits.Bytes < 0 || limits.Depth < 0 {
			return nil, fmt.Errorf("lambdawrap: EnvelopeLimits: must not be negative, are %d bytes and a depth of %d", limits.Bytes, limits.Depth)
		}

		return open(context.WithValue(ctx, limitsKey{}, limits), m)
	}
}

type limitsKey struct{}

// limitsOf returns the limits that hold for an envelope which is opened with this context.
func limitsOf(ctx context.Context) EnvelopeLimits {
	limits, _ := ctx.Value(limitsKey{}).(EnvelopeLimits)
	if limits.Bytes == 0 {
		limits.Bytes = defaultEnvelopeBytes
	}

	if limits.Depth == 0 {
		limits.Depth = defaultEnvelopeDepth
	}

	return limits
}

// Chain opens envelopes that stand inside of each other, the outermost first: Chain(SNS, Base64, Gzip) opens a notification whose
// message is compressed. The innermost ID counts, because an outer service gives each copy a new id: if S3 notifies a topic
// twice, SNS gives the two notifications two MessageIds.
//
// More envelopes than EnvelopeLimits.Depth are an error of each message, which comes back. Chain panics for a nil envelope.
func Chain(envelopes ...EnvelopeFunc) EnvelopeFunc {
	for i, open := range envelopes {
		if open == nil {
			panic(fmt.Sprintf("lambdawrap: Chain: envelopes[%d]: must not be nil", i))
		}
	}

	return func(ctx context.Context, m events.SQSMessage) ([]Enveloped, error) {
		limits := limitsOf(ctx)
		if len(envelopes) > limits.Depth {
			return nil, fmt.Errorf("lambdawrap: Chain: %d envelopes inside of each other, and EnvelopeLimits.Depth is %d", len(envelopes), limits.Depth)
		}

		opened := []Enveloped{{Message: m}}

		for i, open := range envelopes {
			inner := limits
			inner.Depth -= i // it is not 0, which would be the default, because of the check above

			var err error
			if opened, err = openAll(ctx, open, opened, inner); err != nil {
				return nil, err
			}
		}

		return opened, nil
	}
}

// openAll opens the envelopes around all messages of one level.
func openAll(ctx context.Context, open EnvelopeFunc, outer []Enveloped, limits EnvelopeLimits) (opened []Enveloped, err error) {
	left := limits.Bytes

	for _, e := range outer {
		if left <= 0 {
			return nil, errTooMuch(limits.Bytes)
		}

		held, err := open(context.WithValue(ctx, limitsKey{}, EnvelopeLimits{left, limits.Depth}), e.Message)
		if err != nil {
			return nil, err
		}

		for i, inner := range held {
			if left -= int64(len(inner.Message.Body)); left < 0 {
				return nil, errTooMuch(limits.Bytes)
			}

			if inner, err = inner.inside(e, i, len(held)); err != nil {
				return nil, err
			}

			opened = append(opened, inner)
		}
	}

	return opened, nil
}

// inside returns a message with the ID of the envelope around its own, if its own has none. Of several messages there, each has
// its place behind that ID, the first one, too: an envelope inside of it may hold several messages again, which have places of
// their own.
func (e Enveloped) inside(outer Enveloped, index, count int) (Enveloped, error) {
	if e.ID != "" || outer.ID == "" {
		return e, nil
	}

	e.Name, e.ID = outer.Name, outer.ID

	if count > 1 { // two pieces of work must not share an id
		id, err := strictjson.ListKey(outer.ID, strconv.Itoa(index))
		if err != nil {
			return e, noKey("the id in the envelope %w", err)
		}

		e.ID = id
	}

	return e, nil
}

// held returns a message with what stood in its envelope. The digests of the queue's message are not those of it.
func held(m events.SQSMessage, body string, attributes map[string]events.SQSMessageAttribute) events.SQSMessage {
	m.Body, m.MessageAttributes = body, attributes
	m.Md5OfBody, m.Md5OfMessageAttributes = "", ""

	return m
}

func errTooMuch(limit int64) error {
	return noKey("the envelope holds more than the %d bytes of EnvelopeLimits.Bytes", limit)
}

// notOpened is the error of an envelope that will never open. The text says what is wrong with it and never quotes it.
func notOpened(name, format string, args ...any) error {
	return noKey("the body is no envelope of %s that can be opened: %w", name, fmt.Errorf(format, args...))
}
