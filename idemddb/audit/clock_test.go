package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// The times that a change wrote are compared with the time of the change in both directions. A worker whose clock is behind
// cannot be told from a request that is late, one whose clock is ahead can.
func TestTheClockOfAWorkerIsComparedInBothDirections(t *testing.T) {
	t.Parallel()

	const (
		minute = 60 * second
		limit  = 15*minute + second
	)

	opened := but(failed(), attributes{
		"st": text("INPROGRESS"), "fence": num(start + 2), "lease": num(0), "att": num(0), "took": num(-1), "exp": num(start/1000 + 60 + ttl),
	})

	for name, c := range map[string]struct {
		change  audit.Change
		clock   int64 // of the worker
		options audit.Options
	}{
		"the first claim, by born": {audit.Change{After: claimed()}, start, audit.Options{}},
		"a completion, by done":    {audit.Change{Before: claimed(), After: done()}, start + second, audit.Options{}},
		"a commit":                 {audit.Change{After: newCommit()}, start + second, audit.Options{}},
		"an operator, by op":       {audit.Change{Before: done(), After: but(done(), attributes{"op": op("send", start)})}, start, audit.Options{}},
		"a takeover, by its end": {
			audit.Change{Before: claimed(), After: takenOver()}, start + 40*second, audit.Options{Retention: time.Duration(ttl) * time.Second},
		},
		"a failure, by its end": {
			audit.Change{Before: claimed(), After: failed()}, start + second, audit.Options{Retention: time.Duration(ttl) * time.Second},
		},
		"a reopening, by its end": {audit.Change{Before: failed(), After: opened}, start + 60*second, audit.Options{Retention: time.Duration(ttl) * time.Second}},
	} {
		for _, offset := range []struct {
			ms      int64 // how much later the change is
			isLate  bool
			broken  audit.Rule
			because string
		}{
			{0, false, "", "exact"},
			{second, false, "", "behind, as far as clocks may differ"},
			{-second, false, "", "ahead, as far as clocks may differ"},
			{second + 1, true, "", "late"},
			{-2*second - 1, false, audit.RuleAhead, "ahead"},
			{limit, true, "", "as late as a request can be"},
			{limit + 1, true, audit.RuleTooLate, "too late"},
		} {
			c.change.Time = at(c.clock + offset.ms)

			got := audit.Judge(c.change, c.options)
			if got.Late != offset.isLate || len(got.Violations) > 0 != (offset.broken != "") || offset.broken != "" && !has(got.Violations, offset.broken) {
				t.Errorf("%s, %s: late %t%s", name, offset.because, got.Late, told(got.Violations))
			}

			c.change.Time = at(c.clock + offset.ms).Truncate(time.Second)
			c.options.Resolution = time.Second

			if got := audit.Judge(c.change, c.options); offset.broken == "" && len(got.Violations) > 0 {
				t.Errorf("%s, %s, in whole seconds:%s", name, offset.because, told(got.Violations))
			}

			c.options.Resolution = 0
		}
	}
}

// The lease and its end say when a takeover was made at the earliest and at the latest.
func TestALeaseSaysWhenItsClaimWasMade(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		at      int64
		options audit.Options
		isLate  bool
		rule    audit.Rule
	}{
		"at its start":     {start + 40*second, audit.Options{Lease: 30 * time.Second}, false, ""},
		"before its start": {start + 38*second, audit.Options{Lease: 30 * time.Second}, false, audit.RuleAhead},
		"before its start, with differing leases": {start + 38*second, audit.Options{}, false, ""},
		"before its start, with apart clocks":     {start + 38*second, audit.Options{Lease: 30 * time.Second, ClockSkew: 2 * time.Second}, false, ""},
		"after its end":                           {start + 72*second, audit.Options{}, true, ""},
		"before the lease that it found was over": {start + 30*second, audit.Options{}, false, audit.RuleLease},
		"in the first moment after that one":      {start + 30*second + 1, audit.Options{}, false, ""},
		"in the second in which that one ends":    {start + 30*second, audit.Options{Resolution: time.Second}, false, ""},
		"in the second before that one ends":      {start + 29*second, audit.Options{Resolution: time.Second}, false, audit.RuleLease},
	} {
		got := audit.Judge(audit.Change{Before: claimed(), After: takenOver(), Time: at(c.at)}, c.options)
		if got.Kind != audit.Takeover || got.Late != c.isLate || len(got.Violations) > 0 != (c.rule != "") || c.rule != "" && !has(got.Violations, c.rule) {
			t.Errorf("%s: got %q, late %t%s", name, got.Kind, got.Late, told(got.Violations))
		}
	}
}

