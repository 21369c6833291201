package lambdawrap

import (
	"bytes"
	"context"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// KafkaRecordID returns a key of the record's cluster (its ARN and KafkaOptions.Cluster, as far as they are there), topic,
// partition, offset and timestamp. It is the default of [Kafka].
//
// The key is the same for every delivery of one record. The timestamp is a part of it because a topic that is deleted and made
// again begins at the offset 0: its records are new work. A record without a timestamp has no key. A producer that sends the same
// content again makes another record with another key; only the retries of an idempotent producer do not. Work that must not be
// repeated then needs a key from its content. Two functions that read one topic need Stores with different namespaces.
func KafkaRecordID(_ context.Context, r KafkaRecord) (string, error) {
	switch {
	case r.Topic == "":
		return "", noKey("the topic is empty; is this a record of Kafka?")
	case r.Timestamp.UnixMilli() < 0: // Kafka writes -1 for none
		return "", noKey("the record has no timestamp, so an offset may stand for two records; choose a key from its content")
	}

	key, err := strictjson.ListKey(r.EventSourceARN, r.Cluster, r.Topic, strconv.FormatInt(r.Partition, 10), strconv.FormatInt(r.Offset, 10),
		strconv.FormatInt(r.Timestamp.UnixMilli(), 10))
	if err != nil {
		return "", noKey("a part %w", err)
	}

	return key, nil
}

// KafkaKey returns a key of the topic and the record's key, for topics whose keys each name one piece of work. In most topics a
// key names a thing that changes, such as an account: then only the first change of it would run, and this is the wrong function.
// A record without a key has no idempotency key.
func KafkaKey(_ context.Context, r KafkaRecord) (string, error) {
	if len(r.Key) == 0 {
		return "", noKey("the record's key is null or empty; have its producer set it")
	}

	return bytesKey("the record's key", r.Key, r.Topic)
}

// KafkaBody returns a key function for one or several parts of a JSON value, by the rules of [Body]. It shares its keys with
// Body: a payment that comes by a queue and by a topic is one piece of work. A tombstone has no key.
func KafkaBody(paths ...string) (func(context.Context, KafkaRecord) (string, error), error) {
	key, err := Body(paths...)
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, r KafkaRecord) (string, error) {
		if len(r.Value) == 0 {
			return "", noKey("the record's value is null or empty, as that of a tombstone")
		}

		return key(ctx, events.SQSMessage{Body: string(r.Value)})
	}, nil
}

// KafkaHeader returns a key function for a header, such as the id that a producer gives to each message. Names are compared as
// they stand. A record whose header is absent or empty, or is there with two different values, has no key. The key is that of
// [Attribute] for a message attribute of the same text.
func KafkaHeader(name string) func(context.Context, KafkaRecord) (string, error) {
	return func(_ context.Context, r KafkaRecord) (string, error) {
		var value []byte

		for _, h := range r.Headers {
			switch {
			case h.Name != name || len(h.Value) == 0:
			case value != nil && !bytes.Equal(value, h.Value):
				return "", noKey("header %q is there with two values", name)
			default:
				value = h.Value
			}
		}

		if value == nil {
			return "", noKey("header %q is absent or empty; have its producer send it", name)
		}

		return bytesKey("the header", value)
	}
}

// bytesKey returns the key of bytes, behind what else belongs to it. Those that are no text are in base64, with another type.
func bytesKey(what string, value []byte, before ...string) (string, error) {
	kind, text := "String", string(value)
	if !utf8.Valid(value) {
		kind, text = "Binary", base64.StdEncoding.EncodeToString(value)
	}

	key, err := strictjson.ListKey(append(before, kind, text)...)
	if err != nil {
		return "", noKey("%s %w", what, err)
	}

	return key, nil
}
