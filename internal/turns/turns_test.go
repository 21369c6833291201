package turns_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/turns"
)

// answers returns the answers that the turns got: "yes", "no", or "" for those that wait.
func answers(all []*turns.Turn) []string {
	texts := make([]string, len(all))

	for i, t := range all {
		select {
		case yes := <-t.Answer():
			texts[i] = map[bool]string{true: "yes", false: "no"}[yes]
		default:
		}
	}

	return texts
}

func TestWhatMayBeClaimedIsTheFirstOfTheBatchAndAsManyAsFitIntoARequest(t *testing.T) {
	t.Parallel()

	expected := 0
	limits := &turns.Limits{
		Workers: 1, HasTime: func() bool { return true }, Ahead: func() int { return 2 }, Expect: func(n int) { expected = n },
	}

	all := limits.Enter(turns.Place{Index: 2}, turns.Place{Index: 0}, turns.Place{Index: 1})
	if diff := cmp.Diff([]string{"", "yes", "yes"}, answers(all)); diff != "" || expected != 2 {
		t.Errorf("%d claims are expected, answers (-want +got):\n%s", expected, diff)
	}

	limits.Stop()

	if diff := cmp.Diff([]string{"no", "", ""}, answers(all)); diff != "" || all[1].Start() {
		t.Errorf("after Stop (-want +got):\n%s", diff)
	}
}

func TestWorkersAreGivenInTheOrderOfTheBatchUntilNothingIsLeft(t *testing.T) {
	t.Parallel()

	idle, hasTime := 0, true
	limits := &turns.Limits{Workers: 1, HasTime: func() bool { return hasTime }, Idle: func() { idle++ }}
	all := limits.Enter(turns.Place{Index: 1, Unclaimed: true}, turns.Place{Index: 0, Unclaimed: true}, turns.Place{Index: 2, Unclaimed: true})

	for step, c := range []struct {
		then func()
		want []string
		idle int
	}{
		{func() {}, []string{"", "yes", ""}, 0},
		{func() { all[1].End(false) }, []string{"yes", "", ""}, 0},
		{func() { hasTime = false; all[0].End(false) }, []string{"", "", "no"}, 1},
	} {
		c.then()

		if diff := cmp.Diff(c.want, answers(all)); diff != "" || idle != c.idle {
			t.Errorf("step %d: idle %d times, want %d; answers (-want +got):\n%s", step, idle, c.idle, diff)
		}
	}
}

func TestStartRule(t *testing.T) {
	t.Parallel()

	const s = time.Second

	for name, c := range map[string]struct {
		timeout time.Duration
		took    []time.Duration
		left    time.Duration // of 20 s, until the reserve
		want    time.Duration // until the last start
	}{
		"a time-out":                             {3 * s, []time.Duration{9 * s}, 5 * s, 2 * s},
		"a time-out that does not fit any more":  {3 * s, nil, 2 * s, -s},
		"the first half is open to any":          {0, nil, 11 * s, s},
		"the longest, and a quarter more":        {0, []time.Duration{s, 4 * s, s}, 6 * s, s},
		"the longest is more than half the time": {0, []time.Duration{19 * s}, 11 * s, s},
	} {
		synctest.Test(t, func(t *testing.T) {
			end := time.Now().Add(c.left)
			rule := turns.StartRule{Begun: end.Add(-20 * s), End: end, Timeout: c.timeout, Durations: &turns.Durations{}}

			for _, took := range c.took {
				rule.Durations.Add(took)
			}

			if got := rule.UntilLastStart(); got != c.want || rule.HasTime() != (c.want >= 0) {
				t.Errorf("%s: %v until the last start, want %v; has time: %v", name, got, c.want, rule.HasTime())
			}
		})
	}

	if !(turns.StartRule{}).HasTime() {
		t.Error("without a deadline there is no time")
	}
}
