package audit_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// step is a change of one key. Its record before is the one after the step before, unless it says otherwise.
type step struct {
	after    attributes
	at       int64
	isBefore bool
	before   attributes
	want     audit.Kind
	rule     audit.Rule // of the violation; empty: none
	isGap    bool
	isLate   bool
}

func play(t *testing.T, steps []step) *audit.Checker {
	t.Helper()

	checker := newChecker(t, audit.Options{})

	var last attributes

	for i, s := range steps {
		if s.isBefore {
			last = s.before
		}

		got := checker.Check(audit.Change{Before: last, After: s.after, Time: at(s.at)})
		if got.Kind != s.want || got.Gap != s.isGap || got.Late != s.isLate || len(got.Violations) > 0 != (s.rule != "") ||
			s.rule != "" && !has(got.Violations, s.rule) {
			t.Errorf("step %d: got %q, gap %t, late %t, want %q, gap %t, late %t, rule %q%s",
				i, got.Kind, got.Gap, got.Late, s.want, s.isGap, s.isLate, s.rule, told(got.Violations))
		}

		last = s.after
	}

	return checker
}

func TestCheckerJudgesTheHistoryOfAKey(t *testing.T) {
	t.Parallel()

	forget := func(record attributes, ms int64) attributes { return but(record, attributes{"op": op("forget", ms)}) }
	born := func(ms int64, own string) attributes { // a new claim at another time
		return but(claimed(), attributes{
			"own": owner(own), "born": num(ms), "fence": num(ms + 1), "lease": num(ms + 30*second), "exp": num(ms/1000 + ttl),
		})
	}
	freed := but(takenOver(), attributes{"lease": num(0), "tookat": num(start + 30*second)})
	removed := func(left ...int64) attributes {
		var all []attributes
		for _, i := range left {
			all = append(all, attributes{"m": message(i, "")})
		}

		record := but(unsent(), attributes{"outbox": list()})
		outbox := list()

		for _, m := range all {
			outbox = list(append(elements(outbox), m["m"])...)
		}

		return but(record, attributes{"outbox": outbox})
	}

	for name, steps := range map[string][]step{
		"a life with a takeover": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: takenOver(), at: start + 40*second, want: audit.Takeover},
			{after: takenOver(), at: start + 41*second, want: audit.NoChange},
			{after: freed, at: start + 50*second, want: audit.Release},
		},
		"an owner token that is used a second time": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: takenOver(), at: start + 40*second, want: audit.Takeover},
			{after: freed, at: start + 50*second, want: audit.Release},
			{after: but(freed, attributes{
				"own": owner("W1"), "fence": num(start + 3), "lease": num(start + 1030*second), "prev": num(0), "att": num(3), "exp": num(start/1000 + 1000 + ttl),
			}), at: start + 1000*second, want: audit.ClaimAgain, rule: audit.RuleOwner},
		},
		"a later try of an earlier claim, which has had no answer": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: takenOver(), at: start + 40*second, want: audit.Takeover},
			{after: freed, at: start + 50*second, want: audit.Release},
			{after: but(freed, attributes{
				"own": owner("W1"), "fence": num(start + 3), "lease": num(start + 90*second), "prev": num(0), "att": num(3), "exp": num(start/1000 + 60 + ttl),
			}), at: start + 60*second, want: audit.ClaimAgain},
		},
		"a late try of an earlier claim": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: takenOver(), at: start + 40*second, want: audit.Takeover},
			{after: freed, at: start + 41*second, want: audit.Release},
			{after: but(freed, attributes{
				"own": owner("W1"), "fence": num(start + 3), "lease": num(start + 30*second), "prev": num(0), "att": num(3), "exp": num(start/1000 + ttl),
			}), at: start + 42*second, want: audit.ClaimAgain, isLate: true},
		},
		"a gap": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{isBefore: true, before: takenOver(), after: freed, at: start + 50*second, want: audit.Release, isGap: true},
			{after: but(freed, attributes{"op": op("send", start+60*second)}), at: start + 60*second, want: audit.Stamp},
		},
		"an item that is made although there is one": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{isBefore: true, after: born(start+9*second, "W2"), at: start + 9*second, want: audit.NewClaim, isGap: true},
		},
		"a deletion by an operator, and the next life": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: done(), at: start + second, want: audit.Completion},
			{after: forget(done(), start+5*second), at: start + 5*second, want: audit.Stamp},
			{after: nil, at: start + 5*second, want: audit.Deletion},
			{after: born(start+9*second, "W2"), at: start + 9*second, want: audit.NewClaim},
			{after: but(born(start+9*second, "W2"), attributes{
				"st": text("COMPLETED"), "done": num(start + 10*second), "exp": num(start/1000 + 10 + ttl),
			}), at: start + 10*second, want: audit.Completion},
		},
		"a deletion of a record that has changed since the stamp": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: forget(claimed(), start), at: start, want: audit.Stamp},
			{after: forget(done(), start), at: start + second, want: audit.Completion},
			{after: nil, at: start + 5*second, want: audit.Deletion, rule: audit.RuleDeletion},
		},
		"a deletion after a removal, which changes nothing that an operator looks at": {
			{isBefore: true, before: unsent(), after: forget(unsent(), start+5*second), at: start + 5*second, want: audit.Stamp},
			{after: forget(removed(2), start+5*second), at: start + 6*second, want: audit.Removal},
			{after: nil, at: start + 6*second, want: audit.Deletion},
		},
		"a fencing token that is lower after a deletion": {
			{isBefore: true, before: but(done(), attributes{"fence": num(start + 20*second)}), after: forget(but(done(), attributes{"fence": num(start + 20*second)}), start), at: start, want: audit.Stamp},
			{after: nil, at: start + 5*second, want: audit.Deletion},
			{after: born(start+9*second, "W2"), at: start + 9*second, want: audit.NewClaim, rule: audit.RuleFence},
		},
		"a fencing token that is lower by less than the clocks may differ": {
			{isBefore: true, before: but(done(), attributes{"fence": num(start + 9*second + 500)}), after: forget(but(done(), attributes{"fence": num(start + 9*second + 500)}), start), at: start, want: audit.Stamp},
			{after: nil, at: start + 5*second, want: audit.Deletion},
			{after: born(start+9*second, "W2"), at: start + 9*second, want: audit.NewClaim},
		},
		"a fencing token that is lower after a deletion, because two claims came in the same millisecond": {
			{after: but(born(start+second, "W1"), attributes{"lease": num(0), "err": text("closed")}), at: start + second, want: audit.Rejection},
			{after: but(born(start+second, "W2"), attributes{
				"fence": num(start + second + 2), "att": num(2), "err": text("closed"),
			}), at: start + second, want: audit.ClaimAgain},
			{after: but(born(start+second, "W2"), attributes{
				"fence": num(start + second + 2), "att": num(2), "err": text("closed"), "op": op("forget", start+second),
			}), at: start + second, want: audit.Stamp},
			{after: nil, at: start + second, want: audit.Deletion},
			{after: born(start+1, "W3"), at: start + second, want: audit.NewClaim},
		},
		"two senders, of which the slower puts back what the faster has removed": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: unsent(), at: start + second, want: audit.CompletionWithEffects},
			{after: removed(2), at: start + 2*second, want: audit.Removal},
			{after: removed(0, 1), at: start + 2*second, want: audit.Removal},
			{after: but(unsent(), attributes{"outbox": list(message(0, "")), "parked": list(message(2, "gone"))}), at: start + 3*second, want: audit.Parking},
			{after: removed(0, 2), at: start + 3*second, want: audit.SendingOfParked},
			{after: but(done(), attributes{"tx": text(txA)}), at: start + 4*second, want: audit.Removal},
		},
		"a message that the completion did not store": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: unsent(), at: start + second, want: audit.CompletionWithEffects},
			{after: removed(0, 3), at: start + 2*second, want: audit.Removal, rule: audit.RuleMessages},
		},
		"a second completion, after a state that somebody has changed": {
			{after: claimed(), at: start, want: audit.NewClaim},
			{after: done(), at: start + second, want: audit.Completion},
			{after: claimed(), at: start + 2*second, want: audit.AnewByClaim, rule: audit.RuleEnd},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, steps)
		})
	}
}

