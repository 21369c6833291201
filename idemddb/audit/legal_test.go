package audit_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

type legalCase struct {
	kind    audit.Kind
	before  attributes
	after   attributes
	at      int64 // in milliseconds
	isLate  bool
	options audit.Options
}

// anew is the record of a claim that found one past its end.
func anew() attributes {
	now := start + 10*ttl*second

	return but(claimed(), attributes{
		"own": owner("W3"), "fence": num(now + 1), "lease": num(now + 30*second), "exp": num(now/1000 + ttl), "born": num(now),
	})
}

// partOfResult is the second part of a result.
func partOfResult() attributes {
	return attributes{
		"pk":  partKey("2"),
		"exp": num(start/1000 + ttl + 8*24*3600), "part": &types.AttributeValueMemberB{Value: make([]byte, 390<<10)},
	}
}

func newCommit() attributes {
	return but(unsent(), attributes{"lease": num(start + second), "born": num(start + second), "fence": num(start + second + 1)})
}

func rejection() attributes {
	return but(claimed(), attributes{"lease": num(0), "err": text("the bank is away")})
}

// legal has a change for every kind, and for every variant of it that the page allows.
func legal() map[string]legalCase {
	later := start + 10*ttl*second
	strange := attributes{"note": text("of another program")}

	return map[string]legalCase{
		"a new claim": {kind: audit.NewClaim, after: claimed(), at: start},
		"a new claim with all options": {kind: audit.NewClaim, at: start, after: but(claimed(), attributes{
			"fp": text(printA), "nt": num(1), "trace": text(trace1), "ptrace": text(""),
		})},
		"a new claim outside of Lambda":                            {kind: audit.NewClaim, after: but(claimed(), attributes{"own": text(digits + "W1")}), at: start},
		"a new claim by a worker before took":                      {kind: audit.NewClaim, after: but(claimed(), attributes{"took": nil}), at: start, options: audit.Options{OldWorkers: true}},
		"a new claim that arrives late, with a lease that is over": {kind: audit.NewClaim, after: claimed(), at: start + 600*second, isLate: true},
		"a claim of a released key": {kind: audit.ClaimAgain, before: released(), at: start + 5*second, after: but(released(), attributes{
			"own": owner("W2"), "fence": num(start + 2), "lease": num(start + 35*second), "att": num(2), "exp": num(start/1000 + 5 + ttl),
		})},
		"a claim of a released key with NoTakeover": {kind: audit.ClaimAgain, before: but(released(), strange), at: start + 5*second, after: but(released(), attributes{
			"own": owner("W2"), "fence": num(start + 2), "lease": num(start + 35*second), "att": num(2), "exp": num(start/1000 + 5 + ttl),
			"nt": num(1), "fp": text(printA), "note": text("of another program"),
		})},
		"a claim of a key that was given back after a takeover": {kind: audit.Takeover, before: but(takenOver(), attributes{"lease": num(-1), "att": num(1)}), at: start + 50*second, after: but(takenOver(), attributes{
			"own": owner("W3"), "fence": num(start + 3), "lease": num(start + 80*second), "prev": num(-1), "took": num(start + 30*second - 1),
			"exp": num(start/1000 + 50 + ttl),
		})},
		"a takeover": {kind: audit.Takeover, before: claimed(), after: takenOver(), at: start + 40*second},
		"a takeover that removes what the claim before had": {
			kind: audit.Takeover, at: start + 40*second, after: takenOver(),
			before: but(claimed(), attributes{"fp": text(printA), "nt": num(1)}),
		},
		"a takeover with a trace": {
			kind: audit.Takeover, at: start + 40*second, before: but(claimed(), attributes{"trace": text(trace1), "ptrace": text("")}),
			after: but(takenOver(), attributes{"trace": text(trace2), "ptrace": text(trace1)}),
		},
		"a takeover by a worker without a trace": {
			kind: audit.Takeover, at: start + 40*second, before: but(claimed(), attributes{"trace": text(trace1), "ptrace": text("")}),
			after: but(takenOver(), attributes{"trace": text(trace1), "ptrace": text("")}),
		},
		"a takeover with the fingerprint of another version": {
			kind: audit.Takeover, at: start + 40*second, before: but(claimed(), attributes{"fp": text("0:old")}),
			after: but(takenOver(), attributes{"fp": text(printA)}),
		},
		"a takeover of a record from before took": {
			kind: audit.Takeover, at: start + 40*second, before: but(claimed(), attributes{"took": nil}), after: takenOver(),
		},
		"a takeover by a worker before took and nt": {
			kind: audit.Takeover, at: start + 40*second, before: but(claimed(), attributes{"nt": num(1)}),
			after: but(takenOver(), attributes{"took": num(0), "nt": num(1)}), options: audit.Options{OldWorkers: true},
		},
		"an extension": {kind: audit.Extension, before: claimed(), at: start + 15*second, after: but(claimed(), attributes{
			"lease": num(start + 45*second), "exp": num(start/1000 + 15 + ttl),
		})},
		"an extension after the end of the lease, which copies prev": {
			kind: audit.Extension, before: takenOver(), at: start + 100*second,
			after: but(takenOver(), attributes{"lease": num(start + 130*second), "exp": num(start/1000 + 100 + ttl), "tookat": num(start + 30*second)}),
		},
		"a completion":                  {kind: audit.Completion, before: but(claimed(), attributes{"err": text("earlier")}), after: done(), at: start + second},
		"a completion without a result": {kind: audit.Completion, before: claimed(), after: but(done(), attributes{"res": nil}), at: start + second},
		"a completion whose result was not kept": {kind: audit.Completion, before: claimed(), at: start + second, after: but(done(), attributes{
			"res": &types.AttributeValueMemberNULL{Value: true},
		})},
		"a completion whose result is kept elsewhere": {kind: audit.Completion, before: claimed(), at: start + second, after: but(done(), attributes{
			"res": &types.AttributeValueMemberM{Value: attributes{"name": text("r/1"), "len": num(3), "sum": blob("sum")}},
		})},
		"a completion whose result is sealed": {kind: audit.Completion, before: claimed(), at: start + second, after: but(done(), attributes{
			"res": &types.AttributeValueMemberM{Value: attributes{"sealed": blob("bytes")}},
		})},
		"a completion whose result is sealed and kept elsewhere": {kind: audit.Completion, before: claimed(), at: start + second, after: but(done(), attributes{
			"res": &types.AttributeValueMemberM{Value: attributes{"sealed": &types.AttributeValueMemberM{
				Value: attributes{"name": text("r/1"), "len": num(3), "sum": blob("sum")},
			}}},
		})},
		"a completion with sealed messages": {kind: audit.CompletionWithEffects, before: claimed(), at: start + second, after: but(unsent(), attributes{
			"outbox": list(sealedMessage(0, nil), sealedMessage(1, nil)),
		})},
		"the parking of a sealed message": {
			kind: audit.Parking, at: start + 2*second, before: but(unsent(), attributes{"outbox": list(sealedMessage(0, nil))}),
			after: but(parked(), attributes{"parked": list(sealedMessage(0, attributes{"cause": text("no such queue")}))}),
		},
		"a completion past the end of the record": {kind: audit.Completion, before: claimed(), at: later, after: but(done(), attributes{
			"done": num(later), "exp": num(later/1000 + ttl),
		})},
		"a completion after a takeover": {kind: audit.Completion, before: takenOver(), at: start + 50*second, after: but(takenOver(), attributes{
			"st": text("COMPLETED"), "done": num(start + 50*second), "exp": num(start/1000 + 50 + ttl), "tookat": num(start + 30*second),
		})},
		"a completion by a worker before tookat": {kind: audit.Completion, before: takenOver(), at: start + 50*second, after: but(takenOver(), attributes{
			"st": text("COMPLETED"), "done": num(start + 50*second), "exp": num(start/1000 + 50 + ttl),
		}), options: audit.Options{OldWorkers: true}},
		"a late completion":              {kind: audit.Completion, before: claimed(), after: done(), at: start + 300*second, isLate: true},
		"a completion with messages":     {kind: audit.CompletionWithEffects, before: claimed(), after: unsent(), at: start + second},
		"a completion with effects only": {kind: audit.CompletionWithEffects, before: claimed(), after: but(done(), attributes{"tx": text(txA)}), at: start + second},
		"a failure":                      {kind: audit.Failure, before: claimed(), after: failed(), at: start + second},
		"a failure after a takeover, past the lease": {kind: audit.Failure, before: takenOver(), at: start + 100*second, after: but(takenOver(), attributes{
			"st": text("FAILED"), "err": text("no"), "tookat": num(start + 30*second),
		})},
		"a release": {kind: audit.Release, before: claimed(), after: released(), at: start + second},
		"a release without a cause after a takeover": {kind: audit.Release, before: takenOver(), at: start + 50*second, after: but(takenOver(), attributes{
			"lease": num(0), "tookat": num(start + 30*second),
		})},
		"a release after an operator's": {
			kind: audit.Release, at: start + 2*second, before: but(claimed(), attributes{"lease": num(-1), "op": op("release", start+second)}),
			after: but(released(), attributes{"op": op("release", start+second)}),
		},
		"a release from 0": {
			kind: audit.Release, at: start + 2*second, before: but(claimed(), attributes{"lease": num(0), "nt": num(1)}),
			after: but(released(), attributes{"nt": num(1)}),
		},
		"a return": {kind: audit.Return, before: claimed(), after: but(claimed(), attributes{"lease": num(0), "att": num(0)}), at: start + second},
		"a return after a takeover": {kind: audit.Return, before: takenOver(), at: start + 50*second, after: but(takenOver(), attributes{
			"lease": num(-1), "att": num(1), "tookat": num(start + 30*second),
		})},
		"a return after a takeover of what was given back": {
			kind: audit.Return, at: start + 50*second, before: but(takenOver(), attributes{"prev": num(-1), "took": num(-1)}),
			after: but(takenOver(), attributes{"prev": num(-1), "took": num(-1), "lease": num(-1), "att": num(1)}),
		},
		"a give-up of a released key": {kind: audit.GiveUp, before: released(), at: start + 40*second, after: but(released(), attributes{
			"st": text("FAILED"), "err": text("attempts used up"), "exp": num(start/1000 + 40 + ttl),
		})},
		"a give-up of a lease that ran out": {kind: audit.GiveUp, before: but(claimed(), attributes{"nt": num(1)}), at: start + 40*second, after: but(failed(), attributes{
			"nt": num(1), "exp": num(start/1000 + 40 + ttl),
		})},
		"a give-up after a takeover": {kind: audit.GiveUp, before: takenOver(), at: start + 80*second, after: but(takenOver(), attributes{
			"st": text("FAILED"), "err": text("attempts used up"),
		})},
		"a reopening": {kind: audit.Reopen, before: failed(), at: start + 60*second, after: but(failed(), attributes{
			"st": text("INPROGRESS"), "fence": num(start + 2), "lease": num(0), "att": num(0), "took": num(-1), "exp": num(start/1000 + 60 + ttl),
		})},
		"a commit":                             {kind: audit.Commit, after: newCommit(), at: start + second},
		"a commit without messages":            {kind: audit.Commit, after: but(newCommit(), attributes{"outbox": nil, "due": nil, "due_ns": nil, "ends": nil, "exp": num(start/1000 + 1 + ttl)}), at: start + second},
		"a commit with a trace and NoTakeover": {kind: audit.Commit, after: but(newCommit(), attributes{"trace": text(trace1), "nt": num(1)}), at: start + second},
		"a commit that takes over": {
			kind: audit.Commit, at: start + 40*second, before: but(claimed(), attributes{"err": text("earlier"), "trace": text(trace1), "ptrace": text("")}),
			after: but(takenOver(), attributes{
				"st": text("COMPLETED"), "lease": num(start + 40*second), "done": num(start + 40*second), "tx": text(txA), "trace": text(trace2), "ptrace": text(""),
			}),
		},
		"a rejection": {kind: audit.Rejection, after: rejection(), at: start},
		"a rejection of a released key": {kind: audit.Rejection, before: released(), at: start + 5*second, after: but(released(), attributes{
			"own": owner("W2"), "fence": num(start + 2), "att": num(2), "exp": num(start/1000 + 5 + ttl), "err": text("again"), "trace": text(trace1),
		})},
		"a record made anew by a claim":  {kind: audit.AnewByClaim, before: but(done(), strange), after: anew(), at: later},
		"a record in progress made anew": {kind: audit.AnewByClaim, before: but(released(), attributes{"op": op("release", start)}), after: anew(), at: later},
		"a failed record made anew, with a fence above the time": {
			kind: audit.AnewByClaim, before: but(failed(), attributes{"fence": num(later + 7)}), at: later,
			after: but(anew(), attributes{"fence": num(later + 8), "trace": text(trace1), "ptrace": text("")}),
		},
		"a record made anew by a commit": {kind: audit.AnewByCommit, before: but(done(), strange), at: later, after: but(anew(), attributes{
			"st": text("COMPLETED"), "lease": num(later), "done": num(later), "tx": text(txA), "trace": text(trace1), "ptrace": text(""),
		})},
		"a record made anew by a rejection": {kind: audit.AnewByRejection, before: failed(), at: later, after: but(anew(), attributes{
			"lease": num(0), "err": text("the bank is away"),
		})},
		"a removal of all messages": {kind: audit.Removal, before: unsent(), at: start + 2*second, after: but(unsent(), attributes{
			"outbox": nil, "due": nil, "due_ns": nil, "ends": nil, "exp": num(start/1000 + 1 + ttl),
		})},
		"a removal of all messages a week later": {kind: audit.Removal, before: unsent(), at: start + ttl*second, after: but(unsent(), attributes{
			"outbox": nil, "due": nil, "due_ns": nil, "ends": nil, "exp": num(start/1000 + ttl + 24*3600),
		})},
		"a removal of some":     {kind: audit.Removal, before: unsent(), at: start + 2*second, after: but(unsent(), attributes{"outbox": list(message(2, ""))})},
		"a message put back":    {kind: audit.Removal, before: but(unsent(), attributes{"outbox": list(message(2, ""))}), at: start + 2*second, after: but(unsent(), attributes{"outbox": list(message(1, ""))})},
		"a parking of the last": {kind: audit.Parking, before: unsent(), after: parked(), at: start + 2*second},
		"a parking of one of two": {kind: audit.Parking, before: unsent(), at: start + 2*second, after: but(unsent(), attributes{
			"outbox": list(message(0, "")), "parked": list(message(2, "too large")),
		})},
		"a sending of what was parked": {kind: audit.SendingOfParked, before: parked(), at: start + 2*second, after: but(done(), attributes{"tx": text(txA)})},
		"a sending of some of what was parked": {
			kind: audit.SendingOfParked, before: but(parked(), attributes{"parked": list(message(0, "a"), message(1, "a"))}), after: but(parked(), attributes{"parked": list(message(0, "b"))}), at: start + 2*second,
		},
		"a parked message that a slower sender puts back": {
			kind: audit.SendingOfParked, at: start + 2*second, before: but(unsent(), attributes{"outbox": list(message(0, "")), "parked": list(message(1, "a"))}),
			after: but(unsent(), attributes{"outbox": list(message(0, ""), message(1, ""))}),
		},
		"an operator's release": {kind: audit.OperatorRelease, before: claimed(), at: start + 2*second, after: but(claimed(), attributes{
			"lease": num(-1), "op": op("release", start+2*second),
		})},
		"an operator's release under NoTakeover": {
			kind: audit.OperatorRelease, before: but(takenOver(), attributes{"nt": num(1)}), at: start + 90*second,
			after: but(takenOver(), attributes{"nt": num(1), "lease": num(0), "op": op("release", start+90*second)}),
		},
		"an operator's fail": {kind: audit.OperatorFail, before: released(), at: start + 9*second, after: but(failed(), attributes{
			"lease": num(0), "op": op("fail", start+9*second), "exp": num(start/1000 + 9 + ttl),
		})},
		"an operator's reopening": {
			kind: audit.OperatorReopen, before: but(failed(), attributes{"op": op("fail", start)}), at: start + 60*second,
			after: but(failed(), attributes{
				"st": text("INPROGRESS"), "fence": num(start + 2), "lease": num(0), "att": num(0), "took": num(-1), "exp": num(start/1000 + 60 + ttl),
				"op": op("reopen", start+60*second),
			}),
		},
		"a stamp before a sending":                                       {kind: audit.Stamp, before: parked(), after: but(parked(), attributes{"op": op("send", start+9*second)}), at: start + 9*second},
		"a stamp before the deletion of an item that no worker can read": {kind: audit.Stamp, before: but(claimed(), attributes{"v": num(2)}), after: but(claimed(), attributes{"v": num(2), "op": op("forget", start+9*second)}), at: start + 9*second},
		"a stamp before a deletion":                                      {kind: audit.Stamp, before: claimed(), after: but(claimed(), attributes{"op": op("forget", start+9*second)}), at: start + 9*second},
		"a deletion":                                                     {kind: audit.Deletion, before: but(unsent(), attributes{"op": op("forget", start+9*second)}), at: start + 9*second},
		"the put of a part of a result":                                  {kind: audit.ResultPut, after: partOfResult(), at: start},
		"another try of the put of a part":                               {kind: audit.ResultPut, before: partOfResult(), after: but(partOfResult(), attributes{"exp": num(start/1000 + 9 + ttl + 8*24*3600)}), at: start + 9*second},
		"the deletion of a part":                                         {kind: audit.ResultDeletion, before: partOfResult(), at: start},
		"no change of a part":                                            {kind: audit.NoChange, before: partOfResult(), after: partOfResult(), at: start},
		"a change of a part by another program":                          {kind: audit.OtherAttributes, before: partOfResult(), after: but(partOfResult(), strange), at: start},
		"no change":                                                      {kind: audit.NoChange, before: done(), after: done(), at: start + 9*second},
		"a change by another program": {
			kind: audit.OtherAttributes, before: but(done(), attributes{"seen": num(1)}), after: but(done(), strange), at: start + 9*second,
		},
		"an item of another program":  {kind: audit.NoRecord, after: attributes{"pk": text("account#anna"), "balance": num(3)}, at: start},
		"an item without a namespace": {kind: audit.NoRecord, after: but(claimed(), attributes{"pk": text("p-1")}), at: start},
	}
}

