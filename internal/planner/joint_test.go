package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTransactions(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"a commit does not wait for claims that are announced": `G expects 2, a comes joint in G -> a`,
		"a commit that waits for members at work does not end the wait of claims": `
			G joins, G joins, G expects 2, a comes joint in G -> next 200µs
			+0.2ms -> a
			b comes in G ->`,
		"a commit waits for others of its group only": `
			a comes held in G -> next 100ms
			b comes joint -> b
			+5ms, b lands -> next 95ms
			+95ms -> a`,
		// Statements and transactions do not travel together, and each waits for its own flights.
		"a statement does not wait for a transaction": `
			a comes joint -> a
			b comes -> b
			settled comes of a, a2 comes joint of a -> next 20ms`,
		"an extension gives way to a transaction of its record": `
			a comes joint -> a
			extends comes of a in G extends, settles comes joint of a in G ->
			+5ms, a lands -> settles`,
		"who has left is not given up": `
			a comes held in G until 1s, b comes held in G until 1s, G flushes -> a+b
			a leaves, late 1s, a lands all not-now repeatable -> over b`,
		// c writes y otherwise, and the condition of the other is another one.
		"writes that add to one item travel together": `
			first comes touching x -> first
			a comes adds x, b comes adds x+y, c comes touching y, other comes adds x/closed, d comes adds y+x ->
			first lands -> a+b+d
			a lands -> c+other
			c lands -> next never`,
		"items whose keys nobody knows are not the same": `
			a comes touching ? -> a
			b comes touching ? -> next 1.666666ms
			+1666666ns -> b`,
		"a record that is read counts as met": met + strings.Repeat(twoRead, 9) + `
			` + pair("a", "b") + ` -> read:a+b
			a is read yes no, +5ms, b lands ->` + strings.Repeat(twoRead, 10) + twoAlone,
		// A flight that asked once and is sent once more asks no more.
		"a transaction that is sent once more probes no more": met + `
			reads denied, +5m1ns ->
			` + pair("a", "b") + ` -> read:a+b
			+5ms, a lands all not-now repeatable ->
			` + pair("c", "d") + ` -> read:c+d
			+1s -> again:a+b
			+5ms, a lands ->
			` + pair("e", "f") + ` -> e+f`,
		"statements are not read first": met + `
			G expects 2, G arrives, a comes in G ->
			G arrives, b comes in G -> a+b`,
		// It has what it shares with a flight that left meanwhile no longer.
		"a flight whose read took long does not free what a later one has": met + `
			a comes adds x held in G, b comes adds x held in G, G flushes -> read:a+b
			c comes adds x -> next 20ms
			+20ms -> c
			a is read no no, +5ms, a lands ->
			d comes adds x -> next 15ms // then the later one has had 4 T`,
		"a transaction that is sent once more is not read first": met + `
			` + pair("a", "b") + ` -> read:a+b
			+5ms, a lands all not-now repeatable ->
			+26ms -> again:a+b`,
	})
}

// What a flight says of its last try says nothing of the next one.
func TestAFlightThatIsSentOnceMoreBeginsAnew(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.run("a comes touching hot unrecorded")

	f := s.flightOf("a")
	s.runScript(`
		+5ms, a lands not-now on hot repeatable in-progress ->
		+26ms -> again:a`)

	if !f.Born.Equal(s.now) || f.IsAnswered || f.IsInProgress || f.MayRepeat || f.Conflicts != nil {
		t.Errorf("got %+v, born %v before", f, s.now.Sub(f.Born))
	}
}

