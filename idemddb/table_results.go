package idemddb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/sleep"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// tableResults is the [Results] that keeps a result in the table of the records, as items of up to 390 KB, so that no claim pays
// for it: DynamoDB charges a claim that is refused for the whole record. It is used where Options.Results is not set.
type tableResults struct {
	put interface {
		PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	}
	getter   Getter
	options  []func(*dynamodb.Options) // of each request
	records  *protocol.Table
	now      func() time.Time
	patience time.Duration // how long a read is tried
}

// Put implements [Results]. A part that is written by two tries is the same.
func (r *tableResults) Put(ctx context.Context, name string, b []byte) error {
	now := r.now()

	for i, partition := range record.Parts(name) {
		from := i * record.PartSize
		in := r.records.PutPart(partition, b[from:min(from+record.PartSize, len(b))], now)

		if err := repeat(ctx, func(ctx context.Context) error {
			out, err := r.put.PutItem(ctx, in, r.options...)
			if err == nil && (out == nil || out.ConsumedCapacity == nil) {
				return protocol.ErrNoContent
			}

			return err
		}); err != nil {
			return fmt.Errorf("part %d: %w", i+1, err)
		}
	}

	return nil
}

// Get implements [Results].
func (r *tableResults) Get(ctx context.Context, name string) (b []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()

	for i, partition := range record.Parts(name) {
		part, err := r.part(ctx, partition)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}

		b = append(b, part...)
	}

	return b, nil
}

// part reads a part, consistently only if it is not found otherwise, because that costs twice as much.
func (r *tableResults) part(ctx context.Context, partition string) ([]byte, error) {
	for _, isConsistent := range []bool{false, true} {
		found, err := r.read(ctx, r.records.GetPart(partition, isConsistent))
		if err != nil {
			return nil, err
		}

		if len(found) > 0 {
			part, _ := found[record.Part].(*types.AttributeValueMemberB)
			if part == nil {
				return nil, nil // its bytes are missing in the result, so that the digest shows it
			}

			return part.Value, nil
		}
	}

	return nil, fmt.Errorf("%w: the item is gone", ErrResultOmitted)
}

func (r *tableResults) read(ctx context.Context, in *dynamodb.GetItemInput) (found item, err error) {
	err = repeat(ctx, func(ctx context.Context) error {
		out, err := r.getter.GetItem(ctx, in, r.options...)

		switch {
		case wire.Code(err) == "AccessDeniedException":
			return fmt.Errorf("the role needs dynamodb:GetItem: %w", err)
		case err != nil:
			return err
		case out == nil || len(out.Item) == 0 && out.ConsumedCapacity == nil:
			return protocol.ErrNoContent
		}

		found = out.Item

		return nil
	})

	return found, err
}

// repeat makes a request until it has an answer that does not change, or until ctx ends. ctx has an end.
func repeat(ctx context.Context, once func(context.Context) error) error {
	for pause := planner.FirstPause; ; pause = min(2*pause, engine.SettlePause) { // each is twice as long
		err := within(ctx, once)
		if !wire.IsTransient(err) || !sleep.For(ctx, rand.N(pause)) { //nolint:gosec // spreads load, guards nothing
			return err
		}
	}
}

// within makes one request, which has a part of the time that is left, so that one which hangs leaves time for another.
func within(ctx context.Context, once func(context.Context) error) error {
	end, _ := ctx.Deadline()

	ctx, cancel := context.WithTimeout(ctx, planner.Limit(time.Until(end)))
	defer cancel()

	return once(ctx)
}
