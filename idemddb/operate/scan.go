package operate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// listing is one parallel scan. Each segment has a goroutine that reads pages; run takes them, one after the other.
type listing struct {
	records   *Records
	selection Selection
	found     func(View) error
	progress  Progress
	cursor    cursor
	budget    *budget
	begun     time.Time
}

// page is what one Scan has read.
type page struct {
	segment int
	out     *dynamodb.ScanOutput
	err     error
}

// cursor is how far each segment has come.
type cursor []segment

type segment struct {
	Done bool              `json:"done,omitempty"`
	At   map[string]string `json:"at,omitempty"` // the last key that was read; nil before the first
}

func (r *Records) newListing(s Selection, found func(View) error) (*listing, error) {
	l := &listing{records: r, selection: s, found: found, cursor: make(cursor, s.Segments), budget: newBudget(&s), begun: time.Now()}

	if s.Cursor != "" {
		if err := l.cursor.parse(s.Cursor); err != nil {
			return nil, err
		}
	}

	return l, nil
}

// run reads until everything is read, the budget is used up, or something fails.
func (l *listing) run(ctx context.Context) (Progress, error) {
	scanning, stop := context.WithCancel(ctx)
	pages := l.startScans(scanning)

	defer func() { // also behind a panic of found or Progress: the goroutine of a segment blocks until its page is received
		stop()

		for range pages { // they are not taken any more
		}
	}()

	err := l.takeAll(pages)

	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("operate: list: %w", context.Cause(ctx))
	}

	l.progress.Cursor = l.cursor.text()

	return l.progress, err
}

// startScans starts a goroutine for each segment that is not done, and returns the channel of their pages. The channel is closed
// when all of them have ended, so that its reader waits for them.
func (l *listing) startScans(ctx context.Context) <-chan page {
	pages := make(chan page)

	var segments sync.WaitGroup

	for i, s := range l.cursor {
		if !s.Done {
			segments.Go(func() { l.scan(ctx, i, s, pages) })
		}
	}

	go func() { // This goroutine ends when the segments have ended, and run waits for them.
		segments.Wait()
		close(pages)
	}()

	return pages
}

// takeAll takes the pages until the first error, which it returns.
func (l *listing) takeAll(pages <-chan page) error {
	for p := range pages {
		if err := l.take(p); err != nil {
			return err
		}
	}

	return nil
}

// take looks at the records of a page. The cursor moves behind it only if all were looked at.
func (l *listing) take(p page) error {
	if p.err != nil {
		return fmt.Errorf("operate: scan of table %q: %w", l.records.store.Table(), p.err)
	}

	l.progress.Read += int(p.out.ScannedCount)
	l.progress.Units += units(p.out.ConsumedCapacity)

	if err := l.takeRecords(p); err != nil {
		return err
	}

	l.cursor[p.segment] = segment{Done: len(p.out.LastEvaluatedKey) == 0, At: keyText(p.out.LastEvaluatedKey)}

	if l.selection.Progress != nil {
		l.progress.Cursor = l.cursor.text()
		l.selection.Progress(l.progress)
	}

	return nil
}

// takeRecords counts the selected records of a page and calls found with each. It ends with the first error of found.
func (l *listing) takeRecords(p page) error {
	for _, stored := range p.out.Items {
		if record.IsPart(record.TextOf(stored[l.records.opts.PartitionKey])) {
			continue // of a result; the filter lets one pass that another program has damaged
		}

		v := l.records.view(stored)
		if !l.selection.fits(&v) {
			continue
		}

		l.progress.Found++

		if err := l.found(v); err != nil {
			return err
		}
	}

	return nil
}

// scan reads one segment, page by page.
func (l *listing) scan(ctx context.Context, index int, from segment, pages chan<- page) {
	in := l.scanInput(index, from)

	for {
		limit, reserved := l.budget.reserve()
		if limit == 0 || !l.selection.pace(ctx, l.begun, l.budget.usedUnits()) {
			return
		}

		in.Limit = &limit

		out, err := l.records.api.Scan(ctx, in)
		if err != nil {
			pages <- page{segment: index, err: err}

			return
		}

		l.budget.settle(reserved, units(out.ConsumedCapacity), int(out.ScannedCount))
		pages <- page{segment: index, out: out}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return
		}
	}
}

// scanInput returns the request for the first page of a segment behind its cursor. scan sets the limit of each page, by the
// budget.
func (l *listing) scanInput(index int, from segment) *dynamodb.ScanInput {
	filter := l.selection.filter(l.records)

	return &dynamodb.ScanInput{
		TableName:                 new(l.records.store.Table()),
		FilterExpression:          &filter.text,
		ExpressionAttributeNames:  filter.names,
		ExpressionAttributeValues: filter.values,
		ExclusiveStartKey:         keyItem(from.At),
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		Segment:                   new(int32(index)),                //nolint:gosec // there are at most maxSegments
		TotalSegments:             new(int32(l.selection.Segments)), //nolint:gosec // there are at most maxSegments
	}
}

// pace waits until the units that are used since begun fit the rate. It returns false if the context ends first.
func (s *Selection) pace(ctx context.Context, begun time.Time, used float64) bool {
	var due time.Duration
	if s.Rate > 0 {
		due = time.Duration(used / s.Rate * float64(time.Second))
	}

	return ctx.Err() == nil && sleep.For(ctx, time.Until(begun.Add(due)))
}

// units returns the read units of an answer; 0 if the answer does not say them.
func units(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}

	return aws.ToFloat64(c.CapacityUnits)
}

var errCursor = errors.New("operate: Selection.Cursor: is none of a list with the same Selection.Segments")

func (c cursor) parse(text string) error {
	content, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errCursor
	}

	var parsed cursor
	if err := json.Unmarshal(content, &parsed); err != nil {
		return errCursor
	}

	if len(parsed) != len(c) {
		return errCursor
	}

	copy(c, parsed)

	return nil
}

// text is the cursor for the next call; "" if every segment is done.
func (c cursor) text() string {
	if !slices.ContainsFunc(c, func(s segment) bool { return !s.Done }) {
		return ""
	}

	content, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts can always be encoded
	}

	return base64.RawURLEncoding.EncodeToString(content)
}

// keyText and keyItem translate a key, which consists of strings.
func keyText(key item) map[string]string {
	if len(key) == 0 {
		return nil
	}

	texts := map[string]string{}

	for name, value := range key {
		if s, ok := value.(*types.AttributeValueMemberS); ok {
			texts[name] = s.Value
		}
	}

	return texts
}

func keyItem(texts map[string]string) item {
	if len(texts) == 0 {
		return nil
	}

	key := item{}
	for name, value := range texts {
		key[name] = record.Text(value)
	}

	return key
}
