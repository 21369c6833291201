package audit

import "time"

// pair is the record before and after a change.
type pair struct {
	*settings

	before, after item
	changed       []string // the attributes that differ
	at            time.Time
}

// An expectation is what a write may make of an attribute. It returns "" if that is what the change has, else what was expected,
// as the end of the sentence "it must be".
type expectation func(p *pair, name string) string

// A demand is what a write demands of the record before.
type demand struct {
	attribute string
	met       func(*pair) bool
	text      string // a sentence
	decides   bool   // it distinguishes this transition from others
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

// A bound is what a change says about the clock of the worker that wrote it, when it wrote it: not before at, or not after it.
// What the worker wrote is compared with the time of the change. So is what the conditions compared the clock with, because the
// clock itself is not in the record where a lease is all that a claim writes.
type bound struct {
	rule        Rule // that is broken if the change is not within the tolerance
	attribute   string
	isUpper     bool
	isCondition bool   // the condition of the write compared this with the clock
	at          int64  // in epoch milliseconds
	what        string // where it comes from
}

func (t *transition) name(p *pair) Kind {
	if t.named != nil {
		return t.named(p)
	}

	return t.kind
}
