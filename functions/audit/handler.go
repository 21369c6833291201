package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/emf"
	"github.com/idemddb/go-idemddb/internal/record"
)

// The metrics of an invocation.
const (
	judged           = "Judged"           // changes of records
	violations       = "Violations"       // of them, those that break at least one rule
	late             = "Late"             // of them, those whose request was made earlier than clocks explain, which is legal
	takeoverExpired  = "TakeoverExpired"  // claims of a key whose lease had run out
	takeoverReleased = "TakeoverReleased" // claims of a key that an operator released, or that was given back after a takeover
	otherItems       = "OtherItems"       // changes of items that are no records, which are not judged
	unreadable       = "Unreadable"       // records of the stream that cannot be judged
)

// wire puts the function together from its environment.
func wire() (func(context.Context, json.RawMessage) error, error) {
	table, errTable := readTable()
	options, errOptions := readOptions()
	format, errFormat := emf.New(
		"Payments", []string{judged, violations, late, takeoverExpired, takeoverReleased, otherItems, unreadable},
		[]map[string]string{{"Function": cmp.Or(lambdacontext.FunctionName, "audit")}},
	)

	if err := errors.Join(errTable, errOptions, errFormat); err != nil {
		return nil, err
	}

	a := &auditor{options: options, logger: lambdacontext.NewLogger().With(slog.String("table", table)), format: format, out: os.Stdout}

	return a.handle, nil
}

// auditor is the handler.
type auditor struct {
	options audit.Options
	logger  *slog.Logger
	format  *emf.Format
	out     io.Writer // of the metrics
}

// handle judges the changes of an event, logs what is wrong, and writes the metrics. It always returns nil: an error would bring
// the same records again, and what is wrong with them would stop their shard. The same records come again all the same if the
// process dies, and are then counted twice.
func (a *auditor) handle(ctx context.Context, event json.RawMessage) error {
	i := &invocation{auditor: a, counts: map[string]int{}}

	records, err := readRecords(event)
	if err != nil {
		i.unreadable(ctx, event, err)
	}

	for _, r := range records {
		if change, err := readChange(r); err != nil {
			i.unreadable(ctx, r, err)
		} else {
			i.judge(ctx, change)
		}
	}

	if rest := i.lines - mostLines; rest > 0 {
		a.logger.LogAttrs(ctx, slog.LevelError, "more is wrong than this invocation has lines for; idem audit tells all of it", slog.Int("rest", rest))
	}

	a.format.Write(a.out, i.counts, requestID(ctx))

	return nil
}

// invocation is one call of the handler.
type invocation struct {
	*auditor

	counts map[string]int // by metric
	lines  int            // that were logged, or left out because they were too many
}

func (i *invocation) judge(ctx context.Context, change audit.Change) {
	verdict := audit.Judge(change, i.options)

	if verdict.Kind == audit.NoRecord {
		i.counts[otherItems]++

		return
	}

	i.counts[judged]++

	if verdict.Late {
		i.counts[late]++
	}

	if len(verdict.Violations) > 0 { // the kind is then only the nearest one
		i.counts[violations]++
	} else if metric := takeoverOf(change, verdict.Kind); metric != "" {
		i.counts[metric]++
	}

	for _, v := range verdict.Violations {
		i.log(ctx, "a change of a record breaks a rule of docs/record.md",
			slog.String("key", keyHash(verdict.Partition)), slog.String("kind", string(verdict.Kind)), slog.Time("changed", change.Time.UTC()),
			slog.String("rule", string(v.Rule)), slog.String("attribute", v.Attribute), slog.String("text", v.Text))
	}
}

// unreadable counts and logs a record, or an event, that cannot be judged.
func (i *invocation) unreadable(ctx context.Context, text json.RawMessage, err error) {
	var id struct {
		EventID string `json:"eventID"`
	}

	_ = json.Unmarshal(text, &id) // where this is malformed, too, there is no id to log

	i.counts[unreadable]++
	i.log(ctx, "a record of the stream cannot be judged", slog.String("eventId", id.EventID), slog.Any("error", err))
}

// mostLines is how many lines of ERROR an invocation writes. A program that writes all records wrongly makes a violation of each
// change.
const mostLines = 20

func (i *invocation) log(ctx context.Context, text string, attrs ...slog.Attr) {
	if i.lines++; i.lines <= mostLines {
		i.logger.LogAttrs(ctx, slog.LevelError, text, attrs...)
	}
}

// keyHash is what the workers' logs and idem audit --hash call the key of a record; "" for a partition key that is no string.
func keyHash(partition string) string {
	if _, key, ok := strings.Cut(partition, "#"); ok {
		return record.StoredKeyHash(key)
	}

	return ""
}

func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}

	return ""
}
