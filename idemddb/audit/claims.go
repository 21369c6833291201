package audit

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The claims of a key: none before, released, or with a lease that is over. A commit and a rejection set what a claim sets, and
// more.
var claims = []transition{
	{
		kind:    NewClaim,
		demands: []demand{thereIsNone},
		sets:    claimSets,
		bounds:  join(writtenBounds, leaseBounds),
	},
	{
		kind:    ClaimAgain,
		demands: append([]demand{released}, claimable...),
		sets:    claimSets,
		bounds:  join(writtenBounds, leaseBounds, claimBounds),
	},
	{
		kind:    Takeover,
		demands: append([]demand{notReleased, takeoverAllowed}, claimable...),
		sets:    claimSets,
		bounds:  join(writtenBounds, leaseBounds, claimBounds),
	},
	{
		kind:    Commit,
		demands: claimableOrNone,
		sets:    with(with(claimSets, completionSets), commitSets),
		bounds:  join(writtenBounds, claimBounds),
	},
	{
		kind:    Rejection,
		demands: claimableOrNone,
		sets:    with(claimSets, rejectionSets),
		bounds:  join(writtenBounds, claimBounds),
	},
}

var claimSets = map[string]expectation{
	attrVersion:  constant(1),
	attrState:    state(inProgress),
	attrOwner:    newToken,
	attrLease:    aLease,
	attrExp:      given,
	attrFence:    nextFence,
	attrPrev:     number("the lease that was found", func(p *pair) int64 { return p.before.number(attrLease) }),
	attrTook:     unlessOld(number("the lease that was found, added", func(p *pair) int64 { return took(p) + p.before.number(attrLease) })),
	attrAttempts: plus(attrAttempts, 1),
	attrBorn:     bornOnce,
	attrPrint:    open,
	attrNT:       unlessOld(open),
	attrTrace:    givenOrStays,
	attrPtrace:   traceBefore,
}

var commitSets = map[string]expectation{
	attrLease:  number("the time of the completion", func(p *pair) int64 { return p.after.number(attrDone) }),
	attrTx:     given,
	attrOutbox: open,
	attrEnds:   open,
	attrDue:    open,
	attrDueNS:  open,
	attrTookAt: stays,
	attrPtrace: stays,
}

var rejectionSets = map[string]expectation{
	attrLease:  constant(0),
	attrErr:    given,
	attrPtrace: stays,
}

func took(p *pair) int64 { return p.before.number(attrTook) }

func newToken(p *pair, name string) string {
	if !p.after.has(name) || p.before != nil && p.before.same(p.after, name) {
		return "a token of its own"
	}

	return ""
}

func aLease(p *pair, name string) string {
	if p.after.number(name) > 0 {
		return ""
	}

	return "above 0"
}

// nextFence is if_not_exists(fence, :nowms) + 1. The same clock is in born, unless somebody has removed the fencing token of a
// record that has an older one.
func nextFence(p *pair, name string) string {
	switch {
	case p.before.has(name):
		return plus(name, 1)(p, name)
	case p.before.has(attrBorn):
		return given(p, name)
	}

	return number("one above born", func(p *pair) int64 { return p.after.number(attrBorn) + 1 })(p, name)
}

func bornOnce(p *pair, name string) string {
	if p.before.has(name) {
		return stays(p, name)
	}

	return given(p, name)
}

// traceBefore is what a claim makes of ptrace. With Options.Trace it sets both, without it it leaves both.
func traceBefore(p *pair, name string) string {
	if stays(p, attrTrace) == "" && stays(p, attrPtrace) == "" {
		return ""
	}

	found := p.before[attrTrace]
	if p.after.has(name) && (p.after[name].equal(found) || found.kind == "" && p.after[name].equal(valueOf(&types.AttributeValueMemberS{}))) {
		return ""
	}

	return "the trace that the claim found, or empty where it found none"
}

var released = demand{
	attribute: attrLease,
	met:       func(p *pair) bool { return p.before[attrLease].isInt && p.before.number(attrLease) == 0 },
	text:      "The lease must be 0.",
	decides:   true,
}

var notReleased = demand{
	attribute: attrLease,
	met:       func(p *pair) bool { return p.before[attrLease].isInt && p.before.number(attrLease) != 0 },
	text:      "The lease must be above 0, and over, or -1.",
	decides:   true,
}

// takeoverAllowed is AND lease = :zero of NoTakeover. A worker of a version without nt leaves that of the claim before.
var takeoverAllowed = demand{
	attribute: attrNT,
	met: func(p *pair) bool {
		return !p.after.has(attrNT) || p.before.number(attrLease) == 0 || p.OldWorkers && stays(p, attrNT) == ""
	},
	text: "A claim with NoTakeover, which nt says, must find a lease of 0.",
}

// samePrint is the condition of a claim with a fingerprint. One of another version of the algorithm is not compared.
var samePrint = demand{
	attribute: attrPrint,
	met: func(p *pair) bool {
		version, _, _ := strings.Cut(p.after.str(attrPrint), ":")

		return !p.after.has(attrPrint) || !p.before.has(attrPrint) || p.before.same(p.after, attrPrint) ||
			!strings.HasPrefix(p.before.str(attrPrint), version+":")
	},
	text: "A claim with a fingerprint must find the same one, none, or one of another version.",
}

// claimable are the conditions of a claim that finds a record. What they say about the time stands in claimBounds.
var claimable = []demand{sameVersion, stateBefore(inProgress), samePrint}

// claimableOrNone are those of a commit or a rejection, which create the item where there is none.
var claimableOrNone = orNone(append([]demand{takeoverAllowed}, claimable...))

func orNone(demands []demand) []demand {
	var all []demand

	for _, d := range demands {
		d.met = func(met func(*pair) bool) func(*pair) bool {
			return func(p *pair) bool { return p.before == nil || met(p) }
		}(d.met)
		all = append(all, d)
	}

	return all
}
