package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// transitions are all writes. If two are equally near to a change, the first is meant.
var transitions = slices.Concat(claims, settlements, endings, anew, sendings, operations)

// A match is how near a change is to a transition. A change that is legal has a match without breaches and without violations of
// the time.
type match struct {
	*transition

	breaches []breach
	timed    []Violation
	lateness time.Duration
	weight   int
}

// nearest returns the transition that the change is, or if it is none, the one with the fewest broken rules. Most changes are one
// of the few whose states fit, so the others are looked at only if none of these is it.
func (p *pair) nearest() match {
	best := p.nearestOf((*transition).decided)
	if best.transition == nil || best.weight > 0 {
		best = p.nearestOf(func(*transition, *pair) bool { return true })
	}

	return best
}

func (p *pair) nearestOf(isAsked func(*transition, *pair) bool) match {
	var best match

	for i := range transitions {
		m := match{transition: &transitions[i]}
		if !isAsked(m.transition, p) {
			continue
		}

		m.breaches = m.find(p)
		m.weight = weigh(m.breaches)

		if best.transition != nil && m.weight > best.weight {
			continue
		}

		m.timed, m.lateness = p.times(m.transition)
		m.weight += len(m.timed)

		if best.transition == nil || m.weight < best.weight || m.weight == 0 && !best.isLikely(p) && m.isLikely(p) {
			best = m
		}
	}

	return best
}

// decided reports whether the deciding demands of the transition are met, and its state is that of the record after.
func (t *transition) decided(p *pair) bool {
	for _, d := range t.demands {
		if d.decides && !d.met(p) {
			return false
		}
	}

	if set, isSet := t.sets[attrState]; isSet {
		return set(p, attrState) == ""
	}

	return p.before.same(p.after, attrState)
}

func (t *transition) isLikely(p *pair) bool { return t.likely == nil || t.likely(p) }

// weigh counts breaches. Those that distinguish transitions count more: demands that decide, the state, and what the lease
// becomes.
func weigh(all []breach) int {
	sum := len(all)

	for _, b := range all {
		switch {
		case b.decides, b.attribute == attrState:
			sum += 2
		case b.attribute == attrLease && b.rule == RuleSets:
			sum++
		}
	}

	return sum
}

func (m *match) violations(p *pair) []Violation {
	slices.SortStableFunc(m.breaches, func(a, b breach) int { return strings.Compare(a.attribute, b.attribute) })

	violations := make([]Violation, 0, len(m.breaches))
	for _, b := range m.breaches {
		violations = append(violations, b.violation(m.name(p), p))
	}

	return violations
}

// A breach is what keeps a change from being a transition: a demand that the record before does not meet, or an expectation that
// the record after does not meet. Most are of transitions that are not meant, so its sentence is made later.
type breach struct {
	rule      Rule
	attribute string
	text      string // of a demand: a sentence; else the end of the sentence "it must be"
	decides   bool
}

func (t *transition) find(p *pair) []breach {
	var all []breach

	for _, d := range t.demands {
		if !d.met(p) {
			all = append(all, breach{RuleCondition, d.attribute, d.text, d.decides})
		}
	}

	expect := func(name string, rule Rule, expected expectation) {
		if name == attrPartition || name == attrSort {
			return // the key of the item is judged by itself
		}

		if want := expected(p, name); want != "" {
			all = append(all, breach{rule, name, want, false})
		}
	}

	for name, set := range t.sets {
		expect(name, RuleSets, set)
	}

	for name := range p.after {
		if _, isSet := t.sets[name]; t.isAnew && !isSet {
			expect(name, RuleStays, gone)
		}
	}

	for _, name := range p.changed {
		if _, isSet := t.sets[name]; !t.isAnew && !isSet {
			expect(name, RuleStays, stays)
		}
	}

	return all
}

func (b breach) violation(kind Kind, p *pair) Violation {
	was := p.before[b.attribute].shown(b.attribute)

	switch {
	case b.rule != RuleCondition:
		b.text = fmt.Sprintf("In a change of the kind %q, %q must be %s; it was %s and is %s.",
			kind, strings.TrimPrefix(b.attribute, other), b.text, was, p.after[b.attribute].shown(b.attribute))
	case b.attribute == "":
		b.text = fmt.Sprintf("In a change of the kind %q: %s", kind, b.text)
	default:
		b.text = fmt.Sprintf("In a change of the kind %q: %s %q was %s.", kind, b.text, b.attribute, was)
	}

	return Violation{b.rule, b.attribute, b.text}
}
