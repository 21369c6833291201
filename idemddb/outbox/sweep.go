package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/unsent"
)

// API is the part of the DynamoDB API with which the sweep finds records; *dynamodb.Client fits. The Store's own client removes
// what was sent.
type API interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Report is what a sweep found and did.
type Report struct {
	Records, Sent, Left, Parked int           // records with unsent messages; messages
	Oldest                      time.Duration // the age of the oldest unsent message that was found; 0 for none

	// Incomplete says that a query or a read failed, or that the time was over: there may be other and older unsent messages.
	Incomplete bool
}

const (
	// sweepAfter is how old a completion must be before the sweep sends its messages: its own process sends them at once.
	sweepAfter = time.Minute

	minSegments = 16 // of a scan; it has fewer than twice as many
)

// Sweep sends the messages of all records of the Store's namespace that are unsent for more than a minute. It is to be called
// each minute, such as by a scheduled function: see functions/relay. It finds the records by Options.UnsentIndex, or without an
// index by a scan of the table. Two sweeps at a time do no harm.
//
// It costs 16 queries, or 272 if Options.UnsentShards of the Store is above 16, a consistent read and a write for each record,
// and the requests of the senders. A scan has 16 to 31 segments, each of at least one request, and reads the whole table. It ends
// with ctx; what it has not reached then is for the next one. The error joins those of all records; the other records are done
// all the same. A nil api is an idemddb.ErrMisuse.
func Sweep(ctx context.Context, s *idemddb.Store, api API) (Report, error) {
	if panicerror.IsNil(api) {
		return Report{Incomplete: true}, fmt.Errorf("outbox: Sweep: %w: api: must not be nil; pass dynamodb.NewFromConfig(cfg)", idemddb.ErrMisuse)
	}

	w := &sweep{store: s, api: api}

	reads := w.reads()
	shuffle(reads)

	for _, read := range reads {
		w.eachPage(ctx, read)
	}

	return w.report, errors.Join(w.errs...)
}

type sweep struct {
	store  *idemddb.Store
	api    API
	report Report
	errs   []error
}

type item = map[string]types.AttributeValue

// page is what one request has found, and where the next one goes on.
type page struct {
	items []item
	next  item // empty: there is no more
}

// read reads the page behind a key; the first one behind none.
type read func(ctx context.Context, behind item) (page, error)

// reads returns what finds the records: the queries of the index, or scans of the segments of the table. The number of segments
// changes with each sweep, because only what stands behind a message that hangs, in its own segment, has to wait for it.
func (w *sweep) reads() (reads []read) {
	if w.store.Options().UnsentIndex == "" {
		for _, in := range unsent.Scans(w.store, sweepAfter, minSegments+rand.Int32N(minSegments)) { //nolint:gosec // no secret
			reads = append(reads, w.scan(in))
		}
	}

	for _, in := range unsent.Queries(w.store, sweepAfter) {
		reads = append(reads, w.query(in))
	}

	return reads
}

func (w *sweep) query(in *dynamodb.QueryInput) read {
	return func(ctx context.Context, behind item) (page, error) {
		in.ExclusiveStartKey = behind

		out, err := w.api.Query(ctx, in)
		if err != nil {
			return page{}, fmt.Errorf("outbox: query of index %q: %w", *in.IndexName, err)
		}

		return page{out.Items, out.LastEvaluatedKey}, nil
	}
}

func (w *sweep) scan(in *dynamodb.ScanInput) read {
	return func(ctx context.Context, behind item) (page, error) {
		in.ExclusiveStartKey = behind

		out, err := w.api.Scan(ctx, in)
		if err != nil {
			return page{}, fmt.Errorf("outbox: scan of table %q: %w", *in.TableName, err)
		}

		return page{out.Items, out.LastEvaluatedKey}, nil
	}
}

// eachPage reads one page after the other, until there is none or the time is over, and sends the messages of its records.
func (w *sweep) eachPage(ctx context.Context, next read) {
	for behind := item(nil); !w.isOver(ctx); {
		p, err := next(ctx, behind)
		if err != nil {
			w.failed(err)

			return
		}

		w.sendAll(ctx, p.items)

		if behind = p.next; len(behind) == 0 {
			return
		}
	}
}

// sendAll sends the messages of the records of a page.
func (w *sweep) sendAll(ctx context.Context, page []item) {
	shuffle(page)

	for _, found := range page {
		w.send(ctx, found)
	}
}

// shuffle changes the order of the queries or scans, or of the records of a page. A target that hangs is not asked for a while,
// and that must not always keep the sweep from the same records.
func shuffle[T any](all []T) {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec // the order is no secret
}

// isOver reports whether the time is over, so that something is left for the next sweep.
func (w *sweep) isOver(ctx context.Context) bool {
	w.report.Incomplete = w.report.Incomplete || ctx.Err() != nil

	return ctx.Err() != nil
}

// failed notes an error behind which there may be unsent messages that the sweep has not seen.
func (w *sweep) failed(err error) {
	w.report.Incomplete = true
	w.errs = append(w.errs, err)
}

// send reads one record and sends its messages. The index may be behind the table, so the record may have none any more.
func (w *sweep) send(ctx context.Context, found item) {
	if w.isOver(ctx) {
		return
	}

	out, err := w.api.GetItem(ctx, unsent.Read(w.store, found))
	if err != nil {
		w.failed(fmt.Errorf("outbox: read record: %w", err))

		return
	}

	if age, isUnsent := unsent.Age(w.store, out.Item); isUnsent {
		w.report.Records++
		w.report.Oldest = max(w.report.Oldest, age)
		w.sendStored(ctx, out.Item)
	}
}

// sendStored sends the messages of a record and adds the outcome to the report. An error does not end the sweep, because the
// messages of other records do not depend on it.
func (w *sweep) sendStored(ctx context.Context, stored item) {
	done, err := w.store.SendStored(ctx, stored, false)
	if err != nil {
		w.errs = append(w.errs, err)
	}

	w.report.Sent += done.Sent
	w.report.Left += done.Left
	w.report.Parked += done.Parked
}
