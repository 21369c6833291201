package main

import (
	"fmt"
	"strings"
)

// The price of a million write units, on-demand in us-east-1, as on the page about cost.
const dollarsForAMillion = 0.625

// halfUp rounds half a cent up, as people do.
const halfUp = 1e-9

const (
	plotWidth     = 860
	requestsLeft  = 290
	chargedLeft   = 560
	barWidth      = 190
	barHeight     = 12
	rowHeight     = 38
	topMargin     = 68
	belowTheRows  = 36
	legendSpacing = 90
)

const plotStyle = `<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  .page { fill: #ffffff; }
  .hand { fill: #8c959f; }
  .library { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    .page { fill: #0d1117; }
    .hand { fill: #6e7681; }
    .library { fill: #4493f8; }
  }
</style>
`

// draw returns an SVG for light and dark pages.
func draw(rows []row, measured string) string {
	var b strings.Builder

	height := topMargin + rowHeight*len(rows) + belowTheRows

	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "+
		"aria-label=\"Requests and write units of a message, by hand and with the library\">\n", plotWidth, height)
	b.WriteString(plotStyle)
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", plotWidth, height)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"24\">requests to DynamoDB a message</text>\n", requestsLeft)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"24\">write units a message; dollars for a million</text>\n", chargedLeft)

	for i, entry := range [][2]string{{"hand", "by hand"}, {"library", "this library"}} {
		x := requestsLeft + i*legendSpacing
		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"38\" width=\"10\" height=\"10\"/><text class=\"small\" x=\"%d\" y=\"47\">%s</text>\n", entry[0], x, x+14, entry[1])
	}

	var mostRequests, mostCharged float64
	for _, r := range rows {
		mostRequests = max(mostRequests, r.requests.byHand, r.requests.library)
		mostCharged = max(mostCharged, r.charged.byHand, r.charged.library)
	}

	for i, r := range rows {
		y := topMargin + rowHeight*i
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", requestsLeft-10, y+barHeight+4, r.label)
		b.WriteString(pair(requestsLeft, y, r.requests, mostRequests, decimals))
		b.WriteString(pair(chargedLeft, y, r.charged, mostCharged, func(units float64) string {
			return fmt.Sprintf("%s, $%.2f", decimals(units), units*dollarsForAMillion+halfUp)
		}))
	}

	fmt.Fprintf(&b, "<text class=\"small\" x=\"20\" y=\"%d\">make bench-check, %s; batches of ten where nothing else is said. Lower is better.</text>\n</svg>\n", height-12, measured)

	return b.String()
}

// pair returns the two bars of a row in one half of the picture.
func pair(left, y int, f figures, most float64, text func(float64) string) string {
	var b strings.Builder

	for i, part := range []struct {
		class string
		value float64
	}{{"hand", f.byHand}, {"library", f.library}} {
		width, top := barWidth*part.value/most, y+i*(barHeight+1)
		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", part.class, left, top, width, barHeight)
		fmt.Fprintf(&b, "<text class=\"small\" x=\"%.1f\" y=\"%d\">%s</text>\n", float64(left)+width+6, top+barHeight-2, text(part.value))
	}

	return b.String()
}

// decimals writes a number with at most two decimals, and without needless zeros.
func decimals(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
