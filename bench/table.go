package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// column is a figure, and how many digits of it follow the point.
type column struct {
	head   string
	figure func(sample) float64
	digits int
	ratio  bool // also as a ratio to the base
}

func columns() []column {
	return []column{
		{head: "requests", figure: func(s sample) float64 { return s.requests }, digits: 2, ratio: true},
		{head: "bytes", figure: func(s sample) float64 { return s.bytes }},
		{head: "WU", figure: func(s sample) float64 { return s.writeUnits }, digits: 2},
		{head: "CPU µs", figure: cpu, ratio: true},
		{head: "wall µs", figure: wall, ratio: true},
		{head: "allocs", figure: func(s sample) float64 { return s.allocs }, ratio: true},
		{head: "alloc B", figure: func(s sample) float64 { return s.allocBytes }},
		{head: "conns", figure: func(s sample) float64 { return s.connections }},
	}
}

func cpu(s sample) float64  { return s.cpu }
func wall(s sample) float64 { return s.wall }

// heading says what a table holds, and what the latency really was.
func heading(lines []line, found results) string {
	var held []float64

	for _, l := range lines {
		for _, v := range l.variants {
			for _, s := range found[l.place(v.name)] {
				if s.requests > 0 {
					held = append(held, s.held)
				}
			}
		}
	}

	return fmt.Sprintf("%v a request (%s ms measured at the server), %s; for each message, connections in all",
		lines[0].latency, number(median(held), 2), lines[0].handler.label)
}

// renderFigures prints the lines of one table.
func renderFigures(out io.Writer, lines []line, found results) {
	head := []string{"", ""}
	for _, c := range columns() {
		head = append(head, c.head)
	}

	for _, c := range columns() {
		if c.ratio {
			head = append(head, "× "+strings.Fields(c.head)[0])
		}
	}

	head = append(head, "× own")
	rows := [][]string{head}

	for _, l := range lines {
		rows = append(rows, []string{l.title()})
		for _, v := range l.variants {
			rows = append(rows, l.row(&v, found))
		}
	}

	render(out, rows, 2)
}

// base is the variant that the others of the line are compared with.
func (l *line) base() string {
	if slices.Contains(l.workload.variants, "a") {
		return "a"
	}

	return "b"
}

func (l *line) title() string {
	return fmt.Sprintf("%s; × to (%s)", l.workload.label, l.base())
}

func (l *line) row(v *variant, found results) []string {
	samples, base := found[l.place(v.name)], found[l.place(l.base())]
	workers := (&cell{workload: l.workload, variant: *v}).workers()
	row := []string{v.name, fmt.Sprintf("%s, %d", v.label, workers)}

	for _, c := range columns() {
		row = append(row, number(median(pick(samples, c.figure)), c.digits))
	}

	for _, c := range columns() {
		if c.ratio {
			row = append(row, number(ratio(pick(samples, c.figure), pick(base, c.figure)), 2))
		}
	}

	own := median(pick(samples, overOwn))
	if own == 0 {
		own = math.NaN()
	}

	return append(row, number(own, 2))
}

func overOwn(s sample) float64 { return s.overOwn }

// number is a figure as text; a dash where there is none.
func number(f float64, digits int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "–"
	}

	return strconv.FormatFloat(f, 'f', digits, 64)
}

// render prints rows with their columns aligned, the first ones to the left. A row of one cell is a title across all.
func render(out io.Writer, rows [][]string, left int) {
	var widths []int

	for _, row := range rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}

			if len(row) > 1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(text))
			}
		}
	}

	for _, row := range rows {
		if len(row) == 1 {
			fmt.Fprintf(out, "— %s\n", row[0])

			continue
		}

		cells := make([]string, len(row))

		for i, text := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if i < left {
				cells[i] = text + gap
			} else {
				cells[i] = gap + text
			}
		}

		fmt.Fprintln(out, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
}
