package audit

import (
	"fmt"
	"slices"
)

// flaws are what is wrong with the record after the change by itself. What was wrong before the change already is not its fault,
// and neither is a copy of it: a claim copies trace to ptrace.
func (p *pair) flaws() []Violation {
	earlier := flaws(p.before)

	return slices.DeleteFunc(flaws(p.after), func(v Violation) bool {
		return slices.ContainsFunc(earlier, func(e Violation) bool {
			isCopy := v.Attribute == attrPtrace && e.Attribute == attrTrace && p.after[attrPtrace].equal(p.before[attrTrace])

			return e.Rule == v.Rule && (e.Attribute == v.Attribute || isCopy)
		})
	})
}

func flaws(it item) []Violation {
	if it == nil {
		return nil
	}

	return slices.Concat(formFlaws(it), lackFlaws(it), fitFlaws(it))
}

func formFlaws(it item) []Violation {
	var all []Violation

	for _, name := range attributes {
		form, isKnown := forms[name]
		if !isKnown || !it.has(name) || form.fits(it[name]) {
			continue
		}

		rule := RuleForm
		if name == attrVersion {
			rule = RuleVersion
		}

		all = append(all, Violation{rule, name, fmt.Sprintf("%q must be %s, and is %s.", name, form.text, it[name].shown(name))})
	}

	return all
}

// always are the attributes of every record. A record of a worker from before took and tookat has neither.
var always = []string{attrVersion, attrState, attrOwner, attrFence, attrLease, attrPrev, attrExp, attrAttempts, attrBorn}

// ofCompletions are the attributes that only a completed record has.
var ofCompletions = []string{attrDone, attrResult, attrTx, attrOutbox, attrEnds, attrDue, attrDueNS, attrParked}

// lackFlaws says which attributes are missing in a record of its state, and which it cannot have.
func lackFlaws(it item) []Violation {
	var all []Violation

	must := func(has bool, name, when string) {
		if it.has(name) != has {
			verb := map[bool]string{true: "has", false: "does not have"}[has]
			all = append(all, Violation{RuleState, name, fmt.Sprintf("%s %s %q, which is %s.", when, verb, name, it[name].shown(name))})
		}
	}

	for _, name := range always {
		must(true, name, "Every record")
	}

	if !it.is(completed) {
		for _, name := range ofCompletions {
			must(false, name, "A record that is not completed")
		}
	} else {
		must(true, attrDone, "A completed record")
		must(false, attrErr, "A completed record")
	}

	if it.is(failed) {
		must(true, attrErr, "A failed record")
	}

	must(it.has(attrOutbox), attrDue, "A record with unsent messages, and no other,")
	must(it.has(attrOutbox), attrDueNS, "A record with unsent messages, and no other,")
	must(it.hasMessages(), attrEnds, "A record with unsent or parked messages, and no other,")

	if it.hasMessages() {
		must(true, attrTx, "A record with messages")
	}

	if it.has(attrPtrace) {
		must(true, attrTrace, "A record with ptrace")
	}

	return all
}

// fitFlaws says which attributes contradict each other.
func fitFlaws(it item) []Violation {
	var all []Violation

	demand := func(ok bool, name, text string) {
		if !ok {
			all = append(all, Violation{RuleState, name, fmt.Sprintf("%s %q is %s.", text, name, it[name].shown(name))})
		}
	}

	demand(it.hasMessages() == (it.number(attrExp) == far), attrExp,
		"exp is the end of the year 9999 while there are unsent or parked messages, and only then.")
	demand(!it.has(attrExp) || it.number(attrLease) < it.end()*1000, attrLease, "A lease ends before its record.")
	demand(!it.has(attrDue) || it.number(attrDue) == it.number(attrDone), attrDue, "due is the time of the completion.")
	demand(!it.has(attrDueNS) || it.isDueNS(), attrDueNS, "due_ns is the namespace, # and one or two of 0 to f.")
	demand(len(it.messages()) == len(read(it[attrOutbox]))+len(read(it[attrParked])), attrParked,
		"A message is unsent or parked, and not both.")
	demand(!it.is(completed) || it.number(attrLease) > 0, attrLease, "A claim that is completed has a lease.")
	isHeld := it.is(inProgress) && it.number(attrLease) > 0
	demand(it.number(attrAttempts) > 0 || !it.is(completed) && !isHeld, attrAttempts,
		"A key that is held or completed has at least one attempt.")

	return all
}
