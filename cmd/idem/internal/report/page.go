package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"
)

// Reading says what the totals were read from.
type Reading struct {
	Table, Namespace string
	Read             int     // records, of any namespace
	Units            float64 // read units
	Partial          bool    // the budget ended before the whole table was read
	About            int64   // how many items the table has, as DynamoDB counts them every six hours; 0 if it does not say

	Stream   *Stream   // nil if the table has none
	Consumed *Consumed // nil if it was not asked for
	Notes    []string  // what could not be read, and why
}

// Stream is what the table's stream says.
type Stream struct {
	Kinds                         map[string]int // changes of records, by their kinds
	Judged, Violations, Late, Gap int
	From, To                      time.Time
	Partial                       bool // the budget ended before the stream was read to its end
}

// Add adds a change of a record.
func (s *Stream) Add(kind string, isViolation, isLate bool, at time.Time) {
	s.Judged++
	s.Kinds[kind]++

	if isViolation {
		s.Violations++
	}

	if isLate {
		s.Late++
	}

	if at.IsZero() {
		return
	}

	if s.From.IsZero() || at.Before(s.From) {
		s.From = at
	}

	if at.After(s.To) {
		s.To = at
	}
}

// Consumed is what CloudWatch has measured of the table, by hours.
type Consumed struct {
	Begin      time.Time
	Writes     []float64 // write units
	Reads      []float64
	Throttled  float64 // requests
	Resolution time.Duration
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"n":   func(v int) string { return number(float64(v)) },
	"n64": func(v int64) string { return number(float64(v)) },
	"f":   number, "span": Span, "dollars": dollars,
	"at": func(t time.Time) string {
		if t.IsZero() {
			return ""
		}

		return t.UTC().Format("2006-01-02 15:04:05Z")
	},
}).Parse(pageText))

// Write writes the page.
func Write(w io.Writer, t *Totals, r Reading) error {
	if err := page.Execute(w, t.view(r)); err != nil {
		return fmt.Errorf("report: %w", err)
	}

	return nil
}

// Span writes a duration with its two largest units; one below zero as 0s.
func Span(d time.Duration) string {
	const day = 24 * time.Hour

	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < day:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	}
}

func dollars(v float64) string {
	if v < 0.01 && v > 0 {
		return "less than $0.01"
	}

	return fmt.Sprintf("$%.2f", v)
}
