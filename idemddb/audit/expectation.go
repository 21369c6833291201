package audit

import (
	"fmt"
	"maps"
	"strconv"
)

// with returns what several writes have in common, and what one of them sets beside it or otherwise.
func with(common, more map[string]expectation) map[string]expectation {
	all := maps.Clone(common)
	maps.Copy(all, more)

	return all
}

func stays(p *pair, name string) string {
	if p.before.same(p.after, name) {
		return ""
	}

	return "as it was, because this write does not name it"
}

func gone(p *pair, name string) string {
	if p.after.has(name) {
		return "absent"
	}

	return ""
}

// given takes any value; the form of it is judged with the record.
func given(p *pair, name string) string {
	if p.after.has(name) {
		return ""
	}

	return "set"
}

// open takes any value and none.
func open(*pair, string) string { return "" }

// givenOrStays is for what a write sets where it has something to set.
func givenOrStays(p *pair, name string) string {
	if stays(p, name) == "" {
		return ""
	}

	return given(p, name)
}

func state(want string) expectation {
	return func(p *pair, _ string) string {
		if p.after.is(want) {
			return ""
		}

		return want
	}
}

// number expects a number that depends on the record. The text says what it is.
func number(text string, want func(*pair) int64) expectation {
	return func(p *pair, name string) string {
		n := want(p)
		if p.after[name].isInt && p.after.number(name) == n {
			return ""
		}

		if text == "" {
			return strconv.FormatInt(n, 10)
		}

		return fmt.Sprintf("%s, %d", text, n)
	}
}

func constant(n int64) expectation { return number("", func(*pair) int64 { return n }) }

// plus expects the attribute as before, or 0 where it was absent, and more. What was no whole number is none afterwards, and that
// is not the fault of this write.
func plus(name string, more int64) expectation {
	sum := number(fmt.Sprintf("%+d to what it was", more), func(p *pair) int64 { return p.before.number(name) + more })

	return func(p *pair, attribute string) string {
		if p.before[name].kind == "N" && !p.before[name].isInt && p.after[name].kind == "N" {
			return ""
		}

		return sum(p, attribute)
	}
}

// unlessOld also takes what a worker of a version before the attribute leaves.
func unlessOld(expect expectation) expectation {
	return func(p *pair, name string) string {
		if p.OldWorkers && stays(p, name) == "" {
			return ""
		}

		return expect(p, name)
	}
}

// tookAt is what each write of a holder makes of tookat: prev, where that is above 0.
var tookAt = unlessOld(func(p *pair, name string) string {
	if p.before.number(attrPrev) <= 0 {
		return stays(p, name)
	}

	return number("a copy of prev", func(p *pair) int64 { return p.before.number(attrPrev) })(p, name)
})

func stateBefore(want string) demand {
	return demand{
		decides:   true,
		attribute: attrState,
		met:       func(p *pair) bool { return p.before.is(want) },
		text:      "The record must be " + want + ".",
	}
}

// held is the condition lease > 0. It does not name the time: a holder may settle and extend after its lease has ended.
var held = demand{
	attribute: attrLease,
	met:       func(p *pair) bool { return p.before.number(attrLease) > 0 },
	text:      "The claim must not have been released: its lease must be above 0.",
}

// sameVersion is the condition v = :v. An item of another version is never written, not even when it is past its end.
var sameVersion = demand{
	attribute: attrVersion,
	met:       func(p *pair) bool { return p.before[attrVersion].isInt && p.before.number(attrVersion) == 1 },
	text:      "An item of another format version is never written.",
}

var thereIsNone = demand{
	met:     func(p *pair) bool { return p.before == nil },
	decides: true,
	text:    "There must be no item.",
}

var thereIsOne = demand{
	met:     func(p *pair) bool { return p.before != nil },
	decides: true,
	text:    "No write creates an item except the claim: there must be one.",
}
