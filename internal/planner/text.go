package planner

import (
	"fmt"
	"strings"
	"time"
)

// Text returns the whole state as text, with all times counted from now.
func (p *Planner) Text(now time.Time) string {
	var b strings.Builder

	fmt.Fprintf(&b, "T %v and %v, %d times read first", p.times[statements].t(), p.times[transactions].t(), p.reads)

	for lane, d := range p.denied {
		if !d.until.IsZero() {
			fmt.Fprintf(&b, ", %s denied for %v, probing %v", [lanes]string{"shared requests", "reads"}[lane], d.until.Sub(now), d.isProbing)
		}
	}

	p.gate.write(&b, now)

	b.WriteByte('\n')

	for _, f := range p.flights {
		f.write(&b, now)
	}

	for lane := range lanes {
		for _, g := range p.groups[lane] {
			fmt.Fprintf(&b, "group, open %d, members %d, expected %d:", g.open, g.Members, g.Expected)
			writeAll(&b, now, g.waiting[lane])
		}
	}

	if len(p.alone) > 0 {
		b.WriteString("alone:")
		writeAll(&b, now, p.alone)
	}

	if len(p.paused) > 0 {
		b.WriteString("paused:")
		writeAll(&b, now, p.paused)
	}

	return b.String()
}

// write writes a flight under way in a line.
func (f *Flight) write(b *strings.Builder, now time.Time) {
	fmt.Fprintf(b, "flight for %v, counted %v, probe %v, repeated %d times", now.Sub(f.Born), f.isCounted, f.isProbe, f.repeats)

	if !f.due.IsZero() {
		fmt.Fprintf(b, ", sent once more in %v", f.due.Sub(now))
	}

	b.WriteByte(':')

	for _, w := range f.Writes {
		if w.flight == f {
			fmt.Fprintf(b, " %v", w.text(now))
		} else {
			fmt.Fprintf(b, " (#%d of %s, left)", w.number, w.Record)
		}
	}

	b.WriteByte('\n')
}

func (g *gate) write(b *strings.Builder, now time.Time) {
	if len(g.until) == 0 {
		return
	}

	fmt.Fprintf(b, "\ngate opens in %v, hot items in a flight %d, hot:", g.opens.Sub(now), g.most)

	for _, item := range g.order {
		fmt.Fprintf(b, " %s for %v", item, g.until[item].Sub(now))
	}
}

func writeAll(b *strings.Builder, now time.Time, writes []*Write) {
	for _, w := range writes {
		b.WriteByte(' ')
		b.WriteString(w.text(now))
	}

	b.WriteByte('\n')
}

func (w *Write) text(now time.Time) string {
	since := now.Sub(w.since)
	if w.state == paused {
		since = now.Sub(w.due)
	}

	return fmt.Sprintf("(#%d of %s, %d tries, %d of them beside answered ones, %v, next pause %v, ends in %v, alone %v, seen %v)",
		w.number, w.Record, w.tries, w.passedOver, since, w.pause, w.End.Sub(now), w.IsAlone, w.isSeen)
}
