package report

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// The plots are inline SVG. Their colours are classes of the page's style, so that they follow light, dark and print.

// plotWidth is the width of all plots in the units of their view boxes; the page scales them.
const plotWidth = 720

// segment is a part of a bar.
type segment struct {
	value float64
	class string
	title string // what the pointer shows
}

// bar is a row of bars.
type bar struct {
	label    string
	segments []segment
	end      string // the text behind the bar
}

// bars draws a bar for each row, all on one scale.
func bars(title string, rows []bar) template.HTML {
	const (
		rowHeight, left, right = 26, 130, 120
		room                   = plotWidth - left - right
	)

	if len(rows) == 0 {
		return ""
	}

	most := 0.0

	for _, r := range rows {
		most = max(most, r.sum())
	}

	var b strings.Builder

	begin(&b, title, len(rows)*rowHeight+4)

	for i, r := range rows {
		y := i * rowHeight
		x := float64(left)

		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+17, html.EscapeString(r.label))

		for _, s := range r.segments {
			if s.value <= 0 {
				continue
			}

			width := max(s.value/most*room, 1)
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="18"><title>%s</title></rect>`,
				s.class, x, y+4, width, html.EscapeString(s.title))
			x += width
		}

		fmt.Fprintf(&b, `<text class="n" x="%.1f" y="%d">%s</text>`, x+6, y+17, html.EscapeString(r.end))
	}

	return ended(&b)
}

func (r bar) sum() float64 {
	sum := 0.0
	for _, s := range r.segments {
		sum += s.value
	}

	return sum
}

// axis has the texts of the columns.
type axis struct {
	name   func(i int) string // of a column, which the pointer shows
	labels map[int]string     // below some of the columns
}

// columns draws a column for each value, with what the largest one is, and labels below the axis.
func columns(title, class string, values []float64, x axis) template.HTML {
	const (
		height, left, below = 110, 60, 20
		room                = plotWidth - left
	)

	most := slices.Max(append([]float64{0}, values...))

	var b strings.Builder

	begin(&b, title, height+below)
	fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d"/>`, left, height, plotWidth, height)
	fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="8" x2="%d" y2="8"/><text x="%d" y="12" text-anchor="end">%s</text>`,
		left, plotWidth, left-6, number(most))
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">0</text>`, left-6, height)

	step := float64(room) / float64(max(len(values), 1))

	for i, v := range values {
		if v <= 0 {
			continue
		}

		h := max(v/most*(height-8), 1)
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s: %s</title></rect>`,
			class, left+float64(i)*step, height-h, max(step-0.6, 0.8), h, html.EscapeString(x.name(i)), number(v))
	}

	for _, i := range slices.Sorted(maps.Keys(x.labels)) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`, left+float64(i)*step, height+15, html.EscapeString(x.labels[i]))
	}

	return ended(&b)
}

func begin(b *strings.Builder, title string, height int) {
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, plotWidth, height, html.EscapeString(title))
}

func ended(b *strings.Builder) template.HTML {
	b.WriteString("</svg>")

	return template.HTML(b.String()) //nolint:gosec // every text in it is escaped
}

// number writes a number as a person reads it: 1,234,567, and 0.25.
func number(v float64) string {
	if v != float64(int64(v)) && v < 100 {
		return fmt.Sprintf("%.2g", v)
	}

	digits := fmt.Sprintf("%.0f", v)

	var b strings.Builder

	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}

		b.WriteRune(d)
	}

	return b.String()
}