func TestTheLimitsOfATransaction(t *testing.T) {
	t.Parallel()

	many := func(n int) []Item { return make([]Item, n) } // of items whose keys nobody knows

	for name, c := range map[string]struct {
		change func(i int, w *Write)
		want   []int // writes
	}{
		"25 records":         {func(int, *Write) {}, []int{25, 5}},
		"100 items":          {func(_ int, w *Write) { w.Joint.Items = many(9) }, []int{10, 10, 10}},
		"4 MB":               {func(_ int, w *Write) { w.Joint.Size = 1 << 20 }, []int{4, 4, 4, 4, 4, 4, 4, 2}},
		"101 items":          {func(i int, w *Write) { w.Joint.Items = many(9 + max(0, 1-i)) }, []int{9, 10, 10}},
		"4 MB and a byte":    {func(i int, w *Write) { w.Joint.Size = 1<<20 + max(0, 1-i) }, []int{3, 4, 4, 4, 4, 4, 4}},
		"64 KB of results":   {func(_ int, w *Write) { w.Joint.Value = 32 << 10 }, []int{2, 2, 2, 2, 2, 2, 2, 2}},
		"an item once":       {func(_ int, w *Write) { w.Joint.Items = itemsOf("same", "") }, []int{1}},
		"a record once":      {func(_ int, w *Write) { w.Record = "same" }, []int{1}},
		"a large one, alone": {func(_ int, w *Write) { w.Joint.Value = 1 << 20 }, []int{1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newStage(t)

			for i := range 30 {
				w := s.write(fmt.Sprint(i), []string{"held", "in", "G"})
				c.change(i, w)
				s.p.Submit(s.now, w)
			}

			var got []int

			for s.run("G flushes"); len(got) < len(c.want) && len(s.ready.Flights) > 0; s.depart() {
				for _, f := range s.ready.Flights {
					got = append(got, len(f.Writes))
				}

				s.now = s.ready.Wake
			}

			if !slices.Equal(got, c.want) {
				t.Errorf("flights of %v writes, want %v", got, c.want)
			}
		})
	}
}

func TestATransactionIsSentOnceMoreWhileAllItsCallersWait(t *testing.T) {
	t.Parallel()

	const begun = `
		a comes held in G, b comes held in G, c comes held in G, G flushes -> a+b+c
		+5ms, a lands all not-now repeatable ->`

	runScripts(t, map[string]string{
		"all wait": begun + `
			+26ms -> again:a+b+c
			+5ms, a lands all not-now repeatable ->
			+51ms -> a+b+c`,
		"one has left": begun + `
			b leaves, +26ms -> a+c
			+5ms, a lands all not-now repeatable ->
			+51ms -> again:a+c
			+5ms, a lands -> next never`,
	})
}

// It keeps nobody waiting meanwhile.
func TestATransactionThatIsSentOnceMoreWaitsForItsItems(t *testing.T) {
	t.Parallel()

	for options, again := range map[string]string{"": "a", "unrecorded": "again:a"} {
		runScript(t, `
			a comes touching x `+options+` -> a
			+5ms, a lands not-now repeatable ->
			+15ms, b comes touching x -> b
			+11ms ->
			b lands -> `+again+`
			c comes touching x ->
			+19ms ->
			a lands -> c next never`)
	}
}

func TestATransactionIsNotSentOnceMoreAfterItsEnd(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"it lands with no time left": `
			a comes joint until 6ms -> a
			+5ms, a lands not-now repeatable -> over a next never`,
		"its timer is late": `
			a comes joint until 1s -> a
			+5ms, a lands not-now repeatable ->
			+995ms -> over a next never`,
	})
}

func TestAnItemThatIsAddedToCountsOnce(t *testing.T) {
	t.Parallel()

	items := func(from, to int) string { return together("", from, to-1) }

	// The first two have 98 items and two records, so that nothing more fits.
	runScript(t, `
		first comes joint -> first
		a comes adds `+items(0, 60)+`, b comes adds `+items(40, 98)+` ->
		c comes adds `+items(0, 98)+` -> a+b
		+5ms, first lands ->
		+5ms, a lands -> c`)
}

const (
	// met has a write meet a record whose key has ended.
	met = `
		met comes joint -> met
		+5ms, met lands met ->`

	// twoAlone and twoRead have two writes leave in a transaction and land; a read precedes the one of twoRead.
	twoAlone = `
		p comes held in G, q comes held in G, G flushes -> p+q
		+5ms, p lands ->`
	twoRead = `
		p comes held in G, q comes held in G, G flushes -> read:p+q
		+5ms, p lands ->`
)

func TestTheNextTenTransactionsAreReadFirstAfterARecordWasMet(t *testing.T) {
	t.Parallel()

	alone := `
		alone comes joint -> alone
		+1s ->` // it is overdue then

	runScript(t, twoAlone+met+alone+strings.Repeat(twoRead, 10)+twoAlone+twoAlone)
}