// Where the time of a change is not known, what its times say about each other is still judged.
func TestTimesThatAreNotKnownAreNotJudged(t *testing.T) {
	t.Parallel()

	held := but(takenOver(), attributes{"lease": num(start + 30*second + 900)})

	for name, c := range map[string]struct {
		at      time.Time
		options audit.Options
	}{
		"no time of the change":  {time.Time{}, audit.Options{}},
		"times not to be judged": {at(0), audit.Options{Untimed: true}},
		"whole minutes":          {at(start).Truncate(time.Minute), audit.Options{Resolution: time.Minute}},
	} {
		got := audit.Judge(audit.Change{Before: claimed(), After: takenOver(), Time: c.at}, c.options)
		if !got.Untimed || len(got.Violations) > 0 || got.Late {
			t.Errorf("%s: late %t, untimed %t%s", name, got.Late, got.Untimed, told(got.Violations))
		}

		got = audit.Judge(audit.Change{Before: claimed(), After: held, Time: c.at}, c.options)
		if !has(got.Violations, audit.RuleLease) {
			t.Errorf("%s: a lease that ends before a taker may take it over is not found", name)
		}
	}

	checker := newChecker(t, audit.Options{})
	checker.Check(audit.Change{After: claimed(), Time: at(start)})
	checker.Check(audit.Change{Before: claimed(), After: takenOver()})

	if got := checker.Report().String(); !strings.HasSuffix(got, "0 gaps; times of 1 changes not judged") {
		t.Errorf("got %s", got)
	}
}

// A worker that fails its key and one that gives the key of another up can write the same. Then the time decides, and where it is
// not known well enough, nt does.
func TestAFailureAndAGiveUpAreToldApart(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		nt   int64
		at   time.Time
		want audit.Kind
	}{
		"while the lease lasts":                           {0, at(start + 29*second), audit.Failure},
		"when it is over":                                 {0, at(start + 32*second), audit.GiveUp},
		"in between":                                      {0, at(start + 30*second + 500), audit.Failure},
		"in between, under NoTakeover":                    {1, at(start + 30*second + 500), audit.GiveUp},
		"when the time is not known":                      {0, time.Time{}, audit.Failure},
		"when the time is not known, and with NoTakeover": {1, time.Time{}, audit.GiveUp},
	} {
		before, after := claimed(), failed()
		if c.nt > 0 {
			before["nt"], after["nt"] = num(1), num(1)
		}

		if got := audit.Judge(audit.Change{Before: before, After: after, Time: c.at}, audit.Options{}); got.Kind != c.want || len(got.Violations) > 0 {
			t.Errorf("%s: got %q, want %q%s", name, got.Kind, c.want, told(got.Violations))
		}
	}
}

func TestOptionsThatAreWrongAreErrorsThatNameTheField(t *testing.T) {
	t.Parallel()

	for want, options := range map[string]audit.Options{
		"audit: Options.ClockSkew: must not be negative, and is -1s":                        {ClockSkew: -time.Second},
		"audit: Options.Lease: must not be negative, and is -1s":                            {Lease: -time.Second},
		"audit: Options.Retention: must not be negative, and is -1s":                        {Retention: -time.Second},
		"audit: Options.Resolution: must not be negative, and is -1s":                       {Resolution: -time.Second},
		"audit: Options.Lifetime: must not be negative, and is -1s":                         {Lifetime: -time.Second},
		`audit: Options.Namespaces: "a#b" must not contain '#'`:                             {Namespaces: []string{"a", "a#b"}},
		"audit: Options.PartitionKey, SortKey and TTLAttribute: \"pk\", \"pk\" and \"exp\"": {SortKey: "pk"},
		"audit: Options.PartitionKey, SortKey and TTLAttribute: \"st\", \"\" and \"exp\"":   {PartitionKey: "st"},
	} {
		if _, err := audit.NewChecker(options); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}

		audit.Judge(audit.Change{Before: claimed(), After: takenOver(), Time: at(start)}, options) // has no error to return, and goes on
	}
}
