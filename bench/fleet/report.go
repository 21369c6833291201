package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/bench/svg"
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
	left, bottom = 80, 350
	decadeX      = 200 // of environments, from 10 on
	decadeY      = 75  // of messages a second, from 10 on
)

// draw returns the plot: a curve for each size of batch, and a dashed one with popular keys, on the table that is made for the
// load.
func draw(all []figures) string {
	p := svg.Open(bottom+50, "Messages a second over environments", // below the plot
		svg.Color{Class: "b1", Light: "#0969da", Dark: "#4493f8"}, svg.Color{Class: "b10", Light: "#1a7f37", Dark: "#3fb950"},
		svg.Color{Class: "b100", Light: "#bc4c00", Dark: "#db6d28"})
	p.Text(left, 24, "messages a second over environments; dashed: 20 % of the messages have popular keys")

	for i, name := range []string{"10", "100", "1,000", "10,000"} {
		p.Under(left+i*decadeX, bottom+20, name)
	}

	for i, name := range []string{"10", "100", "1,000", "10,000", "100,000"} {
		p.Level(left, left+3*decadeX, bottom-i*decadeY, name)
	}

	for _, batch := range []int{1, 10, 100} {
		class := fmt.Sprintf("b%d", batch)
		p.Curve(class+" dashed", points(all, batch, 0.2))

		if plain := points(all, batch, 0); len(plain) > 0 {
			p.Curve(class, plain)

			end := plain[len(plain)-1]
			p.Text(int(end.X)+6, int(end.Y)+4, fmt.Sprintf("batch of %d", batch))
		}
	}

	return p.Close("make fleet, in virtual time; docs/scale.md has the figures")
}

// points are the runs with new keys, or with popular ones, and batches of one size.
func points(all []figures, batch int, popular float64) (found []svg.Point) {
	for _, f := range all {
		if f.work == claimed && f.batch == batch && f.popular == popular && f.partitions == warm && f.rate > 0 {
			found = append(found, svg.Point{
				X: left + decadeX*(math.Log10(float64(f.environments))-1), Y: bottom - decadeY*(math.Log10(f.rate)-1),
			})
		}
	}

	return found
}
