package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
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
		fmt.Fprintf(&b, "%s %d %v %d %v %d", c.name, c.phase, c.isInsert, c.turns, c.held, c.pauses)

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
		writeRequest(&b, f.request)
	}

	b.WriteString("lost\n")

	for _, r := range w.lost {
		writeRequest(&b, r)
	}

	fmt.Fprintf(&b, "%d %d\n", w.faults, w.leaving)

	for _, key := range slices.Compact(strings.Split(w.keys, "")) {
		writeItem(&b, w.item(key))
	}

	return b.String()
}

func writeRequest(b *strings.Builder, r request) {
	b.WriteString(r.of)

	if r.single.Update != nil {
		b.WriteString(*r.single.Update.UpdateExpression)
	}

	for _, s := range r.statements {
		b.WriteString(*s.Statement)
	}

	b.WriteByte('\n')
}

func writeItem(b *strings.Builder, item protocol.Item) {
	for _, name := range []string{"st", "own", "fence", "att"} {
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(b, "%s %s ", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(b, "%s %s ", name, v.Value)
		}
	}

	b.WriteByte('\n')
}
