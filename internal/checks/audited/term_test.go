package audited_test

import (
	"slices"
	"strings"
)

const (
	and  = " AND "
	also = " + " // between terms that are dropped together
)

// without drops a term, with the AND before or behind it and its parameters.
func (r request) without(term string) request {
	for _, s := range conjuncts(r.condition, 0, len(r.condition)) {
		if r.condition[s.from:s.to] != term {
			continue
		}

		before, after := r.condition[:s.from], r.condition[s.to:]
		skipped, dropped := strings.Count(before, "?"), strings.Count(term, "?")

		switch {
		case strings.HasPrefix(after, and):
			after = after[len(and):]
		default:
			before = strings.TrimSuffix(before, and)
		}

		r.condition = before + after
		if r.parameters != nil {
			r.parameters = slices.Delete(slices.Clone(r.parameters), skipped, skipped+dropped)
		}

		return r
	}

	return r
}

// span is a part of a condition.
type span struct{ from, to int }

// conjuncts returns the terms that an AND binds, however deep. Those of an OR are not among them: without one, the write is
// refused more often, and the specification judges what is written.
func conjuncts(text string, from, to int) []span {
	if end := strings.Index(text[from:to], " RETURNING "); end >= 0 {
		to = from + end
	}

	if parts := split(text, from, to, " OR "); len(parts) > 1 {
		var all []span
		for _, p := range parts {
			if inner := inside(text, p); inner != p {
				all = append(all, conjuncts(text, inner.from, inner.to)...)
			}
		}

		return all
	}

	var all []span

	for _, p := range split(text, from, to, and) {
		inner := inside(text, p)

		switch {
		case inner != p && len(split(text, inner.from, inner.to, " OR ")) == 1:
			all = append(all, conjuncts(text, inner.from, inner.to)...)
		case text[p.from:p.to] != keyOfStatement:
			all = append(all, p)
		}
	}

	return all
}

// split cuts a part of a condition at an operator that stands outside of parentheses.
func split(text string, from, to int, operator string) []span {
	var all []span

	depth, begin := 0, from

	for i := from; i < to; i++ {
		switch {
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:to], operator):
			all = append(all, span{begin, i})
			begin = i + len(operator)
		}
	}

	return append(all, span{begin, to})
}

// inside returns what stands in the parentheses around a part, or the part.
func inside(text string, p span) span {
	part := text[p.from:p.to]
	if !strings.HasPrefix(part, "(") || !strings.HasSuffix(part, ")") {
		return p
	}

	inner := strings.TrimSpace(part[1 : len(part)-1])
	begin := p.from + strings.Index(part, inner)

	return span{begin, begin + len(inner)}
}
