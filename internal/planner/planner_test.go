package planner

import "testing"

// runScripts runs a script for each name.
func runScripts(t *testing.T, scripts map[string]string) {
	t.Helper()

	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runScript(t, script)
		})
	}
}

func TestAloneAWriteLeavesAtOnce(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a write for which nothing is under way leaves at once": `
			a comes -> a`,
		"the next one, too, when the first one has landed": `
			a comes -> a
			+1ms, a lands ->
			b comes -> b`,
		"also if another one pauses": `
			a comes -> a
			+1ms, a lands not-now ->
			b comes -> b
			c comes -> next 2ms`,
		"a write that travels alone leaves at once beside others": `
			a comes -> a
			b comes alone -> b
			c comes alone -> c`,
		"a write that travels alone is not waited for": `
			a comes alone -> a
			b comes -> b`,
		"nothing wakes the planner for a request of one write": `
			a comes -> a next never`,
	})
}

func TestAWriteWaitsForOthersForAThirdOfT(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"while a flight is under way, a write waits until none is": `
			a comes -> a
			b comes, c comes -> next 2ms
			+1ms, a lands -> b+c`,
		"while a flight is under way, a write waits for a third of T": `
			a comes -> a
			b comes -> next 2ms
			+1.9ms -> next 100µs
			+0.1ms -> b`,
		"the write that has waited for the longest counts": `
			a comes -> a
			b comes ->
			+1ms, c comes -> next 1ms
			+1ms -> b+c`,
		"while a flight is under way, a full flight does not wait": `
			a comes -> a
			` + many("b", 24, "") + ` ->
			b25 comes -> ` + together("b", 1, 25) + `
			b26 comes -> next 2ms`,
		"it waits until none is under way, not for one of several": `
			a comes -> a
			b comes, +2ms -> b
			c comes ->
			a lands ->
			b lands -> c`,
		"at most eight flights are under way, however full the next one is": `
			` + eightFlights + `
			` + many("b", 30, "") + ` -> next 82ms
			+2ms ->
			a1 lands -> ` + together("b", 1, 25) + ``,
		"beyond the eighth, a write waits until one is overdue": `
			` + eightFlights + `
			b comes -> next 82ms
			+81ms ->
			+1ms -> b`,
		"a flight that takes longer than 100 ms is not waited for": `
			a comes -> a
			+99ms, b comes ->
			+1ms -> b`,
		"a write that comes later does not wait for it at all": `
			a comes -> a
			+100ms, b comes -> b
			c comes -> next 2ms`,
	})
}

// eightFlights are under way at the end, the first one for 18 ms.
const eightFlights = `
	a1 comes -> a1
	a2 comes, +2ms -> a2
	a3 comes, +2ms -> a3
	a4 comes, +2ms -> a4
	a5 comes, +2ms -> a5
	a6 comes, +2ms -> a6
	a7 comes, +2ms -> a7
	a8 comes, +2ms -> a8
	+4ms ->`

func TestGroupsHaveTheirTurns(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a flight takes the oldest write of each group, then the second one of each": `
			x comes -> x
			a1 comes in A, a2 comes in A, a3 comes in A, b1 comes in B, b2 comes in B, c1 comes in C ->
			x lands -> a1+b1+c1+a2+b2+a3`,
		"the writes of a group keep the order in which they came": `
			x comes -> x
			a comes in A ->
			x lands -> a
			b comes in A ->
			a lands not-now -> b
			c comes in A ->
			+25.1ms -> a+c`,
		"a group with many writes keeps another one waiting for no more than a turn": `
			x comes -> x
			` + many("a", 24, "in A") + ` ->
			a25 comes in A -> ` + together("a", 1, 25) + `
			` + many("c", 24, "in A") + ` ->
			b comes in B -> c1+b+` + together("c", 2, 24) + ``,
		"a group that was served goes behind the others": `
			x comes of R -> x
			` + many("a", 20, "in A of R") + ` ->
			` + many("b", 2, "of R in B") + ` ->
			x lands -> a1
			a1 lands -> b1
			b1 lands -> a2
			a2 lands -> b2`,
	})
}

func TestWhatAGroupAnnouncesDelaysItsOwnWritesOnly(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a claim waits for those that are announced": `
			G expects 2, G arrives, a comes in G -> next 10ms
			G arrives, b comes in G -> a+b`,
		"a claim waits for at most 10 ms": `
			G expects 2, G arrives, a comes in G -> next 10ms
			+9.9ms ->
			+0.1ms -> a`,
		"those that were waited for in vain are not waited for again": `
			G expects 2, G arrives, a comes in G, +10ms -> a
			+1ms, a lands, G goes ->
			G joins, b comes in G -> b`,
		"claims do not wait for another one when 25 are there": `
			G expects 26 ->
			` + many("a", 24, "in G") + ` ->
			a25 comes in G -> ` + together("a", 1, 25) + ``,
		"a write waits for a member of its group that is at work": `
			G joins, G joins, a comes in G -> next 200µs
			b comes in G -> a+b`,
		"a write waits for members at work for at most 0.2 ms": `
			G joins, G joins, a comes in G ->
			+0.19ms ->
			+0.01ms -> a`,
		"a write does not wait for a member that ends": `
			G joins, G joins, a comes in G ->
			G goes -> a`,
		"a write waits for members whose earlier writes are answered": `
			G joins, G joins, a comes in G ->
			b comes in G -> a+b
			a lands done rejected -> over b
			c comes in G -> next 200µs`,
		"a write that is sent again does not wait for those that are announced, which are still waited for": `
			a comes in G -> a
			G expects 2, a lands at-once -> a
			G arrives, b comes in G -> next 10ms
			a lands at-once -> a`,
		"one that comes unannounced is not counted as one that was announced later": `
			G arrives, G expects 1, a comes in G -> next 10ms`,
		"a write does not wait for members that wait themselves": `
			G joins, G joins, a comes in G ->
			b comes in G -> a+b
			a lands ->`,
		"a removal waits for members at work, for at most 0.1 s": `
			G joins, G joins, a comes in G removes -> next 100ms
			+99.9ms ->
			+0.1ms -> a`,
		"a removal waits while another write of its group has no answer, and two removals leave together": `
			a comes in G joint -> a
			b comes in G removes, +1ms, c comes in G removes -> next 99ms
			+9ms, a lands -> b+c`,
		"a removal that nothing of its group is beside leaves at once": `
			G joins, a comes in G removes -> a`,
		"a removal waits for at most half of its time": `
			G joins, G joins, a comes in G removes until 40ms -> next 20ms
			+20ms -> a`,
		"a removal leaves with another write of its group that leaves": `
			G joins, G joins, a comes in G removes -> next 100ms
			G joins, G joins, b comes in G -> next 200µs
			+0.2ms -> a+b`,
		"a removal does not keep back the writes of another group": `
			G joins, G joins, a comes in G removes ->
			b comes in H -> b`,
		"a removal of a group with an order waits as other writes do": `
			G keeps order, G joins, G joins, a comes in G removes -> next 200µs`,
		"a removal that has left waits no longer": `
			G joins, G joins, G joins, a comes in G removes, +100ms -> a
			+1ms, a lands not-now -> next 25.000001ms
			+25.1ms -> a`,
		"the members of a group do not delay another group": `
			G joins, G joins, a comes in G ->
			b comes in H -> b`,
		"an urgent extension does not wait for members at work": `
			G joins, G joins, a comes in G extends urgent -> a`,
		"an urgent extension does not wait for those that are announced, also while others do": `
			G expects 3, G arrives, a comes in G ->
			b comes in G extends urgent -> b`,
	})
}

func TestAWriteBelongsToItself(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a write whose answer is not now waits its own pause, and the others have their answers": `
			x comes -> x
			a comes, b comes -> 
			x lands -> a+b
			a lands not-now done -> next 25.000001ms
			c comes -> c
			c lands ->
			+25.1ms -> a`,
		"it takes the flight that leaves after its pause": `
			x comes -> x
			a comes, b comes ->
			x lands -> a+b
			a lands not-now not-now ->
			+24.9ms, y comes -> y
			+0.2ms -> next 1.900001ms
			c comes, y lands -> a+b+c`,
		"pauses double, up to the longest": `
			a comes pauses 60ms -> a
			a lands not-now -> next 25.000001ms
			+25.1ms -> a
			a lands not-now -> next 50.000001ms
			+50.1ms -> a
			a lands not-now -> next 60.000001ms
			+60.1ms -> a
			a lands not-now -> next 60.000001ms`,
		"a pause is at most half of the time that is left, so that tries go on until the end": `
			a comes until 41ms -> a
			+1ms, a lands not-now -> next 20ms
			+20ms -> a
			a lands not-now -> next 10ms
			+10ms -> a
			a lands not-now -> next 5ms`,
		"a write that has another statement is sent at once": `
			x comes -> x
			a comes, b comes ->
			x lands -> a+b
			a lands at-once done -> a`,
		"those that have another statement share their next request, beside other flights": `
			x comes -> x
			a comes, b comes ->
			x lands -> a+b
			c comes, +2ms -> c
			a lands at-once at-once -> a+b`,
		"a write that needs a request of its own is sent at once, beside others": `
			x comes -> x
			a comes, b comes ->
			x lands -> a+b
			c comes, +2ms -> c
			a lands alone-now done -> a`,
		"a write that is not processed three times while others are answered travels alone": `
			x comes -> x
			a comes, b comes ->
			x lands -> a+b
			a lands not-now done ->
			+24ms, x comes -> x
			+2ms, b comes, x lands -> a+b
			a lands not-now done ->
			+49ms, x comes -> x
			+2ms, b comes, x lands -> a+b
			a lands not-now done ->
			+99ms, x comes -> x
			+2ms, b comes -> a
			x lands -> b`,
		"a write that is not processed while the others are not, either, does not": `
			x comes -> x
			a comes pauses 25ms, b comes pauses 25ms ->
			x lands -> a+b
			a lands not-now not-now, +26ms -> a+b
			a lands not-now not-now, +26ms -> a+b
			a lands not-now not-now, +26ms -> a+b
			a lands not-now not-now, +26ms -> a+b`,
	})
}

func TestARefusalForAnotherReasonIsSentAgainForAsLongAsTheWriteSays(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a claim gives up at once": `
			a comes -> a
			a lands rejected -> over a`,
		"a settlement does not": `
			a comes denied 40ms -> a
			a lands rejected ->
			+26ms -> a
			a lands rejected ->
			+51ms -> a
			a lands rejected -> over a`,
		"another answer in between begins the time anew": `
			a comes denied 40ms -> a
			a lands rejected ->
			+26ms -> a
			a lands not-now ->
			+51ms -> a
			a lands rejected ->
			+101ms -> a
			a lands rejected -> over a`,
	})
}

func TestEnds(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a write that waits is given up at its end": `
			x comes -> x
			a comes until 1s, x lands -> a
			a lands not-now ->
			+26ms -> a
			b comes of a until 1s, +24ms -> b`,
		"a write that pauses for longer than until its end tries once more before it": `
			a comes until 30ms -> a
			a lands not-now -> next 15ms
			+15ms -> a
			+14ms, a lands not-now -> over a`,
		"a shared flight is left by the writes whose end comes": `
			x comes -> x
			a comes until 500ms, b comes until 1s ->
			x lands -> a+b next 500ms
			+500ms -> over a next 500ms
			+500ms -> over b next never`,
		"no try is made with less than 2 ms left": `
			a comes until 20ms -> a
			+18.1ms, a lands not-now -> over a`,
		"a first try has 100 ms, although the end of its write is past": `
			x comes -> x
			a comes until 0s, b comes until 1s, x lands -> a+b
			+99ms ->
			+1ms -> over a`,
		"a first try begins, although the end of its write is past": `
			a comes until 0s -> a`,
		"a further try has none": `
			a comes until 0s -> a
			a lands not-now -> over a`,
		"a first try has its 100 ms from the moment when it leaves": `
			x comes -> x
			a comes until 0s, b comes, +2ms -> a+b
			+99.9ms ->
			+0.1ms -> over a`,
		"what waits for its record is given up, although it has another statement, if its end is past": `
			x comes -> x
			a comes until 0s, b comes, x lands -> a+b
			+24ms, y comes of a ->
			+2ms -> y
			a lands at-once -> next 1ns
			+1ns -> over a`,
		"a write that waits for its record is given up at its end": `
			a comes until 40ms -> a
			a lands not-now -> next 20ms
			+19ms, y comes of a -> y
			+1ms -> next 20ms
			+20ms -> over a`,
		"a request of one write ends with its caller's time, of which the planner does not say anything": `
			x comes -> x
			a comes alone until 100ms -> a
			b comes until 110ms, c comes, x lands -> b+c
			+110ms -> over b
			a lands not-now -> over a`,
		"an end that is past does not hide those of others": `
			x comes -> x
			a comes until 0s, b comes until 300ms ->
			x lands -> a+b next 100ms
			+100ms -> over a next 200ms
			+200ms -> over b`,
		"a write that was alone is given up at its end while it waits for its record": `
			x comes -> x
			a comes alone until 150ms -> a
			b comes until 110ms, c comes until 1h, x lands -> b+c
			+110ms -> over b
			a lands not-now -> next 20ms
			+19.9ms, y comes of a -> y
			+0.1ms -> next 20ms
			+20ms -> over a
			y lands ->`,
		"a write whose caller has left does not leave any more": `
			x comes -> x
			a comes, b comes, a leaves, x lands -> b`,
		"nor after its pause": `
			a comes -> a
			a lands not-now, a leaves -> next never
			+26ms ->`,
		"nor if it has left while it was under way": `
			x comes -> x
			a comes, b comes, x lands -> a+b
			a leaves ->
			a lands not-now at-once -> b
			+30ms, b lands -> next never`,
		"nor if it travels alone": `
			x comes -> x
			a comes of x alone, a leaves ->
			x lands ->`,
	})
}

// Timers are late, and another event may come before them.
func TestWhatIsOverdueIsNotForgotten(t *testing.T) {
	t.Parallel()

	for name, script := range map[string]string{
		"a pause": `
			a comes -> a
			a lands not-now -> next 25.000001ms
			late 30ms, b comes -> b a`,
		"an end": `
			x comes, a comes until 1s -> x next 2ms
			late 2s, x lands -> over a next never`,
		"the end of the wait for others": `
			x comes, a comes -> x next 2ms
			late 3ms, b comes -> a+b`,
		"members that were announced": `
			G expects 2, G arrives, a comes in G -> next 10ms
			late 11ms, b comes in G -> a+b`,
		"a request that is sent once more": `
			a comes, b comes alone -> a b
			a lands not-now -> next 25.000001ms
			late 26ms, b lands -> a`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runScript(t, script)
		})
	}
}

func TestATryHasAThirdOfTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ script, want string }{
		"a third of the time":       {"a comes until 900ms", "300ms"},
		"of that of the last write": {"x comes, b comes until 300ms, a comes until 900ms, c comes until 600ms, x lands", "300ms"},
		"at most 2 s":               {"a comes until 1h", "2s"},
		"at least 100 ms":           {"a comes until 200ms", "100ms"},
		"at least 100 ms, also if the end is already past": {"a comes until 0s", "100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newStage(t)
			s.run(c.script)

			if got := s.flightOf("a").Limit.String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhoWaitsForAFlight(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.run("x comes, a comes, b comes, x lands")

	f := s.flightOf("a")
	if !f.IsShared() || !f.IsAwaited() || !f.Has(s.writes["a"]) {
		t.Error("the flight of a and b is shared, and both wait for it")
	}

	if s.run("a leaves"); !f.IsAwaited() || f.Has(s.writes["a"]) || !f.Has(s.writes["b"]) {
		t.Error("only b waits for it when a has left")
	}

	if s.run("b leaves"); f.IsAwaited() {
		t.Error("nobody waits for it when both have left")
	}

	if s.run("c comes, +2ms"); s.flightOf("c").IsShared() {
		t.Error("c is alone, so its flight is not shared")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a flight has at most 25 writes": `
			x comes alone -> x
			y comes -> y
			y2 comes, +2ms -> y2
			` + many("a", 24, "") + ` ->
			` + many("b", 24, "") + ` -> ` + together("a", 1, 24) + `+b1
			y lands, y2 lands ->
			a1 lands -> ` + together("b", 2, 24) + ``,
		"a flight has a record once": `
			x comes -> x
			a comes of R, b comes of R, c comes of S ->
			x lands -> a+c
			a lands -> b`,
		"a flight that is refused as a whole sends each of its writes alone, at once": `
			x comes -> x
			a comes, b comes, c comes, x lands -> a+b+c
			a lands alone-now alone-now alone-now -> a b c
			d comes -> d`,
		"without shared requests, each write is a request of its own": `
			single ->
			a comes -> a
			b comes -> b
			c comes of a ->
			a lands -> c`,
	})
}

func TestNoConflictWithOneself(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a write waits for the flight that has its record": `
			a comes of R -> a
			b comes of R -> next 24ms
			c comes -> next 2ms
			+2ms -> c
			a lands -> b`,
		"also if it travels alone": `
			a comes of R -> a
			c comes alone -> c
			c lands not-now, b comes of R alone -> next 24ms
			a lands -> b`,
		"also if the caller of the first one has left, because its request is under way": `
			x comes -> x
			a comes of R, b comes, x lands -> a+b
			a leaves, c comes of R, +2ms ->
			a lands -> c`,
		"for no longer than 4 T": `
			a comes of R -> a
			b comes of R ->
			+23.9ms ->
			+0.1ms -> b`,
		"for no longer than 4 T, also if it travels alone": `
			a comes of R -> a
			b comes of R alone ->
			+23.9ms ->
			+0.1ms -> b`,
		"the later one of two flights of a record counts": `
			a comes of R -> a
			b comes of R, +24ms -> b
			a lands ->
			c comes of R, +3ms ->
			b lands -> c`,
		"an extension gives way to a write that settles the record": `
			x comes of R -> x
			a comes of R in G extends, y comes in G, b comes of R in G ->
			+2ms -> y
			y lands ->
			x lands -> b
			b lands -> a`,
		"an extension does not give way to one of another group": `
			x comes of R -> x
			a comes of R in G extends, b comes of R in H ->
			x lands -> a
			a lands -> b`,
		"an extension gives way also where requests are not shared": `
			single, x comes of R -> x
			a comes of R in G extends, b comes of R in G ->
			x lands -> b
			b lands -> a`,
		"an extension does not give way to one of another group where requests are not shared, either": `
			single, x comes of R -> x
			a comes of R in G extends, b comes of R in H ->
			x lands -> a
			a lands -> b`,
		"an extension that is sent again gives way to one that came meanwhile": `
			a comes of R in G extends -> a
			a lands not-now, x comes of R in H -> x
			+25ms, b comes of R in G ->
			+0.1ms, x lands -> b
			b lands -> a`,
		"an urgent extension does not give way": `
			x comes of R -> x
			a comes of R in G extends urgent, b comes of R in G ->
			x lands -> a
			a lands -> b`,
		"an extension does not give way to another one": `
			x comes of R -> x
			a comes of R in G extends, b comes of R in G extends ->
			x lands -> a
			a lands -> b`,
		"an extension does not give way to a write of another record": `
			x comes -> x
			a comes in G extends, b comes in G ->
			x lands -> a+b`,
	})
}

func TestDenied(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"after a denial, writes travel alone": `
			x comes -> x
			a comes, b comes, x lands -> a+b
			denied ->
			a lands alone-now alone-now -> a b
			c comes -> c
			d comes -> d`,
		"those that wait for others leave at once": `
			x comes -> x
			a comes, b comes in G, c comes in G, denied -> a b c`,
		"a further denial in the five minutes is known": `
			denied ->
			+1m, denied -> again`,
		"after five minutes, one flight probes, and what waits beside it travels alone": `
			denied, +301s ->
			` + eightFlights + `
			` + many("b", 28, "") + ` ->
			a1 lands -> ` + together("b", 1, 25) + ` b26 b27 b28
			c comes -> c`,
		"the memory lasts for five minutes, not less": `
			denied, +299999ms, a comes -> a
			b comes -> b
			c comes -> c`,
		"what comes while one flight probes travels alone": `
			` + probing + `
			c comes -> c
			d comes -> d`,
		"a probe that is processed ends the memory": `
			` + probing + `
			a is processed, a lands ->
			c comes -> c
			d comes, e comes ->
			c lands -> d+e
			f comes, g comes ->
			d lands -> f+g`,
		"a probe that is denied renews the memory for five minutes": `
			` + probing + `
			denied ->
			a lands alone-now alone-now -> a b
			a lands, b lands, +299s ->
			c comes -> c
			d comes -> d`,
		"a probe without an answer is followed by another one": `
			` + probing + `
			a is lost not-now not-now ->
			+26ms -> a+b
			c comes -> c
			a is processed, a lands ->
			d comes -> d
			e comes, f comes ->
			d lands -> e+f`,
		"a flight that is no probe does not end the memory when it is processed": `
			x comes -> x
			a comes, b comes, x lands -> a+b
			denied, a is processed, a lands ->
			c comes -> c
			d comes -> d`,
	})
}

// probing has a flight of a and b under way, which asks whether shared requests are still denied.
const probing = `
	denied, +301s, x comes -> x
	a comes, b comes ->
	x lands -> a+b`
