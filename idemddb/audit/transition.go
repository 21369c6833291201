package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pair is the record before and after a change.
type pair struct {
	*settings

	before, after item
	changed       []string // the attributes that differ
	at            time.Time
}

// An expectation is what a write may make of an attribute. It returns "" if that is what the change has, else what was expected, as the end
// of the sentence "it must be".
type expectation func(p *pair, name string) string

// A demand is what a write demands of the record before.
type demand struct {
	attribute string
	met       func(*pair) bool
	text      string // a sentence
}

// A transition is one write of the page: what it demands of the record before, and what it sets. What it does not name stays.
type transition struct {
	kind    Kind
	demands []demand
	sets    map[string]expectation
	isAnew  bool                // the write puts a whole item: what it does not name is gone
	named   func(*pair) Kind    // the kind, where one write has several
	likely  func(*pair) bool    // decides between two that fit; nil: yes
	bounds  func(*pair) []bound // what the change says about the clock of the worker that wrote it
}

// transitions are all writes. If two are equally near to a change, the first is meant.
var transitions = slices.Concat(claims, settlements, endings, anew, sendings, operations)

func (t *transition) name(p *pair) Kind {
	if t.named != nil {
		return t.named(p)
	}

	return t.kind
}

// nearest returns the transition that the change is, or if it is none, the one with the fewest broken rules, and these.
func (p *pair) nearest() (*transition, []Violation) {
	var (
		best   *transition
		broken []breach
		least  int
	)

	for i := range transitions {
		t := &transitions[i]
		breaches := t.breaches(p)
		weight := weigh(breaches)

		isBetter := best == nil || weight < least
		isLikelier := weight == 0 && least == 0 && best != nil && !best.isLikely(p) && t.isLikely(p)

		if isBetter || isLikelier {
			best, broken, least = t, breaches, weight
		}
	}

	violations := make([]Violation, 0, len(broken))
	for _, b := range broken {
		violations = append(violations, b.violation(best.name(p), p))
	}

	return best, violations
}

func (t *transition) isLikely(p *pair) bool { return t.likely == nil || t.likely(p) }

// weigh counts breaches. A wrong state counts more, so that the nearest transition is one between the right states where there is one.
func weigh(all []breach) int {
	const state = 3

	sum := 0

	for _, b := range all {
		sum++

		if b.attribute == attrState || b.attribute == "" {
			sum += state - 1
		}
	}

	return sum
}

// A breach is what keeps a change from being a transition: a demand that the record before does not meet, or an expectation that the record
// after does not meet. Most are of transitions that are not meant, so its sentence is made later.
type breach struct {
	rule      Rule
	attribute string
	text      string // of a demand: a sentence; else the end of the sentence "it must be"
}

func (t *transition) breaches(p *pair) []breach {
	var all []breach

	for _, d := range t.demands {
		if !d.met(p) {
			all = append(all, breach{RuleCondition, d.attribute, d.text})
		}
	}

	for _, name := range p.names(t) {
		expect, rule := t.expectation(name)

		if want := expect(p, name); want != "" {
			all = append(all, breach{rule, name, want})
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

// names are the attributes that the change or the transition is about.
func (p *pair) names(t *transition) []string {
	var names []string

	for name := range t.sets {
		names = append(names, name)
	}

	if t.isAnew {
		for name := range p.after {
			names = append(names, name)
		}
	} else {
		names = append(names, p.changed...)
	}

	names = slices.DeleteFunc(names, func(name string) bool { return name == attrPartition || name == attrSort })
	slices.Sort(names)

	return slices.Compact(names)
}

func (t *transition) expectation(name string) (expectation, Rule) {
	switch set, isSet := t.sets[name]; {
	case isSet:
		return set, RuleSets
	case t.isAnew:
		return gone, RuleStays
	default:
		return stays, RuleStays
	}
}
