package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const dollarsPerUnit = 0.625e-6 // us-east-1, on-demand

// name returns the name of a setting.
func (s *setting) name() string {
	return fmt.Sprintf("%s, %d environments, batch of %d, %.0f %% popular, %s", s.work, s.environments, s.batch, 100*s.popular, s.tableName())
}

// tableName says which table a setting has.
func (s *setting) tableName() string {
	name := "warm"
	if s.partitions == cold {
		name = "new"
	}

	if s.splits > 0 {
		name += fmt.Sprintf(", after %v", s.settles)
	}

	if s.shards > 0 {
		name += fmt.Sprintf(", %d shards", s.shards)
	}

	return name
}

// table returns the figures as a table of a page.
func table(all []figures) string {
	var b strings.Builder

	b.WriteString("| work | environments | batch | popular keys | table | messages a second | requests a message | WCU a message | read units | p50 | p99 | throttled a message | by the index | conflicts a message | $ a million |\n" +
		"|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")

	for _, f := range all {
		fmt.Fprintf(&b, "| %s | %d | %d | %.0f %% | %s | %.0f | %.2f | %.2f | %.2f | %d ms | %d ms | %.2f | %.2f | %.3f | %.2f |\n",
			f.work, f.environments, f.batch, 100*f.popular, f.tableName(), f.rate, f.requests, f.units, f.reads,
			f.p50/time.Millisecond, f.p99/time.Millisecond, f.ofTable+f.ofIndex, f.ofIndex, f.conflicts, f.units*dollarsPerUnit*1e6)
	}

	return b.String()
}

// The plot: messages a second over environments, both by powers of ten.
const (
	width, height  = 720, 400
	left, bottom   = 80, 350
	decadeX        = 180 // of environments, from 10 on
	decadeY        = 75  // of messages a second, from 10 on
	style          = `<style>text{font:13px system-ui,sans-serif;fill:#1f2328}.page{fill:#fff}.axis{stroke:#d1d9e0}.b1{stroke:#0969da;fill:none;stroke-width:2}.b10{stroke:#1a7f37;fill:none;stroke-width:2}.b100{stroke:#bc4c00;fill:none;stroke-width:2}.popular{stroke-dasharray:5 4}@media (prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.axis{stroke:#3d444d}.b1{stroke:#4493f8}.b10{stroke:#3fb950}.b100{stroke:#db6d28}}</style>`
	firstY, firstX = 1, 1
)

// draw returns an SVG for light and dark pages.
func draw(all []figures) string {
	var b strings.Builder

	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Messages a second over environments\">%s\n"+
		"<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n<text x=\"%d\" y=\"24\">messages a second over environments; dashed: 20 %% of the messages have popular keys</text>\n",
		width, height, style, width, height, left)

	for i, name := range []string{"10", "100", "1,000", "10,000"} {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", left+i*decadeX, bottom+22, name)
	}

	for i, name := range []string{"10", "100", "1,000", "10,000", "100,000"} {
		fmt.Fprintf(&b, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n",
			left, left+3*decadeX, bottom-i*decadeY, bottom-i*decadeY, left-8, bottom-i*decadeY+4, name)
	}

	for _, l := range lines(all) {
		fmt.Fprintf(&b, "<polyline class=\"%s\" points=\"%s\"/>\n", l.class, l.points)

		if l.label != "" {
			fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", l.x+6, l.y+4, l.label)
		}
	}

	return b.String() + "</svg>\n"
}

// curve is a line of the plot.
type curve struct {
	class, points, label string
	x, y                 float64 // of its end
}

// lines joins the points of the same batch and keys on the table that is made for the load.
func lines(all []figures) (found []curve) {
	for _, popular := range []float64{0, 0.2} {
		for _, batch := range []int{1, 10, 100} {
			c := curve{class: fmt.Sprintf("b%d", batch)}
			if popular > 0 {
				c.class += " popular"
			} else {
				c.label = fmt.Sprintf("batch of %d", batch)
			}

			for _, f := range all {
				if f.work != claimed || f.batch != batch || f.popular != popular || f.partitions != warm || f.rate == 0 {
					continue
				}

				c.x = left + decadeX*(math.Log10(float64(f.environments))-firstX)
				c.y = bottom - decadeY*(math.Log10(f.rate)-firstY)
				c.points += fmt.Sprintf("%.1f,%.1f ", c.x, c.y)
			}

			found = append(found, c)
		}
	}

	return found
}
