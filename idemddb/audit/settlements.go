package audit

// What the holder of a claim writes: extensions, and the writes that settle the claim.
var settlements = []transition{
	{
		kind:    Completion,
		demands: holding,
		sets:    completionSets,
		bounds:  writtenBounds,
	},
	{
		kind:    CompletionWithEffects,
		demands: holding,
		sets: with(completionSets, map[string]expectation{
			attrTx: given, attrOutbox: open, attrEnds: open, attrDue: open, attrDueNS: open,
		}),
		bounds: writtenBounds,
	},
	{
		kind:    Release,
		demands: inWork,
		sets:    map[string]expectation{attrLease: constant(0), attrErr: givenOrStays, attrTookAt: tookAt},
	},
	{
		kind:    Return,
		demands: inWork,
		sets:    map[string]expectation{attrLease: givenBack, attrAttempts: plus(attrAttempts, -1), attrTookAt: tookAt},
	},
	{
		kind:    Extension,
		demands: holding,
		sets:    map[string]expectation{attrLease: later, attrExp: notEarlier, attrTookAt: tookAt},
		bounds:  join(writtenBounds, leaseBounds),
	},
}

// endings are the two writes that end a key for good. A holder fails its key, at any time; another worker gives up the key of a
// holder that is gone. They differ in their conditions and, where prev is above 0, in tookat. Where that does not decide, the
// time does.
var endings = []transition{
	{
		kind:    GiveUp,
		demands: inWork,
		sets:    map[string]expectation{attrState: state(failed), attrExp: given, attrErr: given},
		likely:  (*pair).isOver,
		bounds:  join(writtenBounds, overBounds),
	},
	{
		kind:    Failure,
		demands: holding,
		sets:    map[string]expectation{attrState: state(failed), attrExp: given, attrErr: given, attrTookAt: tookAt},
		bounds:  writtenBounds,
	},
	{
		kind:    Reopen,
		demands: []demand{thereIsOne, sameVersion, stateBefore(failed)},
		sets:    reopenSets,
		bounds:  writtenBounds,
	},
}

// inWork is own = :mine AND fence = :fence AND st = :inprogress; own and fence are judged by what stays.
var inWork = []demand{thereIsOne, sameVersion, stateBefore(inProgress)}

var holding = append([]demand{held}, inWork...)

var completionSets = map[string]expectation{
	attrState:  state(completed),
	attrDone:   given,
	attrExp:    given,
	attrResult: open,
	attrErr:    gone,
	attrTookAt: tookAt,
}

var reopenSets = map[string]expectation{
	attrState:    state(inProgress),
	attrExp:      given,
	attrLease:    constant(0),
	attrAttempts: constant(0),
	attrFence:    plus(attrFence, 1),
	attrTook:     unlessOld(plus(attrTook, -1)),
}

func later(p *pair, name string) string {
	if p.after.number(name) > p.before.number(name) {
		return ""
	}

	return "later than before"
}

// notEarlier is for exp, which has whole seconds: a lease that grows by less leaves it.
func notEarlier(p *pair, name string) string {
	if p.after.number(name) >= p.before.number(name) {
		return ""
	}

	return "as late as before, or later"
}

// givenBack is the lease of a claim whose work had not begun: -1 after a takeover, so that the next claim is one again.
func givenBack(p *pair, name string) string {
	if p.before.number(attrPrev) == 0 {
		return constant(0)(p, name)
	}

	return constant(-1)(p, name)
}

// isOver reports whether the lease before was over when the change was made. Where the time is known too badly to decide, nt
// does: without a limit of attempts, only a key that was claimed with NoTakeover is given up.
func (p *pair) isOver() bool {
	lease := p.before.number(attrLease)

	switch now := p.at.UnixMilli(); {
	case lease <= 0, !p.at.IsZero() && lease+p.ClockSkew.Milliseconds() < now:
		return true
	case !p.at.IsZero() && lease >= now+p.Resolution.Milliseconds():
		return false
	default:
		return p.before.has(attrNT)
	}
}
