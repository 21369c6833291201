package auditing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/tablestream"
)

// Table ends the stream of a table, reads all of it and judges each change. The stream must have been enabled before the first
// record was written, and the workers must be done: what they write later is not seen. If Resolution is 0, it is that of the
// engine.
//
// An error says that not every change could be judged. Whether one is a violation is in the report.
func Table(ctx context.Context, client *dynamodb.Client, table string, options audit.Options) (audit.Report, error) {
	options.Resolution = cmp.Or(options.Resolution, resolution(client))

	checker, err := audit.NewChecker(options)
	if err != nil {
		return audit.Report{}, err
	}

	arn, err := tablestream.Find(ctx, client, table)
	if err == nil {
		err = disable(ctx, client, table) // this closes the stream, so that its end is known
	}

	if err != nil {
		return audit.Report{}, err
	}

	r := reading{checker: checker, seen: map[string]bool{}}
	result, err := tablestream.Read(ctx, streamsOf(client), arn, nil, r.judge)
	report := checker.Report()

	if len(result.Gaps) > 0 {
		err = errors.Join(err, fmt.Errorf("the stream of %s has gaps: %v", table, result.Gaps))
	}

	if report.Judged == 0 || r.late > 0 {
		err = errors.Join(err, fmt.Errorf("the stream of %s began after its first record: changes in it: %d, records that were there before: %d",
			table, report.Judged, r.late))
	}

	return report, errors.Join(err, report.GapsErr())
}

// resolution is that of the times in the streams of the engine: DynamoDB cuts them to seconds, DynamoDB Local to minutes.
func resolution(client *dynamodb.Client) time.Duration {
	if client.Options().BaseEndpoint == nil {
		return time.Second
	}

	return time.Minute
}

// reading judges the changes of a stream.
type reading struct {
	checker *audit.Checker
	seen    map[string]bool // the keys that had a change
	late    int             // records that were there before their first change
}

func (r *reading) judge(c tablestream.Change) error {
	key := r.checker.Check(audit.Change(c)).Partition

	if !r.seen[key] && c.Before != nil {
		r.late++
	}

	r.seen[key] = true

	return nil
}

// Sum is a report on all changes of several tables.
func Sum(reports ...audit.Report) (sum audit.Report) {
	for _, r := range reports {
		sum = sum.Plus(r)
	}

	return sum
}
