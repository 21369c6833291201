package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/tablestream"
)

const reportHelp = `Write one HTML file about the records of the namespace: keys by state and age, how long work takes, attempts, takeovers, what may have happened
twice, what is not sent or parked, and what the records' writes cost. The file needs no server, has no scripts, and can be printed.

It reads the whole table, as idem list does, until --budget is used up; the file says so if it is not all of it. If the table has a stream with
NEW_AND_OLD_IMAGES, its changes are counted and judged, with --stream-budget requests at the most. --cloudwatch asks for the units that the table
has consumed in seven days.

Keys are hidden: each stands as its hash, as in the log. --show-keys shows them. Targets and the texts of failures are shown, without the key of
their record; look at them before you pass the file on.

Permissions: dynamodb:Scan and dynamodb:DescribeTable on the table; on the stream dynamodb:DescribeStream, dynamodb:GetShardIterator and
dynamodb:GetRecords; cloudwatch:GetMetricData.`

// reporting are the flags of report.
type reporting struct {
	selection  operate.Selection
	out        string
	showKeys   bool
	noStream   bool
	pages      int
	cloudWatch bool
}

func (a *app) reportCommand() *cobra.Command {
	r := &reporting{}
	cmd := &cobra.Command{
		Use: "report", Short: "Write an HTML file about the records: states, ages, times, second runs, messages, costs",
		Long: reportHelp, Args: cobra.NoArgs,
		Example: "  idem report --out report.html\n  idem report --out - --budget 500 --no-stream > report.html\n  idem report --show-keys --cloudwatch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := notNegative(cmd, "stream-budget"); err != nil {
				return err
			}

			if r.out == "" {
				return errors.New("--out: must not be empty; name the file, or - for standard output")
			}

			d, err := a.open(cmd.Context())
			if err != nil {
				return err
			}

			return a.report(cmd.Context(), d, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&r.out, "out", "o", "idem-report.html", "file to write; - for standard output")
	flags.BoolVar(&r.showKeys, "show-keys", false, "show keys instead of their hashes")
	flags.Float64Var(&r.selection.Budget, "budget", 0, "read units that may be used (default 10000, about $0.00125)")
	flags.Float64Var(&r.selection.Rate, "rate", 0, "read units a second (default no limit)")
	flags.IntVar(&r.selection.Segments, "segments", 0, "parts of the table that are read at the same time (default 4)")
	flags.BoolVar(&r.noStream, "no-stream", false, "do not read the table's stream")
	flags.IntVar(&r.pages, "stream-budget", defaultPages, "requests for the stream that may be made (about $0.002 for 10000)")
	flags.BoolVar(&r.cloudWatch, "cloudwatch", false, "ask CloudWatch what the table has consumed")

	return cmd
}

// report reads the records and what belongs to them, and writes the file.
func (a *app) report(ctx context.Context, d *desk, r *reporting) error {
	now := d.store.Options().Now()
	totals := report.NewTotals(now, r.showKeys)
	r.selection.Progress = a.progress(ctx, d)

	progress, err := d.records.List(ctx, r.selection, func(v operate.View) error {
		totals.Add(&v)

		return nil
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	reading := report.Reading{
		Table: a.flags.table, Namespace: a.flags.namespace, Read: progress.Read, Units: progress.Units, Partial: progress.Cursor != "",
		About: items(ctx, d),
	}

	if !r.noStream {
		reading.Stream, err = a.readStream(ctx, d, r.pages)
		reading.Notes = noted(reading.Notes, "The stream was not read to its end: ", err)
	}

	if r.cloudWatch {
		reading.Consumed, err = consumed(ctx, cloudwatch.NewFromConfig(d.config), a.flags.table, now)
		reading.Notes = noted(reading.Notes, "CloudWatch has not said what the table has consumed: ", err)
	}

	if err := ctx.Err(); err != nil {
		return fmt.Errorf("report: %w", err)
	}

	var page bytes.Buffer
	if err := report.Write(&page, totals, reading); err != nil {
		return err
	}

	return a.save(r.out, page.Bytes(), progress)
}

// save writes the file at once, so that no half of a report is left, and only for its owner: a report says what fails.
func (a *app) save(name string, page []byte, progress operate.Progress) error {
	if name == "-" {
		if _, err := a.out.Write(page); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	} else {
		next, err := os.CreateTemp(filepath.Dir(name), ".idem-report-*")
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}

		_, err = next.Write(page)
		if err = errors.Join(err, next.Close()); err == nil {
			err = os.Rename(next.Name(), name)
		}

		if err != nil {
			return fmt.Errorf("--out: %w", errors.Join(err, os.Remove(next.Name())))
		}
	}

	a.sayf("%s: %d KB about %d records, %.1f read units.", name, len(page)/1024+1, progress.Read, progress.Units)

	if progress.Cursor != "" {
		a.sayf("The budget ended before the whole table was read, and the report says so. Raise --budget to read it all.")
	}

	return nil
}

// noted adds why something could not be read; a report without it is better than none.
func noted(notes []string, text string, err error) []string {
	if err == nil {
		return notes
	}

	return append(notes, text+flagNames.Replace(err.Error()))
}

// items is about how many items the table has; 0 if the service does not say.
func items(ctx context.Context, d *desk) int64 {
	out, err := d.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: new(d.store.Table())})
	if err != nil || out.Table == nil || out.Table.ItemCount == nil {
		return 0
	}

	return *out.Table.ItemCount
}

// readStream counts and judges what the table's stream has. It keeps nothing of a change. A table without a stream has no Stream.
func (a *app) readStream(ctx context.Context, d *desk, pages int) (*report.Stream, error) {
	arn, err := tablestream.Find(ctx, d.client, a.flags.table)
	if errors.Is(err, tablestream.ErrSpecification) {
		return nil, nil //nolint:nilnil // most tables have none
	}

	if err != nil {
		return nil, err
	}

	u := &auditRun{app: a, budget: pages, quiet: cmp.Or(a.quiet, defaultQuiet)}
	options := u.options(d)
	where := u.reading(d)
	s := &report.Stream{Kinds: map[string]int{}}
	last := time.Now()

	where.Progress = func(r tablestream.Result) {
		if time.Since(last) >= time.Second {
			last = time.Now()
			a.sayf("read %d changes of the stream in %d requests", r.Changes, r.Requests)
		}
	}

	result, err := tablestream.Read(ctx, streamsOf(d), arn, where, func(c tablestream.Change) error {
		if v := audit.Judge(audit.Change(c), options); v.Kind != audit.NoRecord {
			s.Add(string(v.Kind), len(v.Violations) > 0, v.Late, c.Time)
		}

		return nil
	})

	s.Gap = len(result.Gaps)
	s.Partial = errors.Is(err, tablestream.ErrBudget)

	if s.Partial {
		err = nil
	}

	return s, err
}
