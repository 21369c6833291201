package main

import (
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/record"
)

// A script that takes 1 for "there is no record" would do the work of a key again whose record was not reached.
func TestARecordThatTheBudgetDidNotReachIsNotMissing(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	for i := range 40 {
		n.fail("p-"+string(rune('A'+i)), strings.Repeat("no", 100))
	}

	hash := record.KeyHash("missing")

	n.idem("show", "--hash", hash)
	n.expect(exitNothing, "no record in namespace")
	n.screen.Reset()
	n.idem("show", "--hash", hash, "--budget", "1")
	n.expect(exitError, "--budget: ended before the whole table was read, and what was read has no such record; raise it")
}

// A script that watches a large table would take it for well, although the most of it was not read.
func TestAListThatFoundNothingBeforeItsBudgetEndedIsNotDone(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	for i := range 40 {
		n.fail("p-"+string(rune('A'+i)), strings.Repeat("no", 100))
	}

	n.idem("list", "stuck", "--budget", "1")
	n.expect(exitError, "0 found among", "The budget ended before the whole table was read")
	n.idem("list", "stuck", "--json", "--budget", "1")
	n.expect(exitError)
	n.idem("list", "failed", "--budget", "1")
	n.expect(exitDone)
	n.idem("list", "stuck")
	n.expect(exitNothing)
}
