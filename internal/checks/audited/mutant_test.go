package audited_test

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// Numbers of histories. An exception is looked at for a moment only.
const (
	usual = 300  // that show which conditions are sent
	most  = 8000 // after which a mutant must have been found
	brief = 100
)

// A mutant drops terms of the conditions that one kind of request has.
type mutant struct {
	operation, family string
	terms             string // one, or several
}

func (m mutant) String() string { return m.operation + ", " + m.family + ": drop " + m.terms }

// A key is claimed by one condition, to which options add terms. All its forms are one family.
const (
	claim          = "claim"
	claimUpdate    = "attribute_not_exists(#pk) OR (v = :v"
	claimStatement = `"pk" = ? AND ( "v" = ? AND "st" = ? AND "lease" < ?`
	keyOfStatement = `"pk" = ?`
)

func familyOf(condition string) string {
	if strings.HasPrefix(condition, claimUpdate) || strings.HasPrefix(condition, claimStatement) {
		return claim
	}

	return condition
}

// isOperator reports whether a condition is one of package operate: it compares eleven attributes with what the operator has
// seen, and its own tests change each of them. What it writes is judged.
func isOperator(condition string) bool { return strings.Contains(condition, "#s0") }

// alter drops the terms from a request of the mutant's kind.
func (m mutant) alter(r request) request {
	if r.operation != m.operation || familyOf(r.condition) != m.family {
		return r
	}

	for term := range strings.SplitSeq(m.terms, also) {
		r = r.without(term)
	}

	return r
}

// mutants are all terms of all conditions that histories send, one by one, and with each exception the terms that make up for it.
func mutants(sent map[string]bool) []mutant {
	all := map[string]mutant{}

	for text := range sent {
		operation, condition, _ := strings.Cut(text, ": ")
		if isOperator(condition) {
			continue
		}

		terms := map[string]string{} // by their plain form
		for _, s := range conjuncts(condition, 0, len(condition)) {
			terms[plain(condition[s.from:s.to])] = condition[s.from:s.to]
		}

		for _, term := range terms {
			m := mutant{operation, familyOf(condition), term}
			all[m.String()] = m

			e := m.exception()
			if e == nil || e.with == "" {
				continue
			}

			together := []string{term}
			for with := range strings.SplitSeq(e.with, also) {
				together = append(together, terms[with])
			}

			slices.Sort(together)
			m.terms = strings.Join(together, also)
			all[m.String()] = m
		}
	}

	return slices.SortedFunc(maps.Values(all), func(a, b mutant) int { return cmp.Compare(a.String(), b.String()) })
}

// exception returns why no rule finds the mutant, nil if one must.
func (m mutant) exception() *exception {
	i := slices.IndexFunc(exceptions, func(e exception) bool {
		return strings.Contains(plain(m.family), e.family) && plain(m.terms) == e.term && (e.operation == "" || e.operation == m.operation)
	})
	if i < 0 {
		return nil
	}

	return &exceptions[i]
}

var value = regexp.MustCompile(`:\w+`)

// plain returns an expression as it is in a statement, without quotes, so that an update and a statement with the same condition
// are equal.
func plain(expression string) string {
	return value.ReplaceAllString(strings.ReplaceAll(expression, `"`, ""), "?")
}

// exception is a term whose lack no rule finds. If other terms make up for it, the lack of all of them must be found.
type exception struct{ operation, family, term, with, reason string }

const rare = "a removal that shares a request hardly ever meets a removal by another; one by an update has the same condition, and does"

const rareReopening = "a reopening hardly ever shares a request; one by an update has the same condition, and does"

