package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/unsent"
)

// List calls found with each record of the namespace that fits the selection, in no order. It calls found and Selection.Progress
// in the goroutine of its caller, one after the other. An error of found ends it.
//
// It reads the whole table, with one read unit for 8 KB of records, of other namespaces, too, and of what shares the table. Only
// unsent messages have an index (Options.UnsentIndex): each record of it is read, there is no Cursor, and the error is
// [ErrBudget] if the Budget ends.
//
// The reads are eventually consistent, so a record may be shown as it was a second ago; a change of it is refused then.
//
// After an error the Progress is true, and its Cursor goes on where the call stopped; no record is missing behind it, and some
// may be found again.
func (r *Records) List(ctx context.Context, s Selection, found func(View) error) (Progress, error) {
	if err := s.validate(); err != nil {
		return Progress{Cursor: s.Cursor}, err
	}

	s.Budget, s.Segments = cmp.Or(s.Budget, defaultBudget), cmp.Or(s.Segments, defaultSegments)

	if s.Unsent && !s.Parked && r.opts.UnsentIndex != "" {
		return r.listIndex(ctx, s, found)
	}

	l, err := r.newListing(s, found)
	if err != nil {
		return Progress{Cursor: s.Cursor}, err
	}

	return l.run(ctx)
}

// listIndex finds the records with unsent messages by the index. Its items have the keys only, so each record is read.
func (r *Records) listIndex(ctx context.Context, s Selection, found func(View) error) (Progress, error) {
	if s.Cursor != "" {
		return Progress{}, errCursor
	}

	l := &indexListing{records: r, selection: s, found: found, begun: time.Now()}

	for _, query := range unsent.Queries(r.store, -time.Minute) { // the minute includes messages of workers whose clock is ahead
		if err := l.readQuery(ctx, query); err != nil {
			return l.progress, err
		}
	}

	return l.progress, nil
}

// indexListing is one list by the index, whose queries run one after the other.
type indexListing struct {
	records   *Records
	selection Selection
	found     func(View) error
	progress  Progress
	begun     time.Time
}

// readQuery reads all pages of one query of the index, and the records that they name.
func (l *indexListing) readQuery(ctx context.Context, query *dynamodb.QueryInput) error {
	query.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	for {
		out, err := l.records.api.Query(ctx, query)
		if err != nil {
			return fmt.Errorf("operate: query of index %q: %w", l.records.opts.UnsentIndex, err)
		}

		l.progress.Units += units(out.ConsumedCapacity)

		if err := l.readEach(ctx, out.Items); err != nil {
			return err
		}

		if query.ExclusiveStartKey = out.LastEvaluatedKey; len(query.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// readEach reads the records of one page of the index at the rate and while the budget lasts, and reports the progress after
// each.
func (l *indexListing) readEach(ctx context.Context, items []item) error {
	for _, key := range items {
		if l.progress.Units >= l.selection.Budget {
			return fmt.Errorf("operate: list: %w", ErrBudget)
		}

		if !l.selection.pace(ctx, l.begun, l.progress.Units) {
			return fmt.Errorf("operate: list: %w", context.Cause(ctx))
		}

		if err := l.readRecord(ctx, key); err != nil {
			return err
		}

		if l.selection.Progress != nil {
			l.selection.Progress(l.progress)
		}
	}

	return nil
}

// readRecord reads one record and calls found with it if it is selected. A record that is gone or no longer fits is passed over,
// because the index is behind the table.
func (l *indexListing) readRecord(ctx context.Context, key item) error {
	v, used, err := l.records.again(ctx, key)
	l.progress.Read++
	l.progress.Units += used

	switch {
	case errors.Is(err, ErrNoRecord) || err == nil && !l.selection.fits(&v):
		return nil
	case err != nil:
		return err
	default:
		l.progress.Found++

		return l.found(v)
	}
}
