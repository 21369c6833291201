package lambdawrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// Whole adapts an existing handler of whole events that gives no answer for single messages: it gets an event with one message
// at a time.
func Whole(h func(context.Context, events.SQSEvent) error) Handler {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	return func(ctx context.Context, m events.SQSMessage) error {
		return h(ctx, events.SQSEvent{Records: []events.SQSMessage{m}})
	}
}

// JSON adapts a handler of values: the message's body, which must be one JSON value, is decoded as T with encoding/json. A body
// that does not decode will not decode the next time either: it is a [Permanent] failure.
//
// Names are compared as they stand, as by [Body] and unlike by encoding/json alone: a member whose name differs from that of a
// field, be it only in case, is ignored. So a field Amount without the tag `json:"amount"` stays zero. A body in which an object
// has one name twice, or two names that differ only in case, does not decode. The UnmarshalJSON of a type of your own reads its
// part of the body by rules of its own.
func JSON[T any](h func(context.Context, T) error) Handler {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	shape := strictjson.ShapeOf[T]()

	return func(ctx context.Context, m events.SQSMessage) error {
		var value T

		body, err := shape.Exact(m.Body)
		if err != nil {
			return Permanent(fmt.Errorf("lambdawrap: body %w", err))
		}

		decoder := json.NewDecoder(strings.NewReader(body))
		if err := decoder.Decode(&value); err != nil {
			return Permanent(fmt.Errorf("lambdawrap: body is not a %T: %w", value, decodeError(err)))
		}

		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return Permanent(errors.New("lambdawrap: body holds more than one JSON value"))
		}

		return h(ctx, value)
	}
}

// decodeError keeps the place and drops the text: it may quote the body.
func decodeError(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON, at byte %d", syntax.Offset)
	}

	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %q must be of type %s", kind.Field, kind.Type)
	}

	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON, it ends early")
	}

	return errors.New("encoding/json cannot fill a type in it, as by its tag or its embedded pointer, or the UnmarshalJSON or UnmarshalText of one refuses it")
}

// KafkaJSON adapts a handler of values, as [JSON] does for SQS: a record's value, which must be one JSON value, is decoded as T.
// A value that does not decode is a [Permanent] failure. So is a tombstone, which has no value: a handler of a compacted topic
// looks at the record first.
func KafkaJSON[T any](h func(context.Context, T) error) func(context.Context, KafkaRecord) error {
	decode := JSON(h)

	return func(ctx context.Context, r KafkaRecord) error {
		return decode(ctx, events.SQSMessage{Body: string(r.Value)})
	}
}