var exceptions = []exception{
	{"", claim, "att < ?", "", "a limit of attempts stands in no record"},
	{"update in a transaction", claim, "own <> ?", "", "a commit leaves a completed record, which st refuses"},

	{"", "own = ? AND fence = ? AND #exp = ?", "own = ?", "fence = ?", "each claim changes both"},
	{"", "own = ? AND fence = ? AND #exp = ?", "fence = ?", "own = ?", "each claim changes both, and a reopening also exp"},

	{"", "st = ? AND lease = ?", "own = ?", "", "each claim changes the lease"},
	{"", "st = ? AND lease = ?", "fence = ?", "", "each claim and each reopening changes the lease"},
	{"", "st = ? AND lease = ?", "lease = ?", "", "giving up a key that is held writes what its holder writes who fails it, and who wrote stands in no record"},
	{"", "own = ? AND fence = ? AND st = ?", "own = ?", "fence = ?", "each claim changes both"},
	{"", "own = ? AND fence = ? AND st = ? AND lease > ?", "fence = ?", "own = ?", "each claim changes both, and a reopening leaves a lease of 0"},

	{"", "own = ? AND fence = ? AND st = ?", "fence = ?", "own = ?", "a worker may release what an operator has released or reopened"},

	{"statement", "own = ? AND tx = ?", "own = ?", "", rare},
	{"statement", "own = ? AND tx = ?", "tx = ?", "", rare},
	{"statement", "own = ? AND tx = ?", "st = ?", "", rare},
	{"statement", "own = ? AND tx = ?", "outbox IS NOT MISSING", "", rare},
	{"", "own = ? AND tx = ?", "own = ?", "tx = ?", "tx belongs to one call of one claim"},
	{"", "own = ? AND tx = ?", "tx = ?", "own = ?", "a claim is completed once"},
	{"", "own = ? AND tx = ?", "st = ?", "own = ? + tx = ?", "a record has tx only while it is completed"},

	{"statement", "v = ? AND st = ? AND own = ? AND fence = ?", "v = ?", "", rareReopening},
	{"statement", "v = ? AND st = ? AND own = ? AND fence = ?", "st = ?", "", rareReopening},
	{"statement", "v = ? AND st = ? AND own = ? AND fence = ?", "own = ?", "", rareReopening},
	{"statement", "v = ? AND st = ? AND own = ? AND fence = ?", "fence = ?", "", rareReopening},
	{"", "v = ? AND st = ? AND own = ? AND fence = ?", "v = ?", "own = ? + fence = ?", "a claim of another version changes both"},
	{"", "v = ? AND st = ? AND own = ? AND fence = ?", "st = ?", "own = ? + fence = ?", "what follows a failure is a reopening, which changes the fencing token"},
	{"", "v = ? AND st = ? AND own = ? AND fence = ?", "own = ?", "fence = ?", "each claim changes both"},
	{"", "v = ? AND st = ? AND own = ? AND fence = ?", "fence = ?", "own = ?", "a key that was reopened fails again by another claim"},
}

// TestARuleFindsTheLackOfEachTermOfACondition shows for each term of each condition what its lack does on the table, and that the
// specification finds it.
func TestARuleFindsTheLackOfEachTermOfACondition(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("each of about 90 mutants runs many histories")
	}

	if around.HasRaceDetector() {
		t.Skip("ten times as slow with the race detector; internal/checks/mutation runs it in a build without")
	}

	sent := map[string]bool{}
	for _, isSingle := range []bool{false, true} {
		explore(t, usual, isSingle, nil, func(h *history) bool { maps.Copy(sent, h.seen); return h.changes.Err() == nil })
	}

	all := mutants(sent)
	if len(all) < 80 {
		t.Errorf("only %d mutants: are all conditions still sent?", len(all))
	}

	for _, m := range all {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()

			limit, e := most, m.exception()
			if e != nil {
				limit = brief
			}

			found, after := m.find(t, limit)

			switch {
			case found == nil && e == nil:
				t.Errorf("no rule finds it in %d histories", limit)
			case e != nil && found == nil:
				t.Logf("not found: %s", e.reason)
			case found.Story == "":
				t.Error("found without a story")
			default:
				t.Logf("found by %q, %q, in history %d", found.Violations[0].Rule, found.Kind, after)
			}
		})
	}
}

// find runs histories until a rule is broken.
func (m mutant) find(t *testing.T, limit int) (found *audit.Finding, after int) {
	t.Helper()

	explore(t, limit, m.operation != "statement", m.alter, func(h *history) bool {
		after++

		if r := h.changes.Report(); r.Violations > 0 {
			found = &r.Found[0]
		}

		return found == nil
	})

	return found, after
}

// explore runs histories until one is the last.
func explore(t *testing.T, limit int, isSingle bool, alter func(request) request, goOn func(*history) bool) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		for seed := range limit {
			h := newHistory(t, uint64(seed), isSingle)
			h.alter = alter

			if alter == nil {
				h.judge(t)
			} else {
				h.judge(unheard{})
			}

			h.run()

			if !goOn(h) {
				return
			}
		}
	})
}

// unheard stands in for a test that violations do not fail.
type unheard struct{}

func (unheard) Helper()               {}
func (unheard) Errorf(string, ...any) {}
func (unheard) Cleanup(func())        {}

var _ audited.TB = unheard{}
