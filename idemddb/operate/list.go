package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/unsent"
)

// Selection says which records List finds. The zero value selects all records of the namespace. A record must fit every field.
type Selection struct {
	Status  []Status // one of these; none: any
	Unsent  bool     // with messages that are not sent; Options.UnsentIndex finds them without a scan, but not those that are parked
	Parked  bool     // with parked messages
	Request string   // last claimed by the worker with this request id, as it stands in logs
	Hash    string   // the hash of the key, as it stands in logs: "sha256:" and 12 characters

	// Twice selects the records whose work may have been done twice: View.SecondRun has a reason other than a retry. Retries adds those that
	// ran again because their handler had returned an error, and is nothing without Twice. Since leaves out the records which show that the
	// second run began before it; a record that does not show when is selected. Zero is no limit.
	Twice, Retries bool
	Since          time.Time

	// Budget is how many read units the call may use. It stops before a page that would use more, by the size of the records so far, and
	// List's Progress has a Cursor with which the next call goes on. The first page is read in any case. Negative is an error. Defaults
	// to 10,000: about 80 MB of records, for about $0.00125.
	Budget float64

	// Rate is how many read units a second the call may use, on average. Negative is an error. Defaults to 0: no limit.
	Rate float64

	// Segments is how many parts of the table are scanned at the same time. Negative, and above 1,000, is an error. Defaults to 4.
	Segments int

	// Cursor is where an earlier call stopped. Its other fields must be those of that call. Defaults to "": the beginning.
	Cursor string

	// Progress is called after each page. Defaults to none.
	Progress func(Progress)
}

// Progress is how far a List has come.
type Progress struct {
	Read   int     `json:"read"`             // records, of any namespace
	Found  int     `json:"found"`            // records that fit the selection
	Units  float64 `json:"read_units"`       // used by this call
	Cursor string  `json:"cursor,omitempty"` // where the next call goes on; "" if everything was read
}

// The defaults of Selection, each only here.
const (
	defaultBudget   = 10_000
	defaultSegments = 4
	maxSegments     = 1_000
)

// List calls found with each record of the namespace that fits the selection, in no order. It calls found and Selection.Progress in the
// goroutine of its caller, one after the other. An error of found ends it.
//
// It reads the whole table, with one read unit for 8 KB of records, of other namespaces, too, and of what shares the table. Only unsent
// messages have an index (Options.UnsentIndex): each record of it is read, there is no Cursor, and it is an error if the Budget ends.
//
// The reads are eventually consistent, so a record may be shown as it was a second ago; a change of it is refused then.
//
// After an error the Progress is true, and its Cursor goes on where the call stopped; no record is missing behind it, and some may be
// found again.
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

func (s *Selection) validate() error {
	switch {
	case s.Budget < 0:
		return fmt.Errorf("operate: Selection.Budget: must not be negative, is %v", s.Budget)
	case s.Rate < 0:
		return fmt.Errorf("operate: Selection.Rate: must not be negative, is %v", s.Rate)
	case s.Segments < 0 || s.Segments > maxSegments:
		return fmt.Errorf("operate: Selection.Segments: must be 0 to %d, is %d", maxSegments, s.Segments)
	case s.Hash != "" && (!strings.HasPrefix(s.Hash, record.DigestPrefix) || len(s.Hash) < record.HashLength):
		return fmt.Errorf("operate: Selection.Hash: must be %q and %d characters, as a log line has it, is %q",
			record.DigestPrefix, record.HashLength-len(record.DigestPrefix), s.Hash)
	}

	return nil
}

// fits reports whether a record is selected.
func (s *Selection) fits(v *View) bool {
	isParked := func(m Message) bool { return m.Parked }

	switch {
	case len(s.Status) > 0 && !slices.Contains(s.Status, v.Status),
		s.Unsent && len(v.Messages) == 0,
		s.Parked && !slices.ContainsFunc(v.Messages, isParked),
		s.Request != "" && v.Request != s.Request,
		s.Hash != "" && v.Hash != s.Hash[:record.HashLength],
		s.Twice && !s.wantsSecondRun(v):
		return false
	default:
		return true
	}
}

// filter returns a condition by which DynamoDB leaves out records that fits would refuse. DynamoDB bills the reads anyway, but does not
// send the records.
func (s *Selection) filter(r *Records) expression {
	e := expression{
		text: "begins_with(#pk, :namespace)", names: map[string]string{"#pk": r.opts.PartitionKey},
		values: item{":namespace": record.Text(r.store.Namespace() + "#")},
	}

	if s.Request != "" {
		e.text += " AND begins_with(own, :request)"
		e.values[":request"] = record.Text(s.Request + record.TokenMark)
	}

	switch {
	case s.Parked:
		e.text += " AND attribute_exists(parked)"
	case s.Unsent:
		e.text += " AND (attribute_exists(outbox) OR attribute_exists(parked))"
	}

	if s.Twice {
		s.secondRunFilter(&e)
	}

	if state, ok := s.state(); ok {
		e.text += " AND st = :state"
		e.values[":state"] = record.Text(state)
	}

	return e
}

// state returns the one state that all selected statuses have.
func (s *Selection) state() (state string, ok bool) {
	states := map[Status]string{
		Held: record.InProgress, Stuck: record.InProgress, Released: record.InProgress, Completed: record.Completed, Failed: record.Failed,
	}

	for _, status := range s.Status {
		if states[status] == "" || state != "" && state != states[status] {
			return "", false
		}

		state = states[status]
	}

	return state, state != ""
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

var errBudget = errors.New("operate: the budget ended before all unsent messages were read; raise Selection.Budget")

// readEach reads the records of one page of the index at the rate and while the budget lasts, and reports the progress after each.
func (l *indexListing) readEach(ctx context.Context, items []item) error {
	for _, key := range items {
		if l.progress.Units >= l.selection.Budget {
			return errBudget
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

// readRecord reads one record and calls found with it if it is selected. A record that is gone or no longer fits is passed over, because
// the index is behind the table.
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
