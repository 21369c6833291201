package audit

import (
	"fmt"
	"slices"
	"time"
)

func join(parts ...func(*pair) []bound) func(*pair) []bound {
	return func(p *pair) []bound {
		var all []bound
		for _, part := range parts {
			all = append(all, part(p)...)
		}

		return all
	}
}

// writtenBounds are the times that the change wrote. Every end of a record is later than the clock of its writer.
func writtenBounds(p *pair) []bound {
	var all []bound

	for _, name := range []string{attrBorn, attrDone} {
		if at := p.after.number(name); p.after.has(name) && !p.before.same(p.after, name) {
			all = append(all,
				bound{rule: RuleAhead, attribute: name, at: at, what: name},
				bound{rule: RuleTooLate, attribute: name, isUpper: true, at: at, what: name})
		}
	}

	if p.after.has(attrExp) && (p.before == nil || p.before.end() != p.after.end()) {
		all = append(all, p.endBounds()...)
	}

	return all
}

// endBounds are those of an end that the write has set: the clock and the retention, rounded up to a second.
func (p *pair) endBounds() []bound {
	const second = 1000

	end := p.after.end()*second - p.Retention.Milliseconds()
	all := []bound{{rule: RuleTooLate, attribute: attrExp, isUpper: true, at: end, what: "the end of the record"}}

	if p.Retention > 0 {
		all[0].what = "the end of the record less Retention"
		all = append(all, bound{rule: RuleAhead, attribute: attrExp, at: end - second, what: all[0].what})
	}

	return all
}

// leaseBounds are those of a lease that begins with the write. It ends at the deadline of the invocation if that is sooner, so
// only the earliest time at which it can have begun is known.
func leaseBounds(p *pair) []bound {
	lease := p.after.number(attrLease)
	if lease <= 0 {
		return nil // what is wrong with it stands elsewhere
	}

	all := []bound{{rule: RuleTooLate, attribute: attrLease, isUpper: true, at: lease, what: "the end of the lease"}}

	if p.Lease > 0 {
		all = append(all, bound{rule: RuleAhead, attribute: attrLease, at: lease - p.Lease.Milliseconds(), what: "the start of the lease"})
	}

	return all
}

// overBounds is lease < :dead.
func overBounds(p *pair) []bound {
	lease := p.before.number(attrLease)
	if lease <= 0 {
		return nil
	}

	return []bound{{
		rule: RuleLease, attribute: attrLease, isCondition: true, at: lease + p.ClockSkew.Milliseconds() + 1,
		what: "the end of the lease that was found, and ClockSkew",
	}}
}

// claimBounds are the conditions of a claim that finds a record: its lease is over, and it is not past its end.
func claimBounds(p *pair) []bound {
	if p.before == nil {
		return nil
	}

	return append(overBounds(p), bound{
		rule: RulePastEnd, attribute: attrExp, isUpper: true, isCondition: true, at: p.before.number(attrExp)*1000 - 1,
		what: "the end of the record that was found",
	})
}

// anewBounds are the conditions under which a record is made anew: it is past its end and, in progress, its lease is over.
func anewBounds(p *pair) []bound {
	all := []bound{{
		rule: RuleEnd, attribute: attrExp, isCondition: true, at: p.before.number(attrExp) * 1000, what: "the end of the record that was found",
	}}

	if p.before.is(inProgress) {
		all = append(all, overBounds(p)...)
	}

	return all
}

func (p *pair) isTimed() bool { return !p.Untimed && !p.at.IsZero() }

// times judges the clock of the worker: by what the change says about it in several places, and by the time of the change. A
// request may arrive long after it was made, so a clock that is behind makes the change late. A clock that is ahead is never
// explained by that.
func (p *pair) times(t *transition) (broken []Violation, lateness time.Duration) {
	if t.bounds == nil {
		return nil, 0
	}

	bounds := t.bounds(p)
	broken = contradictions(bounds)

	if !p.isTimed() {
		return broken, 0
	}

	now, tolerance, lifetime := p.at.UnixMilli(), p.tolerance().Milliseconds(), p.Lifetime.Milliseconds()

	for _, b := range bounds {
		switch {
		case !b.isUpper && b.at > now+tolerance:
			broken = append(broken, b.violation(fmt.Sprintf("was at least %v ahead of the time of the change", milliseconds(b.at-now))))
		case b.isUpper && b.at < now-tolerance-lifetime:
			broken = append(broken, b.violation(fmt.Sprintf("was at least %v behind the time of the change, and no request lives that long",
				milliseconds(now-b.at))))

			fallthrough
		case b.isUpper && b.at < now-tolerance:
			lateness = max(lateness, milliseconds(now-b.at))
		}
	}

	return once(broken), lateness
}

// contradictions are conditions that were false by what the same worker wrote about its clock.
func contradictions(bounds []bound) []Violation {
	var broken []Violation

	for _, low := range bounds {
		for _, high := range bounds {
			if low.isUpper || !high.isUpper || low.at <= high.at || !low.isCondition && !high.isCondition {
				continue
			}

			condition, written := low, high
			if !low.isCondition {
				condition, written = high, low
			}

			broken = append(broken, condition.violation(fmt.Sprintf("does not agree with the clock by %s, %d", written.what, written.at)))
		}
	}

	return broken
}

func (b bound) violation(how string) Violation {
	return Violation{b.rule, b.attribute, fmt.Sprintf("The clock of the worker, by %s, %d, %s.", b.what, b.at, how)}
}

// once keeps the first violation of each rule: the others follow from the same clock.
func once(all []Violation) []Violation {
	var kept []Violation

	for _, v := range all {
		if !slices.ContainsFunc(kept, func(k Violation) bool { return k.Rule == v.Rule && k.Attribute == v.Attribute }) {
			kept = append(kept, v)
		}
	}

	return kept
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// expired judges a deletion by Time to Live, which DynamoDB decides by its own clock. A record with messages has no end for it.
func (p *pair) expired() []Violation {
	switch end := p.before.number(attrExp); {
	case end == far:
		return []Violation{{RuleTimeToLive, attrExp, "Time to Live deleted a record with messages that are not sent, which has no end for it."}}
	case p.isTimed() && end > p.at.Add(p.Resolution).Unix():
		return []Violation{{RuleTimeToLive, attrExp, fmt.Sprintf(
			"Time to Live deleted the record %v before its end, %d.", time.Unix(end, 0).Sub(p.at).Round(time.Second), end)}}
	default:
		return nil
	}
}
