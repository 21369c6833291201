package audit

import "slices"

// What an operator does by idem or package operate. Each of these changes sets op.
var operations = []transition{
	{
		kind:    OperatorRelease,
		demands: inWork,
		sets:    map[string]expectation{attrLease: givenUp, attrOp: saying(whatRelease)},
		bounds:  operatorBounds,
	},
	{
		kind:    OperatorFail,
		demands: inWork,
		sets:    map[string]expectation{attrState: state(failed), attrExp: given, attrErr: given, attrOp: saying(whatFail)},
		bounds:  join(writtenBounds, operatorBounds),
	},
	{
		kind:    OperatorReopen,
		demands: []demand{thereIsOne, sameVersion, stateBefore(failed)},
		sets:    with(reopenSets, map[string]expectation{attrOp: saying(whatReopen)}),
		bounds:  join(writtenBounds, operatorBounds),
	},
	{
		kind:    Stamp,
		demands: []demand{thereIsOne, sameVersionOrForgotten},
		sets:    map[string]expectation{attrOp: saying(whatSend, whatForget)},
		bounds:  operatorBounds,
	},
}

// sameVersionOrForgotten: an operator may forget an item that no worker can read.
var sameVersionOrForgotten = demand{
	attribute: attrVersion,
	met: func(p *pair) bool {
		o, _ := p.operation()

		return o.what == whatForget || sameVersion.met(p)
	},
	text: "An item of another format version is only ever forgotten.",
}

// givenUp is the lease after an operator's release: -1, so that the next claim is a takeover, but 0 under NoTakeover, where -1
// would let the next claim end the key.
func givenUp(p *pair, name string) string {
	if p.before.has(attrNT) {
		return constant(0)(p, name)
	}

	return constant(-1)(p, name)
}

// saying expects a new op that says one of these words.
func saying(words ...string) expectation {
	return func(p *pair, _ string) string {
		if o, isNew := p.operation(); isNew && slices.Contains(words, o.what) {
			return ""
		}

		return "a new one that says what is done"
	}
}

// operatorBounds: the clock of an operator is in op.
func operatorBounds(p *pair) []bound {
	o, isNew := p.operation()
	if !isNew {
		return nil
	}

	return []bound{
		{rule: RuleAhead, attribute: attrOp, at: o.from, what: "at in op"},
		{rule: RuleTooLate, attribute: attrOp, isUpper: true, at: o.to, what: "at in op"},
	}
}

// deleted judges the deletion of a record by somebody else than Time to Live: an operator says so first.
func (p *pair) deleted() []Violation {
	if o, isOne := readOperation(p.before[attrOp]); isOne && o.what == whatForget {
		return nil
	}

	return []Violation{{RuleDeletion, "", "The record was deleted, and not by Time to Live. " +
		"An operator who forgets a record first writes so into op, and op does not say it."}}
}
