package idemddb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Results keeps results outside of the table: those that are larger than Options.InlineResult. A result is put there before the
// completion is written, and the record then holds its name, its length and its SHA-256, which every replay checks. Package
// results has one for S3. It must be safe for concurrent use.
type Results interface {
	// Put stores b under a name that no other result has: it holds the owner token of the claim and a digest of b. So a worker whose
	// key was taken over never overwrites the result of another worker, and a Put that arrives late writes what is there already.
	// What is put must be kept for longer than Options.Retention. Put returns when ctx ends. After an error the key is completed
	// without the result, as one that is too large.
	Put(ctx context.Context, name string, b []byte) error

	// Get returns what was put under the name. An error that wraps [ErrResultOmitted] says that it is gone for good. After any other
	// error, the replay fails, and a later one asks again. Get returns when ctx ends, after 30 s at the latest.
	Get(ctx context.Context, name string) ([]byte, error)
}

// omittedValue is what a record has in the place of a result that is not kept. All records share it, so no code may change it.
var omittedValue = &types.AttributeValueMemberNULL{Value: true}

// putTime is the longest time for one Put. The completion comes after it, so a Put has also at most a third of the time that the
// completion has, and half of what is left of the lease.
const putTime = 5 * time.Second

// readTime is the longest time for reading one result and opening it. The request of a server may have no end of its own: one
// that hangs here would be kept for ever.
const readTime = 30 * time.Second

// owner is whose result is kept.
type owner struct {
	partition, token string        // the record's key, and the owner token of the call that completes it
	lease            time.Duration // how long its claim lasts; 0 for work without a claim
	room             int           // bytes that the result may have in the record
}

// resultPlace is where results are kept that are not in their records. Its zero value is none.
type resultPlace struct {
	Results

	title string // in errors
	most  int    // bytes of a result that it takes
}

// takes reports whether a result of this length can be kept there.
func (p resultPlace) takes(length int) bool { return length <= p.most }

// keeper keeps the results of completed keys, in their records or outside of them.
type keeper struct {
	*sealer

	given   resultPlace   // Options.Results
	inTable resultPlace   // items of their own in the table of the records
	inline  int           // bytes of a result that is kept in its record although there is a place outside
	lease   time.Duration // Options.Lease
}

// outside returns where large results are kept, which may be nowhere.
func (k *keeper) outside() resultPlace {
	if k.given.Results != nil {
		return k.given
	}

	return k.inTable
}

// placeOf returns where a result with this name is kept. A Store with Options.Results also reads what one without them has kept
// in the table.
func (k *keeper) placeOf(name string) resultPlace {
	if record.IsPart(name) {
		return k.inTable
	}

	return k.given
}

// nameOf returns the name under which a result with this length and SHA-256 is kept. It holds the owner token, so a worker whose
// key was taken over never overwrites what another one has kept, and the digest, so a second completion of a claim never
// overwrites what the first one has.
func (k *keeper) nameOf(o owner, sum [sha256.Size]byte, length int) string {
	if k.given.Results == nil {
		return record.NameInTable(o.partition, o.token, sum, length)
	}

	return k.namespace + "/" + record.Digest(o.partition) + "/" + o.token + "-" + record.ShortSum(sum)
}

// value returns what the record of a key holds of a result. A large one is put outside of the record first. If the result cannot
// be kept, value returns the mark that stands for it, and why: the work is done, so a completion without the result is better
// than none.
func (k *keeper) value(ctx context.Context, o owner, result []byte) (types.AttributeValue, error) {
	if k.codec == nil {
		return k.valueOf(ctx, o, result)
	}

	limited, cancel := k.timeFor(ctx, o.lease/2) // the other half is for Put
	defer cancel()

	sealed, err := k.seal(limited, result, k.sealedOf(o.partition, ""))
	if err != nil {
		return omittedValue, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}

	value, omitted := k.valueOf(ctx, o, sealed)
	if omitted != nil {
		return value, omitted
	}

	return record.SealedResult(value), nil
}

