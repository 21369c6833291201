package main

import (
	"fmt"
	"strconv"

	"github.com/idemddb/go-idemddb/bench/svg"
)

// The plot: for each consumer a bar of wrong payments, over all scenarios, and one of the requests that a payment takes while
// nothing fails.
const (
	barLeft    = 200
	barWidth   = 240
	barHeight  = 16
	rowHeight  = 34
	rightPanel = 560
	topMargin  = 64
)

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

	p := svg.Open(topMargin+rowHeight*len(bars)+40, "Wrong payments and requests of each consumer",
		svg.Color{Class: "layer", Light: "#cf222e", Dark: "#f85149"}, svg.Color{Class: "others", Light: "#eac54f", Dark: "#d29922"},
		svg.Color{Class: "lost", Light: "#6639ba", Dark: "#a371f7"}, svg.Color{Class: "requests", Light: "#0969da", Dark: "#4493f8"})
	p.Text(barLeft, 24, fmt.Sprintf("wrong, of %d payments in all scenarios", payments))
	p.Text(rightPanel, 24, "requests to DynamoDB for a payment, calm")

	x := barLeft
	for _, entry := range [][2]string{{"layer", "doubles, preventable"}, {"others", "other doubles"}, {"lost", "lost or stuck"}} {
		p.Legend(entry[0], x, 36, entry[1])

		x += 24 + 6*len(entry[1])
	}

	for i, c := range bars {
		y := topMargin + rowHeight*i
		p.Before(barLeft-10, y+barHeight-3, c.name)

		x := float64(barLeft)
		for _, part := range []struct {
			class string
			n     int
		}{{"layer", c.layer}, {"others", c.others}, {"lost", c.gone}} {
			width := barWidth * float64(part.n) / float64(max(worst, 1))
			p.Bar(part.class, x, y, width, barHeight)

			x += width
		}

		p.Small(x+6, y+barHeight-4, strconv.Itoa(c.layer+c.others+c.gone))

		width := barWidth * c.requests / max(most, 1)
		p.Bar("requests", rightPanel, y, width, barHeight)
		p.Small(rightPanel+width+6, y+barHeight-4, fmt.Sprintf("%.2f", c.requests))
	}

	return p.Close(r.Command + ", " + r.Date + ". Lower is better.")
}
