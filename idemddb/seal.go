package idemddb

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// sealedOf says what is sealed in a record.
func (s *Store) sealedOf(partition, target string) Sealed {
	return Sealed{Namespace: s.namespace, Record: record.Digest(partition), Target: target}
}

// theCodec names Options.Codec in the text of its panics.
const theCodec = "Options.Codec: it"

// seal calls the user's Seal. The codec gets bytes of its own, because it may work in place.
func (s *Store) seal(ctx context.Context, plain []byte, of Sealed) (sealed []byte, err error) {
	defer panicerror.Catch(theCodec, &err)

	sealed, err = s.opts.Codec.Seal(ctx, bytes.Clone(plain), of)
	if err = panicerror.Readable(err); err != nil {
		return nil, fmt.Errorf("Options.Codec: seal: %w", err)
	}

	return append([]byte{}, sealed...), nil
}

var errNoCodec = fmt.Errorf("%w: it is sealed: Options.Codec must be set as in the process that completed the key", ErrCorrupt)

// open calls the user's Open. What cannot be opened is ErrCorrupt, unless only the time was over.
func (s *Store) open(ctx context.Context, sealed []byte, of Sealed) (plain []byte, err error) {
	if s.opts.Codec == nil {
		return nil, errNoCodec
	}

	switch plain, err = s.callOpen(ctx, sealed, of); {
	case err == nil:
		return append([]byte{}, plain...), nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("Options.Codec: open: %w", err)
	default:
		return nil, fmt.Errorf("%w: Options.Codec: open: %w", ErrCorrupt, err)
	}
}

func (s *Store) callOpen(ctx context.Context, sealed []byte, of Sealed) (plain []byte, err error) {
	defer panicerror.Catch("it", &err)

	plain, err = s.opts.Codec.Open(ctx, bytes.Clone(sealed), of)

	return plain, panicerror.Readable(err) //nolint:wrapcheck // open wraps it
}

// unsealedError says why a result is not kept, though the key is completed: it could not be sealed.
type unsealedError struct{ cause error }

func (e *unsealedError) Error() string { return "result not kept: " + e.cause.Error() }

func (e *unsealedError) Unwrap() []error { return []error{ErrTooLarge, e.cause} }

// sealedResult is what the record holds of a result that is sealed, or the mark of one that is not kept, and why.
func (s *Store) sealedResult(ctx context.Context, o owner, result []byte, e effects) (types.AttributeValue, error) {
	limited, cancel := s.resultContext(ctx, o.lease/2) // the other half is for Put
	defer cancel()

	sealed, err := s.seal(limited, result, s.sealedOf(o.partition, ""))
	if err != nil {
		return omittedValue, &unsealedError{err}
	}

	value, omitted := s.storedValue(ctx, o, sealed, e)
	if omitted != nil {
		return value, omitted
	}

	return record.SealedResult(value), nil
}

// openResult opens the result of a record that was read.
func (s *Store) openResult(ctx context.Context, rec *Record, partition string) error {
	plain, err := s.open(ctx, rec.Result, s.sealedOf(partition, ""))
	rec.Result = plain

	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCorrupt):
		return keyError("replay", rec.Key, err)
	default:
		return keyError("replay", rec.Key, fmt.Errorf("%w: %w", ErrUnread, err))
	}
}

// sameSealed reports whether a sealed result in a record is this one. Sealing it twice may give other bytes, so it is read.
func (s *Store) sameSealed(ctx context.Context, partition string, stored types.AttributeValue, result []byte) bool {
	if _, isSealed := record.ResultIn(stored); !isSealed {
		return false
	}

	var rec Record

	return s.readResult(ctx, &rec, partition, stored) == nil && !rec.ResultOmitted && bytes.Equal(rec.Result, result)
}

// outboxOf returns messages as the record of a key holds them.
func (s *Store) outboxOf(ctx context.Context, partition string, messages []Message) ([]record.Message, error) {
	outbox := outboxOf(copyMessages(messages))
	if s.opts.Codec == nil || s.disabled {
		return outbox, nil
	}

	for i := range outbox {
		sealed, err := s.seal(ctx, outbox[i].Plain(), s.sealedOf(partition, outbox[i].To))
		if err != nil {
			return outbox, fmt.Errorf("message %d: %w", i, err)
		}

		outbox[i].Sealed = sealed
	}

	return outbox, nil
}

// opener returns the function that opens the messages in the record with this partition key.
func (s *Store) opener(partition string) func(context.Context, *record.Message) (record.Content, error) {
	return func(ctx context.Context, m *record.Message) (record.Content, error) {
		plain, err := s.open(ctx, m.Sealed, s.sealedOf(partition, m.To))
		if err != nil {
			return m.Content, err
		}

		return record.ContentOf(m.To, plain)
	}
}