func TestNoReadIsMadeThatIsDeniedOrCannotBe(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"denied":                         met + "\n reads denied ->" + twoAlone + twoAlone,
		"denied almost five minutes ago": met + "\n reads denied, +299s ->" + twoAlone + twoAlone,
		"no shared requests":             met + "\n single ->" + twoAlone + twoAlone,
		"a denial is new once in five minutes": `
			reads denied ->
			+5m, reads denied -> again`,
	})
}

// The first of two transactions at a time asks whether reads are still denied. Its answer decides about the next one.
func TestADenialOfReadsIsAskedForAfterFiveMinutes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ answer, next string }{
		"it ends":      {"a is processed ->", twoRead},
		"it lasts":     {"reads denied ->", twoAlone},
		"no answer":    {"", twoRead},
		"another kind": {"denied, a is processed ->", twoRead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runScript(t, met+`
				reads denied, +5m1ns ->
				`+pair("a", "b")+` -> read:a+b
				+1s -> // it is overdue, so that nobody waits for it
				`+pair("c", "d")+` -> c+d
				`+c.answer+`
				a is read no no, +5ms, a lands ->
				+1s -> // the one beside it is overdue, too
				`+c.next+`
				c lands ->`+c.next)
		})
	}
}

func TestATransactionDoesNotAskWhetherSharedStatementsAreStillDenied(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.runScript(`
		denied, +5m1ns ->
		` + pair("a", "b") + ` -> a+b`)

	if !s.p.Shares(s.now) {
		t.Error("a statement does not ask, because a transaction does")
	}
}

// The writes that the read has answered hold nothing any more, and the others still hold what they share with them.
func TestAFlightGoesOnWithoutWhatItsReadHasAnswered(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.runScript(met + `
		a comes adds x+own held in G, b comes adds x held in G, G flushes -> read:a+b
		+3ms, a is read yes no ->`)

	f := s.flightOf("b")
	if f.Has(s.writes["a"]) || len(f.Writes) != 1 || !f.Born.Equal(s.now) || !f.IsShared() || !f.IsAwaited() {
		t.Errorf("got %+v", f)
	}

	s.runScript(`
		c comes adds x -> // it waits for b
		+2ms ->
		a2 comes of a adds own -> next 1.666666ms
		+1666666ns -> a2
		+5ms, b lands -> c`)
}

func TestAFlightGoesOnWithoutAWriteWhoseCallerHasLeftDuringItsRead(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.runScript(met + `
		` + pair("a", "b") + ` -> read:a+b
		a leaves, a is read no no ->`)

	if f := s.flightOf("b"); !slices.Equal(f.Writes, []*Write{s.writes["b"]}) {
		t.Errorf("got %+v", f)
	}

	s.runScript(`
		+2ms, a2 comes joint of a -> next 1.666666ms
		+1666666ns -> a2`)
}

func TestAFlightAllOfWhichIsAnsweredHasLanded(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.runScript(met + `
		` + pair("a", "b") + ` -> read:a+b`)

	f := s.flightOf("a")
	s.runScript(`
		a is read yes yes ->
		a2 comes joint of a -> a2`)

	if f.IsAwaited() {
		t.Error("somebody still waits for it")
	}
}

// The first is refused. The other two leave at once, and their records did not stand in the way a moment ago.
func TestWhatHasJustBeenSeenIsNotReadFirst(t *testing.T) {
	t.Parallel()

	runScripts(t, map[string]string{
		"at once": pair("a", "b") + ` -> a+b
			+5ms, a lands all at-once met -> a+b`,
		"after a pause": pair("a", "b") + ` -> a+b
			+5ms, a lands all not-now met ->
			+26ms -> read:a+b`,
	})
}

// DynamoDB refuses for a conflict at once, so that such an answer says nothing of how long a write takes.
func TestAConflictDoesNotCountForT(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	before := s.p.times[transactions]
	s.run("a comes touching hot, +1s, a lands gated on hot")

	if after := s.p.times[transactions]; after != before {
		t.Errorf("got %+v, before the conflict %+v", after, before)
	}
}
