package audit

// A claim, a commit and a rejection of a record past its end put the whole item, as if the key were new.
var anew = []transition{
	{
		kind:    AnewByClaim,
		demands: []demand{thereIsOne, sameVersion},
		sets:    anewSets,
		isAnew:  true,
		bounds:  join(writtenBounds, leaseBounds, anewBounds),
	},
	{
		kind:    AnewByCommit,
		demands: []demand{thereIsOne, sameVersion},
		sets: with(anewSets, map[string]expectation{
			attrState: state(completed), attrDone: given, attrResult: open, attrLease: commitSets[attrLease], attrTx: given,
			attrOutbox: open, attrEnds: open, attrDue: open, attrDueNS: open,
		}),
		isAnew: true,
		bounds: join(writtenBounds, anewBounds),
	},
	{
		kind:    AnewByRejection,
		demands: []demand{thereIsOne, sameVersion},
		sets:    with(anewSets, map[string]expectation{attrLease: constant(0), attrErr: given}),
		isAnew:  true,
		bounds:  join(writtenBounds, anewBounds),
	},
}

var anewSets = map[string]expectation{
	attrVersion:  constant(1),
	attrState:    state(inProgress),
	attrOwner:    newToken,
	attrLease:    aLease,
	attrExp:      given,
	attrFence:    number("one above the old one or above born, whichever is later", highest),
	attrPrev:     constant(0),
	attrTook:     newTook,
	attrAttempts: constant(1),
	attrBorn:     given,
	attrPrint:    open,
	attrNT:       open,
	attrTrace:    open,
	attrPtrace:   bothTraces,
}

func highest(p *pair) int64 { return max(p.before.number(attrFence), p.after.number(attrBorn)) + 1 }

// newTook is 0. A worker of a version without took puts an item without it.
func newTook(p *pair, name string) string {
	if p.OldWorkers && !p.after.has(name) {
		return ""
	}

	return constant(0)(p, name)
}

// bothTraces is what the page says of a record made anew: it has trace and ptrace, which is empty, or neither.
func bothTraces(p *pair, name string) string {
	switch hasTrace, hasPtrace := p.after.has(attrTrace), p.after.has(name); {
	case hasTrace && (!hasPtrace || p.after.str(name) != ""):
		return "empty, beside trace"
	case !hasTrace && hasPtrace:
		return "absent, without trace"
	default:
		return ""
	}
}
