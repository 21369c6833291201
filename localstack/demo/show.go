package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

func (s *stage) time() string { return s.clock.Now().Format(time.TimeOnly) }

// requests shows what DynamoDB was asked, and adds it up.
func (s *stage) requests(log []request) {
	var records, ledger bill

	for _, r := range log {
		of := &records
		if r.table == "ledger" {
			of = &ledger

			if r.applied {
				s.sum.effects++
			}
		}

		of.requests++
		of.units += r.units
	}

	total := s.paint(bold, "records "+records.String()+" · ledger "+ledger.String())
	s.field("DynamoDB", append(s.rows(log), total)...)
	s.sum.records.add(records)
	s.sum.ledger.add(ledger)
}

// few is how many lines that differ in a key alone are shown one by one.
const few = 3

// rows are the lines of requests or statements.
func (s *stage) rows(log []request) []string {
	var lines []string

	for len(log) > 0 {
		n := 1
		for n < len(log) && alike(log[0], log[n]) {
			n++
		}

		if n <= few {
			n = 1
		}

		lines = append(lines, s.row(log[0])...)

		if n > 1 {
			more := fmt.Sprintf("… %d more like it", n-1)
			if last := log[n-1].key; last != log[0].key {
				more += ", to " + last
			}

			lines = append(lines, s.paint(dim, fmt.Sprintf("%-8s %-68s", "", more))+wu(log[0].units*float64(n-1)))
		}

		log = log[n:]
	}

	return lines
}

// row is a request's line; those of its statements follow if they had answers.
func (s *stage) row(r request) []string {
	colour := green
	if !r.applied {
		colour = yellow
	}

	if r.parts == nil {
		return []string{fmt.Sprintf("%-8s %-10s %-15s %-9s ", r.table, r.operation, r.key, r.purpose) +
			s.paint(colour, fmt.Sprintf("%-31s", r.outcome)) + wu(r.units)}
	}

	head := fmt.Sprintf("%-8s %-36s ", r.table, r.operation+", "+count(len(r.parts), "statement"))
	if !r.applied {
		return []string{head + s.paint(colour, fmt.Sprintf("%-31s", r.outcome)) + wu(r.units)}
	}

	return append([]string{head}, s.rows(r.parts)...)
}

func wu(units float64) string { return fmt.Sprintf(" %5.0f WU", units) }

// alike tells whether two requests differ in their keys alone.
func alike(a, b request) bool {
	return a.parts == nil && b.parts == nil && a.table == b.table && a.operation == b.operation && a.purpose == b.purpose &&
		a.outcome == b.outcome && a.units == b.units
}

func (b *bill) add(other bill) {
	b.requests += other.requests
	b.units += other.units
}

func (b bill) String() string {
	return count(b.requests, "request") + ", " + count(int(b.units), "write unit")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}

	return strconv.Itoa(n) + " " + what + "s"
}

func requestsOf(log []request, table string) int {
	n := 0

	for _, r := range log {
		if r.table == table {
			n++
		}
	}

	return n
}

func (s *stage) handler(runs int) {
	switch runs {
	case 0:
		s.field("handler", "not run")
	case 1:
		s.field("handler", "ran once")
	default:
		s.field("handler", fmt.Sprintf("ran %d times, once for each payment", runs))
	}
}

func (s *stage) answer(call *invocation) {
	switch failed := failures(call.answer); failed {
	case noAnswer:
		s.field("answer", s.paint(red, "none: the process is gone"))
	case "":
		s.field("answer", s.paint(green, call.answer))
	default:
		s.field("answer", s.paint(yellow, call.answer))
	}
}

// record shows a record's attributes, always in this order.
func (s *stage) record(it item) {
	rows := [][]string{{"pk", "st", "own"}, {"fence", "att", "lease"}, {"prev", "born", "done"}, {"exp", "fp", "v"}}
	lines := make([]string, len(rows))

	for i, row := range rows {
		for _, name := range row {
			value := fmt.Sprintf("%-21s", s.value(it, name))
			if name == "st" {
				value = s.paint(stateStyle(text(it[name])), value)
			}

			lines[i] += s.paint(dim, fmt.Sprintf("%-6s", name)) + value + " "
		}
	}

	s.field("record", lines...)

	if why := text(it["err"]); why != "" {
		s.prose("", yellow, "err: "+why)
	}
}

func stateStyle(state string) style {
	switch state {
	case "COMPLETED":
		return green
	case "FAILED":
		return red
	default:
		return yellow
	}
}

// value is an attribute for people: times by the clock, digests by their beginning.
func (s *stage) value(it item, name string) string {
	value := text(it[name])
	number, _ := strconv.ParseInt(value, 10, 64)

	switch {
	case value == "":
		return "–"
	case name == "own":
		return claimant(it) + "/…"
	case name == "fp":
		return value[:min(len(value), 10)] + "…"
	case name == "exp":
		return s.relative(time.Unix(number, 0))
	case name == "lease" && number == 0:
		return "0, released"
	case name == "prev" && number == 0:
		return "0, none"
	case slices.Contains([]string{"lease", "prev", "born", "done"}, name):
		return s.relative(time.UnixMilli(number))
	default:
		return value
	}
}

// relative is a time as seen from the clock.
func (s *stage) relative(t time.Time) string {
	d := t.Sub(s.clock.Now())

	switch n := span(d.Abs()); {
	case d == 0:
		return "now"
	case d > 0:
		return "in " + n
	default:
		return n + " ago"
	}
}

func span(d time.Duration) string {
	const day = 24 * time.Hour

	switch {
	case d > 2*day:
		return fmt.Sprintf("%.0f days", d.Hours()/day.Hours())
	default:
		return fmt.Sprintf("%g s", d.Seconds())
	}
}

func (s *stage) ledger(got, want account) {
	line := "account a-1 has " + got.String()
	if got == want {
		s.field("ledger", line+s.paint(green, "  ✓ as it should be"))
	} else {
		s.field("ledger", s.paint(red, line+"  ✗ WRONG"))
	}
}
