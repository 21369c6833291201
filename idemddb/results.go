package idemddb

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// omittedValue stands in the place of a result that is not kept. It is never written.
var omittedValue = &types.AttributeValueMemberNULL{Value: true}

// putTime is the longest time for one Put. The completion comes after it, so a Put has also at most a third of the time that the
// completion has, and half of what is left of the lease.
const putTime = 5 * time.Second

// owner is whose result is kept: the record's key, the owner token of the call that completes it, and how long its claim lasts.
type owner struct {
	partition, token string
	lease            time.Duration // 0 for work without a claim
}

// resultPlace is where results are kept that are not in their records. Its zero value is none.
type resultPlace struct {
	Results

	title string // in errors
	most  int    // bytes of a result that it takes
}

// takes reports whether a result of this length can be kept there.
func (p resultPlace) takes(length int) bool { return length <= p.most }

// given returns Options.Results, which may be none.
func (s *Store) given() resultPlace {
	return resultPlace{s.opts.Results, "Options.Results", math.MaxInt}
}

// outside returns where the Store keeps large results.
func (s *Store) outside() resultPlace {
	if given := s.given(); given.Results != nil {
		return given
	}

	return s.inTable
}

// placeOf returns where a result with this name is kept. A Store with Options.Results also reads what one without them has kept
// in the table.
func (s *Store) placeOf(name string) resultPlace {
	if record.IsPart(name) {
		return s.inTable
	}

	return s.given()
}

// nameOf returns the name under which a result with this length and SHA-256 is kept. It holds the owner token, so a worker whose
// key was taken over never overwrites what another one has kept, and the digest, so a second completion of a claim never
// overwrites what the first one has.
func (s *Store) nameOf(o owner, sum [sha256.Size]byte, length int) string {
	if s.opts.Results == nil {
		return record.NameInTable(o.partition, o.token, sum, length)
	}

	return s.namespace + "/" + record.Digest(o.partition) + "/" + o.token + "-" + record.ShortSum(sum)
}

// resultValue returns what the record of a key holds of a result. A large one is put outside of the record first. If the result
// cannot be kept, it returns the mark that stands for it, and why: the work is done, so a completion without the result is better
// than none.
func (s *Store) resultValue(ctx context.Context, o owner, result []byte, e effects) (types.AttributeValue, error) {
	if s.opts.Codec != nil && !s.disabled {
		return s.sealedResult(ctx, o, result, e)
	}

	return s.storedValue(ctx, o, result, e)
}

// storedValue is resultValue for bytes that are stored as they are.
func (s *Store) storedValue(ctx context.Context, o owner, result []byte, e effects) (types.AttributeValue, error) {
	value := &types.AttributeValueMemberB{Value: result}
	tooLarge := s.checkSize(o.partition, len(result), e)
	to := s.outside()

	switch {
	case s.disabled, tooLarge == nil && (to.Results == nil || len(result) <= max(0, s.opts.InlineResult)):
		return value, nil
	case to.Results == nil:
		return omittedValue, tooLarge
	default:
		return s.putOutside(ctx, o, result, e)
	}
}

// putOutside puts a result outside of the record and returns what the record holds of it.
func (s *Store) putOutside(ctx context.Context, o owner, result []byte, e effects) (value types.AttributeValue, omitted error) {
	to := s.outside()
	if !to.takes(len(result)) {
		return omittedValue, fmt.Errorf("%w: it has %d bytes, %s takes %d", ErrTooLarge, len(result), to.title, to.most)
	}

	sum := sha256.Sum256(result)
	kept := record.KeptResult{Name: s.nameOf(o, sum, len(result)), Length: len(result), Sum: sum[:]}
	value = kept.Value()

	if tooLarge := s.checkSize(o.partition, dbitem.ValueSize(value), e); tooLarge != nil {
		return omittedValue, tooLarge
	}

	ctx, cancel := s.resultContext(ctx, o.lease)
	defer cancel()

	if err := to.put(ctx, kept.Name, result); err != nil {
		return omittedValue, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}

	return value, nil
}

// put calls Put. A panic of it is an error.
func (p resultPlace) put(ctx context.Context, name string, result []byte) (err error) {
	defer panicerror.Catch(p.title+": it", &err)

	if err := panicerror.Readable(p.Put(ctx, name, result)); err != nil {
		return fmt.Errorf("%s: put %q: %w", p.title, name, err)
	}

	return nil
}

// resultContext returns the context for what the user's code does with a result before the completion. It ends early enough that
// the completion can still be written.
func (s *Store) resultContext(ctx context.Context, lease time.Duration) (context.Context, context.CancelFunc) {
	ctx, p, cancel := engine.SettleContext(ctx, s.opts.Lease)

	limit := min(putTime, time.Until(p.End)/3)
	if lease > 0 {
		limit = min(limit, lease/2)
	}

	ctx, cancelLimit := context.WithTimeout(ctx, limit)

	return ctx, func() { cancelLimit(); cancel() }
}

// readResult reads the result of a completed key into its record, if the record in the table holds only its name, or if it is
// sealed. If the result is gone, it counts as omitted.
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

// readOutside reads a result that is kept outside of its record.
func (s *Store) readOutside(ctx context.Context, rec *Record, kept record.KeptResult) error {
	from := s.placeOf(kept.Name)
	b, err := from.get(ctx, kept.Name)

	switch {
	case panicerror.IsAnswer(err, ErrResultOmitted):
		rec.ResultOmitted = true
	case err != nil:
		return keyError("replay", rec.Key, fmt.Errorf("%w: %w", ErrUnread, err))
	case !kept.IsOf(b):
		return keyError("replay", rec.Key, fmt.Errorf("%w: %s: %q has %d bytes that are not the %d that were put there",
			ErrCorrupt, from.title, kept.Name, len(b), kept.Length))
	default:
		rec.Result = b
	}

	return nil
}

func (p resultPlace) get(ctx context.Context, name string) (b []byte, err error) {
	if p.Results == nil {
		return nil, fmt.Errorf("%s: must be set as in the process that completed the key", p.title)
	}

	defer panicerror.Catch(p.title+": it", &err)

	if b, err = p.Get(ctx, name); panicerror.Readable(err) != nil {
		return nil, fmt.Errorf("%s: get %q: %w", p.title, name, err)
	}

	return b, nil
}
