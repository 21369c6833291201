package audit

import "time"

// What a sender makes of the messages of a completed record. Each sender writes what is left by its own sendings, so a slower one
// may put back what a faster one has removed. So the messages are not compared with those before the change, but for what one
// number stands for; [Checker] compares them with those that the completion stored. One write removes, parks and sends parked
// messages, under two conditions.
var sendings = []transition{{
	kind:    Removal,
	named:   sendingKind,
	demands: []demand{thereIsOne, sameVersion, stateBefore(completed), hasTx, hasMessages, sameMessages},
	sets: map[string]expectation{
		attrOutbox: open,
		attrDue:    open,
		attrDueNS:  dueKept,
		attrParked: open,
		attrEnds:   endsKept,
		attrExp:    expOfSending,
	},
	bounds: sendingBounds,
}}

var hasTx = demand{
	attribute: attrTx,
	met:       func(p *pair) bool { return p.before.has(attrTx) },
	text:      "The record must have the tx that was read.",
}

var hasMessages = demand{
	attribute: attrOutbox,
	met:       func(p *pair) bool { return p.before.hasMessages() },
	text:      "There must be unsent or parked messages.",
}

var sameMessages = demand{
	attribute: attrOutbox,
	met: func(p *pair) bool {
		before := p.before.messages()
		for number, content := range p.after.messages() {
			if earlier, isThere := before[number]; isThere && earlier != content {
				return false
			}
		}

		return true
	},
	text: "The messages that are left must say what they said.",
}

// sendingKind: parking if a message is parked that was not, sending of parked if one is no longer, or only parked ones were
// there. Otherwise something was removed from outbox, or put back.
func sendingKind(p *pair) Kind {
	before, after := read(p.before[attrParked]), read(p.after[attrParked])

	switch {
	case !p.before.has(attrOutbox) && p.before.has(attrParked):
		return SendingOfParked
	case !contains(before, after):
		return Parking
	case !contains(after, before):
		return SendingOfParked
	default:
		return Removal
	}
}

// contains reports whether all has every number of some.
func contains(all, some messages) bool {
	for number := range some {
		if _, isThere := all[number]; !isThere {
			return false
		}
	}

	return true
}

// dueKept: the shard of a key is always the same.
func dueKept(p *pair, name string) string {
	if p.before.has(name) && p.after.has(name) {
		return stays(p, name)
	}

	return ""
}

func endsKept(p *pair, name string) string {
	if p.after.hasMessages() {
		return stays(p, name)
	}

	return gone(p, name)
}

// expOfSending: it stays while messages are left. If nothing is left, it is the later of ends and tomorrow, which the clock of
// the sender decides: sendingBounds compares it.
func expOfSending(p *pair, name string) string {
	if p.after.hasMessages() {
		return stays(p, name)
	}

	if p.after.number(name) >= p.before.number(attrEnds) {
		return ""
	}

	return "the later of ends and tomorrow"
}

// sendingBounds: tomorrow is the clock of the sender and a day, rounded up.
func sendingBounds(p *pair) []bound {
	if p.after.hasMessages() {
		return nil
	}

	const second = int64(time.Second / time.Millisecond)

	at := p.after.number(attrExp)*second - day.Milliseconds()
	all := []bound{{rule: RuleTooLate, attribute: attrExp, isUpper: true, at: at + second, what: "exp less a day"}}

	if p.after.number(attrExp) > p.before.number(attrEnds) {
		all = append(all, bound{rule: RuleAhead, attribute: attrExp, at: at - second, what: "exp less a day"})
	}

	return all
}