// An old item that somebody writes back over a newer one is found, and so is the second completion that it lets in.
func TestASecondCompletionIsFound(t *testing.T) {
	t.Parallel()

	checker := newChecker(t, audit.Options{})
	back := but(claimed(), attributes{"err": text("restored")})

	for _, c := range []audit.Change{
		{After: claimed(), Time: at(start)},
		{Before: claimed(), After: done(), Time: at(start + second)},
		{Before: done(), After: back, Time: at(start + 2*second)},
	} {
		checker.Check(c)
	}

	got := checker.Check(audit.Change{Before: back, After: done(), Time: at(start + 2*second)})
	if got.Kind != audit.Completion || !has(got.Violations, audit.RuleCompletions) {
		t.Errorf("got %q%s", got.Kind, told(got.Violations))
	}

	if report := checker.Report(); report.Violations != 2 || report.Judged != 4 {
		t.Errorf("got %s", report)
	}
}

func TestCheckerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	const keys = 50

	checker := newChecker(t, audit.Options{})

	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			key := attributes{"pk": text(fmt.Sprintf("payments#%d", i))}
			checker.Check(audit.Change{After: but(claimed(), key), Time: at(start)})
			checker.Check(audit.Change{Before: but(claimed(), key), After: but(done(), key), Time: at(start + second)})
			_ = checker.Report().String() + checker.Story(fmt.Sprintf("payments#%d", i))
		})
	}

	group.Wait()

	const want = "audit: 100 changes judged: 50 new claim, 50 completion; 0 violations, 0 late, 0 gaps"
	if got := checker.Report(); got.String() != want || got.Err() != nil || got.GapsErr() != nil {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The Checker keeps nothing that the caller can alter.
func TestCheckerCopiesWhatItKeeps(t *testing.T) {
	t.Parallel()

	checker := newChecker(t, audit.Options{})
	record := claimed()
	checker.Check(audit.Change{After: record, Time: at(start)})

	record["lease"] = num(1)
	elements(unsent()["outbox"])[0] = num(1)

	if got := checker.Check(audit.Change{Before: claimed(), After: done(), Time: at(start + second)}); got.Gap {
		t.Error("got a gap")
	}
}

func TestALongStoryAndManyViolationsAreBounded(t *testing.T) {
	t.Parallel()

	checker := newChecker(t, audit.Options{})
	for range 200 {
		checker.Check(audit.Change{Before: claimed(), After: but(claimed(), attributes{"note": text("n"), "att": num(9)}), Time: at(start)})
	}

	story := checker.Story("payments#p-1")
	if n := strings.Count(story, "\n"); n != 61 || !strings.Contains(story, "\n(140 changes are left out.)\n") {
		t.Errorf("got %d lines:\n%s", n, story)
	}

	report := checker.Report()
	if report.Violations != 200 || len(report.Found) != 100 || report.Gaps != 199 || report.GapsErr() == nil {
		t.Errorf("got %s with %d found", report, len(report.Found))
	}

	if text := report.Err().Error(); !strings.Contains(text, "\n195 more are not shown") || strings.Contains(text, "p-1") {
		t.Errorf("got %s", text)
	}

	if got := checker.Story("payments#p-2"); got != "" {
		t.Errorf("got %q for a key that was not seen", got)
	}
}