// valueOf is value for bytes that are stored as they are.
func (k *keeper) valueOf(ctx context.Context, o owner, result []byte) (types.AttributeValue, error) {
	hasPlace, fits := k.outside().Results != nil, len(result) <= o.room

	switch {
	case fits && (!hasPlace || len(result) <= k.inline):
		return &types.AttributeValueMemberB{Value: result}, nil
	case !hasPlace:
		return omittedValue, o.tooLarge(len(result))
	default:
		return k.putOutside(ctx, o, result)
	}
}

// tooLarge returns the error for a result, or for what stands for it, that the record has no room for.
func (o *owner) tooLarge(length int) error {
	return fmt.Errorf("%w: it has %d bytes, and the record and its transaction have room for %d", ErrTooLarge, length, max(0, o.room))
}

// putOutside puts a result outside of the record and returns what the record holds of it.
func (k *keeper) putOutside(ctx context.Context, o owner, result []byte) (value types.AttributeValue, omitted error) {
	to := k.outside()
	if !to.takes(len(result)) {
		return omittedValue, fmt.Errorf("%w: it has %d bytes, %s takes %d", ErrTooLarge, len(result), to.title, to.most)
	}

	sum := sha256.Sum256(result)
	kept := record.KeptResult{Name: k.nameOf(o, sum, len(result)), Length: len(result), Sum: sum[:]}

	value = kept.Value()
	if length := dbitem.ValueSize(value); length > o.room {
		return omittedValue, o.tooLarge(length)
	}

	ctx, cancel := k.timeFor(ctx, o.lease)
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

// timeFor returns the context for what the user's code does with a result before the completion. It ends early enough that the
// completion can still be written.
func (k *keeper) timeFor(ctx context.Context, lease time.Duration) (context.Context, context.CancelFunc) {
	ctx, p, cancel := engine.SettleContext(ctx, k.lease)

	limit := min(putTime, time.Until(p.End)/3)
	if lease > 0 {
		limit = min(limit, lease/2)
	}

	ctx, cancelLimit := context.WithTimeout(ctx, limit)

	return ctx, func() { cancelLimit(); cancel() }
}

// read reads the result of a completed key into its record, if the record in the table holds only its name, or if it is
// sealed. If the result is gone, it counts as omitted.
func (k *keeper) read(ctx context.Context, rec *Record, partition string, stored types.AttributeValue) error {
	value, isSealed := record.ResultIn(stored)

	kept, isOutside := record.KeptResultOf(value)
	if !isOutside && !isSealed {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()

	if isOutside {
		if err := k.readOutside(ctx, rec, kept); err != nil {
			return err
		}
	}

	if !isSealed || rec.ResultOmitted {
		return nil
	}

	if b, ok := value.(*types.AttributeValueMemberB); ok {
		rec.Result = b.Value
	}

	return k.openResult(ctx, rec, partition)
}

// readOutside reads a result that is kept outside of its record.
func (k *keeper) readOutside(ctx context.Context, rec *Record, kept record.KeptResult) error {
	from := k.placeOf(kept.Name)
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

// openResult opens the result of a record that was read.
func (k *keeper) openResult(ctx context.Context, rec *Record, partition string) error {
	plain, err := k.open(ctx, rec.Result, k.sealedOf(partition, ""))
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

// isSame reports whether a sealed result in a record is this one. Sealing it twice may give other bytes, so it is read.
func (k *keeper) isSame(ctx context.Context, partition string, stored types.AttributeValue, result []byte) bool {
	if _, isSealed := record.ResultIn(stored); !isSealed {
		return false
	}

	var rec Record

	return k.read(ctx, &rec, partition, stored) == nil && !rec.ResultOmitted && bytes.Equal(rec.Result, result)
}

func sameResult(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberB:
		b, ok := b.(*types.AttributeValueMemberB)

		return ok && bytes.Equal(a.Value, b.Value)
	case *types.AttributeValueMemberM:
		mine, isSealed := record.ResultIn(a)
		if other, _ := record.ResultIn(b); isSealed {
			return sameResult(mine, other)
		}

		kept, _ := record.KeptResultOf(a)
		other, _ := record.KeptResultOf(b)

		return kept.Name == other.Name
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)

		return ok
	default:
		return b == nil
	}
}
