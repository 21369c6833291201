package idemddb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// omittedValue stands in the place of a result that is not kept. It is never written.
var omittedValue = &types.AttributeValueMemberNULL{Value: true}

const (
	// putTime is the longest time for one Put. The completion comes after it, so a Put has also at most a third of the time that the
	// completion has, and half of what is left of the lease.
	putTime = 5 * time.Second

	sumInName = 16 // characters of the digest in a name
)

// owner is whose result is kept: the record's key, the owner token of the call that completes it, and how long its claim lasts.
type owner struct {
	partition, token string
	lease            time.Duration // 0 for work without a claim
}

// name returns the name under which Options.Results keeps a result with this SHA-256.
func (o owner) name(s *Store, sum [sha256.Size]byte) string {
	return s.namespace + "/" + record.Digest(o.partition) + "/" + o.token + "-" + record.DigestText(sum)[:sumInName]
}

// resultValue returns what the record of a key holds of a result. A large one is put into Options.Results first. If the
// result cannot be kept, or is omitted already, it returns the mark that stands for it, and why: the work is done, so a completion without
// the result is better than none.
func (s *Store) resultValue(
	ctx context.Context, o owner, result []byte, omitted error, e effects,
) (types.AttributeValue, error) {
	switch {
	case omitted != nil:
		return omittedValue, omitted
	case s.opts.Codec != nil && !s.disabled:
		return s.sealedResult(ctx, o, result, e)
	default:
		return s.storedValue(ctx, o, result, e)
	}
}

// storedValue is resultValue for bytes that are stored as they are.
func (s *Store) storedValue(ctx context.Context, o owner, result []byte, e effects) (types.AttributeValue, error) {
	value := &types.AttributeValueMemberB{Value: result}
	tooLarge := s.checkSize(o.partition, value, e)

	switch {
	case s.disabled, tooLarge == nil && (s.opts.Results == nil || len(result) <= s.opts.ResultsAbove):
		return value, nil
	case s.opts.Results == nil:
		return omittedValue, tooLarge
	default:
		return s.keepOutside(ctx, o, result, e)
	}
}

// keepOutside puts a result into Options.Results and returns what the record holds of it.
func (s *Store) keepOutside(ctx context.Context, o owner, result []byte, e effects) (value types.AttributeValue, omitted error) {
	sum := sha256.Sum256(result)
	kept := record.KeptResult{Name: o.name(s, sum), Length: len(result), Sum: sum[:]}
	value = kept.Value()

	if tooLarge := s.checkSize(o.partition, value, e); tooLarge != nil {
		return omittedValue, tooLarge
	}

	if err := s.put(ctx, kept.Name, result, o.lease); err != nil {
		return omittedValue, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}

	return value, nil
}

// put calls the user's Put. It returns when the time for it is over, because the completion must still be written.
func (s *Store) put(ctx context.Context, name string, result []byte, lease time.Duration) (err error) {
	ctx, cancel := s.keepContext(ctx, lease)
	defer cancel()

	defer panicerror.Catch(theResults, &err)

	if err := panicerror.Readable(s.opts.Results.Put(ctx, name, result)); err != nil {
		return fmt.Errorf("Options.Results: put %q: %w", name, err)
	}

	return nil
}

// keepContext returns the context for what the user's code does with a result before the completion.
func (s *Store) keepContext(ctx context.Context, lease time.Duration) (context.Context, context.CancelFunc) {
	ctx, p, cancel := engine.SettleContext(ctx, s.opts.Lease)

	limit := min(putTime, time.Until(p.End)/3) //nolint:mnd // a third
	if lease > 0 {
		limit = min(limit, lease/2) //nolint:mnd // half
	}

	ctx, cancelLimit := context.WithTimeout(ctx, limit)

	return ctx, func() { cancelLimit(); cancel() }
}

// theResults is who panicked, in the text of a panic of the user's Results.
const theResults = "Options.Results: it"

// errUnread is a replay whose result is in Options.Results and cannot be read now.
var errUnread = errors.New("the result cannot be read")

// readResult reads the result of a completed key into its record, if the record in the table holds only its name, or if it is sealed. If the
// result is gone, it counts as omitted.
func (s *Store) readResult(ctx context.Context, rec *Record, partition string, stored types.AttributeValue) error {
	value, isSealed := record.ResultIn(stored)
	if kept, ok := record.KeptResultOf(value); ok {
		if err := s.readOutside(ctx, rec, kept); err != nil {
			return err
		}
	}

	if !isSealed || rec.ResultOmitted {
		return nil
	}

	if b, ok := value.(*types.AttributeValueMemberB); ok {
		rec.Result = b.Value
	}

	return s.openResult(ctx, rec, partition)
}

// readOutside reads a result that is kept in Options.Results.
func (s *Store) readOutside(ctx context.Context, rec *Record, kept record.KeptResult) error {
	b, err := s.get(ctx, kept.Name)

	switch {
	case panicerror.IsAnswer(err, ErrResultOmitted):
		rec.ResultOmitted = true
	case err != nil:
		return keyError("replay", rec.Key, fmt.Errorf("%w: %w", errUnread, err))
	case len(b) != kept.Length || sha256.Sum256(b) != [sha256.Size]byte(kept.Sum):
		return keyError("replay", rec.Key, fmt.Errorf("%w: Options.Results: %q has %d bytes that are not the %d that were put there",
			ErrCorrupt, kept.Name, len(b), kept.Length))
	default:
		rec.Result = b
	}

	return nil
}

func (s *Store) get(ctx context.Context, name string) (b []byte, err error) {
	if s.opts.Results == nil {
		return nil, errNoResults
	}

	defer panicerror.Catch(theResults, &err)

	if b, err = s.opts.Results.Get(ctx, name); panicerror.Readable(err) != nil {
		return nil, fmt.Errorf("Options.Results: get %q: %w", name, err)
	}

	return b, nil
}

var errNoResults = errors.New("Options.Results: must be set as in the process that completed the key")
