package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ends matches what the planner's text says of the ends of writes, which are all far away.
var ends = regexp.MustCompile(` ends in [^,]*,`)

// state returns all that what follows depends on, as text. Two states with the same text are one.
func (w *world) state() string {
	var b strings.Builder

	text := ends.ReplaceAllString(w.planner.Text(w.now), "")

	for i, c := range w.writers {
		if c.write != nil {
			text = strings.ReplaceAll(text, fmt.Sprintf("(#%d of", c.number), fmt.Sprintf("(writer %d of", i+1))
		}
	}

	b.WriteString(text)

	for _, c := range w.writers {
		fmt.Fprintf(&b, "%s %d %v %d %v %d %d", c.name, c.phase, c.isInsert, c.turns, c.held, c.pauses, c.added)

		if c.write != nil {
			fmt.Fprintf(&b, " %v", c.since.Sub(w.now))
		}

		b.WriteByte('\n')
	}

	if w.isGroup { // its writes keep the order in which they came, also after their pauses
		inOrder := slices.SortedFunc(slices.Values(w.writers), func(a, b *writer) int { return a.number - b.number })
		for _, c := range inOrder {
			b.WriteString(c.name)
		}
	}

	for _, f := range w.flights {
		b.WriteString(f.text)
	}

	b.WriteString("lost\n")

	for _, r := range w.lost {
		b.WriteString(r.text)
	}

	for _, item := range slices.Sorted(maps.Keys(w.hot)) {
		fmt.Fprintf(&b, "%s %v", item, max(0, w.hot[item].Sub(w.now)))
	}

	fmt.Fprintf(&b, "%v", max(0, w.opens.Sub(w.now)))
	fmt.Fprintf(&b, "%d %d %d %v\n%s", w.faults, w.leaving, w.sleeping, w.isLate, w.contents.text)

	return b.String()
}
