package planner

import (
	"fmt"
	"strings"
	"testing"
)

func TestHotItems(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		// A flight may touch five hot items at the end: one, and two for each success.
		"all writes of hot items stand behind one gate": `
			draws 0.5, a comes touching hot -> a
			a lands gated on hot+1+2 -> next 37.5ms
			b comes touching hot+other ->
			c comes touching cold -> c
			+5ms, c lands -> next 32.5ms
			+32.5ms -> a
			a lands -> b
			b lands ->
			d comes touching hot+1 held in G, e comes touching 2 held in G, G flushes -> d+e`,
		"each conflict closes the gate for as long": `
			draws 0.5, a comes touching hot -> a` + strings.Repeat(`
			a lands gated on hot -> next 37.5ms
			+37.5ms -> a`, 3),
		// Of more than a thousand hot items the oldest ones are forgotten.
		// The first one is hot anew behind the thousandth.
		"a thousand items are hot at most": `
			a comes joint -> a
			a lands ->
			b comes joint -> b
			b lands done on ` + together("hot", 0, 999) + `+hot0+hot1000+hot1001 ->
			c comes touching hot0 ->
			d comes touching hot3 ->
			e comes touching hot1+hot2 -> e`,
		"a conflict on a record alone is the pause of its write": `
			a comes touching item -> a
			a lands not-now ->
			b comes touching item -> b`,
		// The end of another write has passed while it was under way.
		"a write behind the gate ends in time": `
			a comes touching hot until 25ms -> a
			b comes of a joint until 2ms ->
			+12.5ms ->
			+5ms, a lands gated on hot -> b next 7.5ms
			+7.5ms -> over a`,
		// A transaction that touches fewer hot items is cancelled less often, and costs less if it is.
		// The others wait for longer than f, because another flight of hot items is under way.
		"a conflict halves the hot items of a flight": inConflict("a", "b", "c", "d", "e") + `
			+50ms -> a+b
			f comes touching cold ->
			+2ms -> f
			a lands -> c+d+e`,
		"a flight of hot items that is sent once more keeps no other waiting": inConflict("a", "b") + `
			+50ms -> a
			a lands not-now repeatable -> b`,
		"after each flight of hot items without a conflict the next takes two more": inConflict("a", "b", "c", "d", "e", "f") + `
			+50ms -> a+b+c
			a lands all gated on of-a ->
			+50ms -> a
			a lands -> b+c+d
			b lands -> e+f`,
		// Else it would never leave.
		// A flight may touch one of them first, and three after the next.
		"a write of many hot items is the only hot one of its flight": `
			a comes touching hot -> a
			a lands gated on hot+1+2+3+4 ->
			b comes touching 1+2+3+4, c comes touching hot ->
			+50ms -> a
			a lands -> b
			b lands -> c`,
		// A conflict is the lesser evil then.
		"a flight of hot items keeps others waiting for 4 T": inConflict("a", "b") + `
			+50ms -> a next 20ms
			+20ms -> b`,
		"additions to one hot item travel together": `
			a comes adds hot -> a
			a lands gated on hot ->
			+50ms -> a
			a lands gated on hot ->
			b comes adds hot ->
			+50ms -> a+b`,
	})
}

// Else an unlucky write waits behind ever new ones of other processes, and the slowest messages become much slower than the
// others.
func TestTheGateIsClosedShortlyForAnOldWriteAndThenLongerAndLonger(t *testing.T) {
	t.Parallel()

	script := `
		draws 0.5, old comes adds hot -> old
		old lands not-now repeatable -> next 12.500001ms // it is sent once more as it was, which is a try
		+12500001ns -> again:old
		old lands gated on hot -> next 37.5ms
		+37.5ms -> old
		old lands gated on hot -> next 37.5ms
		young comes adds hot, +37.5ms -> old+young`

	// After the fourth try between T and 2 T, after the fifth between 2 T and 4 T.
	for _, closed := range []string{"7.5ms", "15ms", "22.5ms", "30ms", "37.5ms", "37.5ms", "37.5ms"} {
		script += fmt.Sprintf(`
		old lands all gated on hot -> next %[1]s
		+%[1]s -> old+young`, closed)
	}

	runScript(t, script+`
		old lands ->
		new comes touching hot -> new
		new lands gated on hot -> next 37.5ms`)
}

// A throttled flight has met no item, so it says nothing of the contention for it. Nor does one without an answer, or one of cold
// items.
func TestOnlyAnAnsweredFlightOfHotItemsLetsTheNextOneTouchMore(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		events string
		want   int
	}{
		"answered":                       {"a lands", 3},
		"no answer":                      {"a is lost not-now", 1},
		"throttled, once more as it was": {"a lands not-now repeatable", 1},
		"throttled twice, and regrouped": {"a lands not-now repeatable, +26ms, a lands not-now repeatable, +51ms", 1},
		"of a cold item":                 {"cold comes joint, +2ms, cold lands", 1},
	} {
		s := newStage(t)
		s.run("a comes touching hot, a lands gated on hot, +50ms")
		s.run(c.events)

		if got, want := s.p.Text(s.now), fmt.Sprintf("hot items in a flight %d,", c.want); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want in it %s", name, got, want)
		}
	}
}

func TestAnItemIsHotFor64T(t *testing.T) {
	t.Parallel()

	// Another conflict, on another item, closes the gate meanwhile.
	for after, want := range map[string]string{"319ms": "", "320ms": "c"} {
		runScript(t, `
			a comes touching hot -> a
			a lands gated on hot ->
			+`+after+` -> a
			a lands ->
			b comes touching else -> b
			b lands gated on else ->
			c comes touching hot -> `+want)
	}
}

// inConflict has writes leave in one flight, which meets conflicts on all of their items.
func inConflict(names ...string) string {
	var comes, items []string
	for _, name := range names {
		comes = append(comes, fmt.Sprintf("%s comes touching of-%[1]s held in G", name))
		items = append(items, "of-"+name)
	}

	return fmt.Sprintf(`
		%s, G flushes -> %s
		%s lands all gated on %s ->`, strings.Join(comes, ", "), strings.Join(names, "+"), names[0], strings.Join(items, "+"))
}
