package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

const (
	maxShown = 200 // bytes of a key or a text on the screen
	maxCause = 300 // bytes of a failure, of which a record has 256 at most
	maxCell  = 60  // the same in a table
)

func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}

	return nil
}

// moment is a time and how far away it is; "" for none.
func moment(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}

	text := t.UTC().Format("2006-01-02 15:04:05Z")

	switch away := t.Sub(now).Round(time.Second); {
	case away > 0:
		return text + " (in " + report.Span(away) + ")"
	case away < 0:
		return text + " (" + report.Span(-away) + " ago)"
	default:
		return text + " (now)"
	}
}

// plain is a text on one line, without what a terminal would obey.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}

		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// plainLines is the same for a text of several lines.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = plain(line)
	}

	return strings.Join(lines, "\n")
}

// shorten is the beginning of a plain text.
func shorten(text string, limit int) string {
	text = plain(text)
	if len(text) <= limit {
		return text
	}

	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:limit], ""), len(text))
}

// quote writes an argument as a shell takes it.
func quote(text string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@+=,%", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !safe(r) }) {
		return text
	}

	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// sayf writes a line for the operator, beside the results.
func (a *app) sayf(format string, args ...any) { fmt.Fprintf(a.log, format+"\n", args...) }

// newTable returns a writer that puts two spaces between the columns.
func newTable(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// progress shows how far a list is, at most once a second, and about how much the table holds.
func (a *app) progress(ctx context.Context, d *desk) func(operate.Progress) {
	var total *string

	last := time.Now()

	return func(p operate.Progress) {
		if time.Since(last) < time.Second {
			return
		}

		if total == nil {
			total = new(size(ctx, d))
		}

		last = time.Now()
		a.sayf("read %d records%s, found %d, %.1f read units", p.Read, *total, p.Found, p.Units)
	}
}

// size is about how large the table is; "" if the service does not say.
func size(ctx context.Context, d *desk) string {
	out, err := d.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: new(d.store.Table())})
	if err != nil || out.Table == nil || out.Table.ItemCount == nil || *out.Table.ItemCount == 0 {
		return ""
	}

	return fmt.Sprintf(" of about %d", *out.Table.ItemCount)
}
