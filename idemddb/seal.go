package idemddb

import (
	"bytes"
	"context"
	"fmt"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// sealer seals results and messages with Options.Codec, and opens them.
type sealer struct {
	codec     Codec // nil for none: then nothing is sealed
	namespace string
	isOff     bool // nothing is stored, so nothing is sealed
}

// sealedOf says what is sealed in a record.
func (s *sealer) sealedOf(partition, target string) Sealed {
	return Sealed{Namespace: s.namespace, Record: record.Digest(partition), Target: target}
}

// theCodec names Options.Codec in the text of its panics.
const theCodec = "Options.Codec: it"

// seal calls the user's Seal. The codec gets bytes of its own, because it may work in place.
func (s *sealer) seal(ctx context.Context, plain []byte, of Sealed) (sealed []byte, err error) {
	defer panicerror.Catch(theCodec, &err)

	sealed, err = s.codec.Seal(ctx, bytes.Clone(plain), of)
	if err = panicerror.Readable(err); err != nil {
		return nil, fmt.Errorf("Options.Codec: seal: %w", err)
	}

	return append([]byte{}, sealed...), nil
}

var errNoCodec = fmt.Errorf("%w: it is sealed: Options.Codec must be set as in the process that completed the key", ErrCorrupt)

// open calls the user's Open. What cannot be opened is ErrCorrupt, unless only the time was over.
func (s *sealer) open(ctx context.Context, sealed []byte, of Sealed) (plain []byte, err error) {
	if s.codec == nil {
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

func (s *sealer) callOpen(ctx context.Context, sealed []byte, of Sealed) (plain []byte, err error) {
	defer panicerror.Catch("it", &err)

	plain, err = s.codec.Open(ctx, bytes.Clone(sealed), of)

	return plain, panicerror.Readable(err)
}

// outboxOf returns messages as the record of a key holds them.
func (s *sealer) outboxOf(ctx context.Context, partition string, messages []Message) ([]record.Message, error) {
	outbox := outboxOf(copyMessages(messages))
	if s.codec == nil || s.isOff {
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
func (s *sealer) opener(partition string) func(context.Context, *record.Message) (record.Content, error) {
	return func(ctx context.Context, m *record.Message) (record.Content, error) {
		plain, err := s.open(ctx, m.Sealed, s.sealedOf(partition, m.To))
		if err != nil {
			return m.Content, err
		}

		return record.ContentOf(m.To, plain)
	}
}
