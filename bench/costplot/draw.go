package main

import (
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/bench/svg"
)

// The price of a million write units, on-demand in us-east-1, as on the page about cost.
const dollarsForAMillion = 0.625

// halfUp rounds half a cent up, as people do.
const halfUp = 1e-9

const (
	requestsLeft  = 290
	chargedLeft   = 560
	barWidth      = 190
	barHeight     = 12
	rowHeight     = 38
	topMargin     = 68
	belowTheRows  = 36
	legendSpacing = 90
)

// draw returns the picture.
func draw(rows []row, measured string) string {
	p := svg.Open(topMargin+rowHeight*len(rows)+belowTheRows, "Requests and write units of a message, by hand and with the library",
		svg.Color{Class: "hand", Light: "#8c959f", Dark: "#6e7681"}, svg.Color{Class: "library", Light: "#0969da", Dark: "#4493f8"})
	p.Text(requestsLeft, 24, "requests to DynamoDB a message")
	p.Text(chargedLeft, 24, "write units a message; dollars for a million")
	p.Legend("hand", requestsLeft, 38, "by hand")
	p.Legend("library", requestsLeft+legendSpacing, 38, "this library")

	var mostRequests, mostCharged float64
	for _, r := range rows {
		mostRequests = max(mostRequests, r.requests.byHand, r.requests.library)
		mostCharged = max(mostCharged, r.charged.byHand, r.charged.library)
	}

	requests := half{requestsLeft, mostRequests, decimals}
	charged := half{chargedLeft, mostCharged, func(units float64) string {
		return fmt.Sprintf("%s, $%.2f", decimals(units), units*dollarsForAMillion+halfUp)
	}}

	for i, r := range rows {
		y := topMargin + rowHeight*i
		p.Before(requestsLeft-10, y+barHeight+4, r.label)
		requests.pair(p, y, r.requests)
		charged.pair(p, y, r.charged)
	}

	return p.Close("make bench-check, " + measured + "; batches of ten where nothing else is said. Lower is better.")
}

// half is the left or the right half of the picture.
type half struct {
	left float64              // where its bars begin
	most float64              // the value of the longest bar
	text func(float64) string // what stands behind a bar
}

// pair draws the two bars of a row.
func (h half) pair(p *svg.Picture, y int, f figures) {
	for i, part := range []struct {
		class string
		value float64
	}{{"hand", f.byHand}, {"library", f.library}} {
		width, top := barWidth*part.value/h.most, y+i*(barHeight+1)
		p.Bar(part.class, h.left, top, width, barHeight)
		p.Small(h.left+width+6, top+barHeight-2, h.text(part.value))
	}
}

// decimals writes a number with at most two decimals, and without needless zeros.
func decimals(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
