package main

import (
	"fmt"
	"strings"
)

// The plot: for each consumer a bar of wrong payments, over all scenarios, and one of the requests that a payment takes while nothing fails.
const (
	plotWidth  = 860
	barLeft    = 200
	barWidth   = 240
	barHeight  = 16
	rowHeight  = 34
	rightPanel = 560
	topMargin  = 64
)

const plotStyle = `<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  .page { fill: #ffffff; }
  .layer { fill: #cf222e; }
  .others { fill: #eac54f; }
  .lost { fill: #6639ba; }
  .requests { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    .page { fill: #0d1117; }
    .layer { fill: #f85149; }
    .others { fill: #d29922; }
    .lost { fill: #a371f7; }
    .requests { fill: #4493f8; }
  }
</style>
`

// bar is what the plot says of a consumer.
type bar struct {
	name                string
	layer, others, gone int // payments
	requests            float64
}

func (r report) bars() (bars []bar, worst int, most float64) {
	index := map[string]int{}

	for _, v := range r.Results {
		i, ok := index[v.Contender]
		if !ok {
			i = len(bars)
			index[v.Contender] = i
			bars = append(bars, bar{name: v.Contender})
		}

		b := &bars[i]
		b.layer += v.DoublesLayer
		b.others += v.DoublesOthers
		b.gone += v.Lost + v.Stuck

		if v.Scenario == "calm" {
			b.requests = v.each(float64(v.Requests))
		}

		worst, most = max(worst, b.layer+b.others+b.gone), max(most, b.requests)
	}

	return bars, worst, most
}

// plot returns an SVG for light and dark pages.
func (r report) plot() string {
	bars, worst, most := r.bars()
	payments := 0

	for _, v := range r.Results {
		if v.Contender == bars[0].name {
			payments += v.Payments
		}
	}

	var b strings.Builder

	height := topMargin + rowHeight*len(bars) + 40
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Wrong payments and requests of each consumer\">\n", plotWidth, height)
	b.WriteString(plotStyle)
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", plotWidth, height)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"24\">wrong, of %d payments in all scenarios</text>\n", barLeft, payments)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"24\">requests to DynamoDB for a payment, calm</text>\n", rightPanel)

	x := barLeft
	for _, entry := range [][2]string{{"layer", "doubles, preventable"}, {"others", "other doubles"}, {"lost", "lost or stuck"}} {
		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"36\" width=\"10\" height=\"10\"/><text class=\"small\" x=\"%d\" y=\"45\">%s</text>\n", entry[0], x, x+14, entry[1])

		x += 24 + 6*len(entry[1])
	}

	for i, c := range bars {
		y := topMargin + rowHeight*i
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", barLeft-10, y+barHeight-3, c.name)

		x := float64(barLeft)
		for _, part := range []struct {
			class string
			n     int
		}{{"layer", c.layer}, {"others", c.others}, {"lost", c.gone}} {
			width := barWidth * float64(part.n) / float64(max(worst, 1))
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", part.class, x, y, width, barHeight)

			x += width
		}

		fmt.Fprintf(&b, "<text class=\"small\" x=\"%.1f\" y=\"%d\">%d</text>\n", x+6, y+barHeight-4, c.layer+c.others+c.gone)

		width := barWidth * c.requests / max(most, 1)
		fmt.Fprintf(&b, "<rect class=\"requests\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", rightPanel, y, width, barHeight)
		fmt.Fprintf(&b, "<text class=\"small\" x=\"%.1f\" y=\"%d\">%.2f</text>\n", rightPanel+width+6, y+barHeight-4, c.requests)
	}

	fmt.Fprintf(&b, "<text class=\"small\" x=\"%d\" y=\"%d\">%s, %s. Lower is better.</text>\n</svg>\n", 20, height-14, r.Command, r.Date)

	return b.String()
}