func TestEveryLegalChangeHasItsKindAndNoViolation(t *testing.T) {
	t.Parallel()

	kinds := map[audit.Kind]bool{audit.TimeToLive: true} // has tests of its own

	for name, c := range legal() {
		kinds[c.kind] = true

		for _, resolution := range []int64{0, second} {
			options := c.options
			options.Lease, options.Retention = 30*time.Second, time.Duration(ttl)*time.Second
			options.Resolution = time.Duration(resolution) * time.Millisecond

			t.Run(name, func(t *testing.T) {
				t.Parallel()

				change := audit.Change{Before: c.before, After: c.after, Time: at(c.at)}
				got := audit.Judge(change, options)

				if got.Kind != c.kind || len(got.Violations) > 0 || got.Late != c.isLate || got.Untimed {
					t.Errorf("got %q, late %t, untimed %t, want %q, late %t%s", got.Kind, got.Late, got.Untimed, c.kind, c.isLate, told(got.Violations))
				}

				if got := newChecker(t, options).Check(change); got.Kind != c.kind || len(got.Violations) > 0 || got.Gap {
					t.Errorf("a Checker that sees the key for the first time: got %q, gap %t%s", got.Kind, got.Gap, told(got.Violations))
				}
			})
		}
	}

	for _, kind := range audit.Kinds() {
		if !kinds[kind] {
			t.Errorf("no legal change of the kind %q", kind)
		}
	}
}

// What was wrong with a record before is not the fault of a claim that counts on from it, or copies it.
func TestDamageOfARecordIsNotTheFaultOfTheNextClaim(t *testing.T) {
	t.Parallel()

	fraction := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	before := but(released(), attributes{"fence": fraction("1.5"), "trace": num(1)})
	after := but(released(), attributes{
		"own": owner("W2"), "fence": fraction("2.5"), "lease": num(start + 35*second), "att": num(2), "exp": num(start/1000 + 5 + ttl),
		"trace": text(trace1), "ptrace": num(1),
	})

	got := audit.Judge(audit.Change{Before: before, After: after, Time: at(start + 5*second)}, audit.Options{})
	if got.Kind != audit.ClaimAgain || len(got.Violations) > 0 {
		t.Errorf("got %q%s, want no violation", got.Kind, told(got.Violations))
	}

	lost, found := but(before, attributes{"fence": nil}), but(after, attributes{"fence": num(start + 5*second + 1)})
	if got := audit.Judge(audit.Change{Before: lost, After: found, Time: at(start + 5*second)}, audit.Options{}); len(got.Violations) > 0 {
		t.Errorf("got %q%s, want no violation", got.Kind, told(got.Violations))
	}

	copied := but(after, attributes{"ptrace": num(2)})
	if got := audit.Judge(audit.Change{Before: before, After: copied, Time: at(start + 5*second)}, audit.Options{}); len(got.Violations) == 0 {
		t.Error("another ptrace than the trace that was found: no violation")
	}
}

// partKey is the key of the part with this number of a result.
func partKey(number string) types.AttributeValue {
	return text("payments#sha256:glTDKakoUPbVOd03b0gW7idkUX2l4CNVFK9DMWRIDXo/8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b/Q5B7ZK4X2M6R3T1V8Y9W0NHJCE/B_tPM6o8jVSt3Ee9/" + number)
}
