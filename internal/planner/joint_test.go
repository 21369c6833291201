package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// yard is a planner of transactions with a clock that the test moves.
type yard struct {
	*testing.T

	planner planner.Planner
	now     time.Time
	ready   planner.Ready // what the planner has said last
}

func newYard(t *testing.T) *yard {
	t.Helper()

	return &yard{T: t, now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
}

// jointOf returns a write of a record and these items that has a minute.
func (y *yard) jointOf(record string, items ...string) *planner.Write {
	return &planner.Write{
		Policy: planner.Policy{End: y.now.Add(time.Minute), Pause: time.Second}, Record: record, Group: &planner.Group{},
		Joint: &planner.Joint{Items: itemsOf("", items)},
	}
}

func itemsOf(as string, keys []string) (items []planner.Item) {
	for _, key := range keys {
		items = append(items, planner.Item{Key: key, As: as})
	}

	return items
}

// submit hands a write in and returns the flights that leave now.
func (y *yard) submit(w *planner.Write) []*planner.Flight {
	if f := y.planner.Submit(y.now, w); f != nil {
		return []*planner.Flight{f}
	}

	return y.depart()
}

func (y *yard) depart() []*planner.Flight {
	y.ready = y.planner.Ready(y.now)

	return y.ready.Flights
}

// land lands a flight whose writes all have this answer, after 5 ms.
func (y *yard) land(f *planner.Flight, answer planner.Answer, conflicts ...string) []*planner.Flight {
	y.now = y.now.Add(5 * time.Millisecond)
	f.IsAnswered, f.Conflicts = true, conflicts
	y.planner.Land(y.now, f, slices.Repeat([]planner.Answer{answer}, len(f.Writes)), 0.5)

	return y.depart()
}

// wake moves the clock to the next time at which something may leave. It returns the flights that do.
func (y *yard) wake() []*planner.Flight {
	if y.ready.Wake.IsZero() {
		y.Fatalf("nothing is to be woken:\n%s", y.planner.Text(y.now))
	}

	y.now = y.ready.Wake

	return y.depart()
}

// want demands flights of these records.
func (y *yard) want(flights []*planner.Flight, records ...[]string) {
	y.Helper()

	var got [][]string

	for _, f := range flights {
		var names []string
		for _, w := range f.Writes {
			names = append(names, w.Record)
		}

		got = append(got, names)
	}

	if fmt.Sprint(got) != fmt.Sprint(records) {
		y.Errorf("flights of %v, want %v\n%s", got, records, y.planner.Text(y.now))
	}
}

// What a flight says of its last try says nothing of the next one.
func TestAFlightThatIsSentOnceMoreBeginsAnew(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	w := y.jointOf("a", "hot")
	w.Joint.IsUnrecorded = true

	f := y.submit(w)[0]
	f.MayRepeat, f.IsInProgress = true, true
	y.want(y.land(f, planner.NotNow, "hot"))

	if again := y.wake(); len(again) != 1 || again[0] != f {
		t.Fatalf("got %v, want the flight once more", again)
	}

	if !f.Born.Equal(y.now) || f.IsAnswered || f.IsInProgress || f.MayRepeat || f.Conflicts != nil {
		t.Errorf("got %+v, born %v before", f, y.now.Sub(f.Born))
	}
}

func TestACommitDoesNotWaitForClaimsThatAreAnnounced(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	w := y.jointOf("a")
	w.Group.Expected = 2
	y.want(y.submit(w), one("a"))
}

func TestACommitThatWaitsForMembersAtWorkDoesNotEndTheWaitOfClaims(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	w := y.jointOf("a")
	w.Group.Members, w.Group.Expected = 2, 2
	y.want(y.submit(w))
	y.want(y.wakeAfter(200*time.Microsecond), one("a"))

	claim := y.jointOf("b")
	claim.Joint, claim.Group = nil, w.Group
	y.want(y.submit(claim))
}

func TestTheLimitsOfATransaction(t *testing.T) {
	t.Parallel()

	many := func(n int) []planner.Item { return make([]planner.Item, n) } // of items whose keys nobody knows

	for name, c := range map[string]struct {
		change func(i int, w *planner.Write)
		want   []int // writes
	}{
		"25 records":         {func(int, *planner.Write) {}, []int{25, 5}},
		"100 items":          {func(_ int, w *planner.Write) { w.Joint.Items = many(9) }, []int{10, 10, 10}},
		"4 MB":               {func(_ int, w *planner.Write) { w.Joint.Size = 1 << 20 }, []int{4, 4, 4, 4, 4, 4, 4, 2}},
		"101 items":          {func(i int, w *planner.Write) { w.Joint.Items = many(9 + max(0, 1-i)) }, []int{9, 10, 10}},
		"4 MB and a byte":    {func(i int, w *planner.Write) { w.Joint.Size = 1<<20 + max(0, 1-i) }, []int{3, 4, 4, 4, 4, 4, 4}},
		"64 KB of results":   {func(_ int, w *planner.Write) { w.Joint.Value = 32 << 10 }, []int{2, 2, 2, 2, 2, 2, 2, 2}},
		"an item once":       {func(_ int, w *planner.Write) { w.Joint.Items = itemsOf("", one("same")) }, []int{1}},
		"a record once":      {func(_ int, w *planner.Write) { w.Record = "same" }, []int{1}},
		"a large one, alone": {func(_ int, w *planner.Write) { w.Joint.Value = 1 << 20 }, []int{1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			y, group := newYard(t), &planner.Group{}

			for i := range 30 {
				w := y.jointOf(fmt.Sprint(i))
				w.Group, w.Joint.Hold = group, 100*time.Millisecond
				c.change(i, w)
				y.planner.Submit(y.now, w)
			}

			group.Flush()

			var got []int

			for flights := y.depart(); len(flights) > 0 && len(got) < len(c.want); flights = y.wake() {
				for _, f := range flights {
					got = append(got, len(f.Writes))
				}

				if len(got) >= len(c.want) {
					break
				}
			}

			if !slices.Equal(got, c.want) {
				t.Errorf("flights of %v writes, want %v", got, c.want)
			}
		})
	}
}

func TestACommitWaitsForOthersOfItsGroupOnly(t *testing.T) {
	t.Parallel()

	y, group := newYard(t), &planner.Group{}
	held := y.jointOf("a")
	held.Group, held.Joint.Hold = group, 100*time.Millisecond
	y.want(y.submit(held))

	flights := y.submit(y.jointOf("b"))
	y.want(flights, one("b"))
	y.want(y.land(flights[0], planner.Done))

	begun := y.now.Add(-5 * time.Millisecond)
	y.want(y.wake(), one("a"))

	if waited := y.now.Sub(begun); waited != 100*time.Millisecond {
		t.Errorf("it has waited for %v", waited)
	}
}

func TestATransactionIsSentOnceMoreWhileAllItsCallersWait(t *testing.T) {
	t.Parallel()

	for name, leaves := range map[string]bool{"all wait": false, "one has left": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			y, group := newYard(t), &planner.Group{}
			writes := []*planner.Write{y.jointOf("a"), y.jointOf("b"), y.jointOf("c")}

			for _, w := range writes {
				w.Group, w.Joint.Hold = group, 100*time.Millisecond
				y.planner.Submit(y.now, w)
			}

			group.Flush()

			f := y.depart()[0]
			f.MayRepeat = true
			y.want(y.land(f, planner.NotNow))

			if leaves {
				y.planner.Withdraw(writes[1])
			}

			again := y.wake()
			if leaves {
				y.want(again, one("a", "c"))
			} else {
				y.want(again, one("a", "b", "c"))
			}

			if (again[0] == f) == leaves {
				t.Errorf("the same flight: %t", again[0] == f)
			}

			again[0].MayRepeat = true
			y.want(y.land(again[0], planner.NotNow))

			if next := y.wake(); !leaves && next[0] == f {
				t.Error("it is sent as it was for a third time")
			}
		})
	}
}

// Statements and transactions do not travel together, and each waits for its own flights.
func TestAStatementDoesNotWaitForATransaction(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.want(y.submit(y.jointOf("a")), one("a"))

	statement := y.jointOf("b")
	statement.Joint = nil
	y.want(y.submit(statement), one("b"))

	settled := y.jointOf("a") // the record is under way
	settled.Joint = nil
	y.want(y.submit(settled))

	y.submit(y.jointOf("a"))

	if y.ready.Wake.IsZero() {
		t.Error("nothing wakes the planner for a statement and a transaction that wait")
	}
}

func TestAnExtensionGivesWayToATransactionOfItsRecord(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	first := y.submit(y.jointOf("a"))

	settles := y.jointOf("a")
	extends := &planner.Write{Policy: settles.Policy, Record: "a", Group: settles.Group, IsExtend: true}
	y.want(y.submit(extends))
	y.want(y.submit(settles))

	if next := y.land(first[0], planner.Done); len(next) != 1 || !next[0].Has(settles) {
		t.Errorf("got %+v, want the write that settles", next)
	}
}

// It keeps nobody waiting meanwhile.
func TestATransactionThatIsSentOnceMoreWaitsForItsItems(t *testing.T) {
	t.Parallel()

	for _, isUnrecorded := range []bool{false, true} {
		y := newYard(t)
		w := y.jointOf("a", "x")
		w.Joint.IsUnrecorded = isUnrecorded
		f := y.submit(w)[0]
		f.MayRepeat, f.Handle = true, "what was sent"
		y.want(y.land(f, planner.NotNow))

		other := y.submit(y.jointOf("b", "x"))
		y.want(other, one("b"))
		y.want(y.wake())

		again := y.land(other[0], planner.Done)
		y.want(again, one("a"))
		y.want(y.submit(y.jointOf("c", "x")))
		y.now = y.now.Add(20 * time.Millisecond) // longer than it would wait for others
		y.want(y.depart())

		if isSame := again[0].Handle != nil; isSame != isUnrecorded {
			t.Errorf("it is sent as it was: %t, want %t", isSame, isUnrecorded)
		}

		if y.want(y.land(again[0], planner.Done), one("c")); !y.ready.Wake.IsZero() {
			t.Errorf("it is sent again although it was answered:\n%s", y.planner.Text(y.now))
		}
	}
}

func TestATransactionIsNotSentOnceMoreAfterItsEnd(t *testing.T) {
	t.Parallel()

	for name, left := range map[string]time.Duration{"it lands with no time left": 6 * time.Millisecond, "its timer is late": time.Second} {
		y := newYard(t)
		w := y.jointOf("a")
		w.End = y.now.Add(left)
		f := y.submit(w)[0]
		f.MayRepeat = true
		y.want(y.land(f, planner.NotNow))

		if left == time.Second {
			y.now = w.End
			y.want(y.depart())
		}

		if f.IsAwaited() || !y.ready.Wake.IsZero() {
			t.Errorf("%s: it is sent once more:\n%s", name, y.planner.Text(y.now))
		}
	}
}

func TestWhoHasLeftIsNotGivenUp(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	a, b := y.jointOf("a"), y.jointOf("b")
	f := y.pair(a, b)
	f.MayRepeat = true
	y.planner.Withdraw(a)

	if over := y.planner.Land(b.End, f, []planner.Answer{planner.NotNow, planner.NotNow}, 0.5); !slices.Equal(over, []*planner.Write{b}) {
		t.Errorf("got %v, want the other one", over)
	}
}

// adding returns a write of a record that adds to these items, under one condition.
func (y *yard) adding(record string, items ...string) *planner.Write {
	w := y.jointOf(record)
	w.Joint.Items = itemsOf("+", items)

	return w
}

func TestWritesThatAddToOneItemTravelTogether(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	first := y.submit(y.jointOf("first", "x"))

	other := y.adding("other", "x")
	other.Joint.Items[0].As = "+unless closed"

	for _, w := range []*planner.Write{y.adding("a", "x"), y.adding("b", "x", "y"), y.jointOf("c", "y"), other, y.adding("d", "y", "x")} {
		y.want(y.submit(w))
	}

	second := y.land(first[0], planner.Done)
	y.want(second, one("a", "b", "d"))

	third := y.land(second[0], planner.Done) // c writes y otherwise, and the condition of the other is another one
	y.want(third, one("c", "other"))
	y.want(y.land(third[0], planner.Done))
}

func TestAnItemThatIsAddedToCountsOnce(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	first := y.submit(y.jointOf("first"))
	items := func(from, to int) (names []string) {
		for i := from; i < to; i++ {
			names = append(names, fmt.Sprint(i))
		}

		return names
	}

	y.want(y.submit(y.adding("a", items(0, 60)...)))
	y.want(y.submit(y.adding("b", items(40, 98)...))) // now there are 98 items and two records

	second := y.submit(y.adding("c", items(0, 98)...))
	y.want(second, one("a", "b")) // nothing more fits
	y.want(y.land(first[0], planner.Done))
	y.want(y.land(second[0], planner.Done), one("c"))
}

func TestItemsWhoseKeysNobodyKnowsAreNotTheSame(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.want(y.submit(y.jointOf("a", "")), one("a"))
	y.want(y.submit(y.jointOf("b", "")))
	y.want(y.wakeAfter(5*time.Millisecond/3), one("b"))
}

func TestAnItemThatIsAddedToCanBeHot(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	first := y.submit(y.adding("a", "hot"))
	y.want(y.land(first[0], planner.Gated, first[0].Writes[0].Joint.Items[0].Key))
	y.want(y.submit(y.adding("b", "hot")))
	y.want(y.wake(), one("a", "b"))
}

// pair hands in two writes that leave together, and returns their flight.
func (y *yard) pair(a, b *planner.Write) *planner.Flight {
	y.Helper()

	group := &planner.Group{}
	for _, w := range []*planner.Write{a, b} {
		w.Group, w.Joint.Hold = group, time.Second
		y.planner.Submit(y.now, w)
	}

	group.Flush()

	flights := y.depart()
	y.want(flights, []string{a.Record, b.Record})

	return flights[0]
}

// meet lets a write meet a record whose key has ended.
func (y *yard) meet() {
	y.Helper()

	f := y.submit(y.jointOf("met"))[0]
	f.HasMetEnded = true
	y.land(f, planner.Done)
}

// readsOf returns whether each of the next flights of two writes is preceded by a read.
func (y *yard) readsOf(n int) (reads []bool) {
	y.Helper()

	for i := range n {
		f := y.pair(y.jointOf(fmt.Sprint("a", i)), y.jointOf(fmt.Sprint("b", i)))
		reads = append(reads, f.ReadsFirst)
		y.land(f, planner.Done)
	}

	return reads
}

func TestTheNextTenTransactionsAreReadFirstAfterARecordWasMet(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	if got := y.readsOf(1); got[0] {
		t.Error("a read precedes a transaction although no record was met")
	}

	y.meet()

	if y.submit(y.jointOf("alone"))[0].ReadsFirst {
		t.Error("a read precedes a transaction of one record")
	}

	y.now = y.now.Add(time.Second) // it is overdue

	if got, want := y.readsOf(12), append(slices.Repeat([]bool{true}, 10), false, false); !slices.Equal(got, want) {
		t.Errorf("read first: %v, want %v", got, want)
	}
}

func TestARecordThatIsReadCountsAsMet(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()
	y.readsOf(9)

	f := y.pair(y.jointOf("a"), y.jointOf("b"))
	y.planner.Read(y.now, f, []bool{true, false})
	y.land(f, planner.Done)

	if got := y.readsOf(11); !got[9] || got[10] {
		t.Errorf("read first: %v, want ten more", got)
	}
}

func TestNoReadIsMadeThatIsDeniedOrCannotBe(t *testing.T) {
	t.Parallel()

	for name, turnOff := range map[string]func(*yard){
		"denied":                         func(y *yard) { y.planner.DenyReads(y.now) },
		"denied almost five minutes ago": func(y *yard) { y.planner.DenyReads(y.now.Add(time.Second - 5*time.Minute)) },
		"no shared requests":             func(y *yard) { y.planner.IsSingle = true },
	} {
		y := newYard(t)
		y.meet()
		turnOff(y)

		if got := y.readsOf(2); slices.Contains(got, true) {
			t.Errorf("%s: read first: %v", name, got)
		}
	}

	if y := newYard(t); !y.planner.DenyReads(y.now) || y.planner.DenyReads(y.now.Add(5*time.Minute)) {
		t.Error("a denial is new once in five minutes")
	}
}

// The first of two transactions at a time asks whether reads are still denied. Its answer decides about the next one.
func TestADenialOfReadsIsAskedForAfterFiveMinutes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		answer func(y *yard, f *planner.Flight)
		want   bool
	}{
		"it ends":      {answer: func(y *yard, f *planner.Flight) { y.planner.Processed(f) }, want: true},
		"it lasts":     {answer: func(y *yard, _ *planner.Flight) { y.planner.DenyReads(y.now) }},
		"no answer":    {answer: func(*yard, *planner.Flight) {}, want: true},
		"another kind": {answer: func(y *yard, f *planner.Flight) { y.planner.Deny(y.now); y.planner.Processed(f) }, want: true},
	} {
		y := newYard(t)
		y.meet()
		y.planner.DenyReads(y.now)
		y.now = y.now.Add(5*time.Minute + 1)

		probe := y.pair(y.jointOf("a"), y.jointOf("b"))
		y.now = y.now.Add(time.Second) // it is overdue, so that nobody waits for it
		beside := y.pair(y.jointOf("c"), y.jointOf("d"))

		if !probe.ReadsFirst || beside.ReadsFirst {
			t.Errorf("%s: the first is read first: %v, and one beside it: %v", name, probe.ReadsFirst, beside.ReadsFirst)
		}

		c.answer(y, probe)
		y.planner.Read(y.now, probe, []bool{false, false})
		y.land(probe, planner.Done)
		y.now = y.now.Add(time.Second) // the one beside it is overdue, too

		if got := y.readsOf(1); got[0] != c.want {
			t.Errorf("%s: the next is read first: %v", name, got)
		}

		y.land(beside, planner.Done)

		if got := y.readsOf(1); got[0] != c.want {
			t.Errorf("%s: the one after it is read first: %v", name, got)
		}
	}
}

// A flight that asked once and is sent once more asks no more.
func TestATransactionThatIsSentOnceMoreProbesNoMore(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()
	y.planner.DenyReads(y.now)
	y.now = y.now.Add(5*time.Minute + 1)

	first := y.pair(y.jointOf("a"), y.jointOf("b"))
	first.MayRepeat = true
	y.land(first, planner.NotNow)

	second := y.pair(y.jointOf("c"), y.jointOf("d"))

	y.now = y.now.Add(time.Second)
	y.want(y.depart(), []string{"a", "b"})
	y.land(first, planner.Done)

	third := y.pair(y.jointOf("e"), y.jointOf("f"))
	if !second.ReadsFirst || third.ReadsFirst {
		t.Errorf("read first: %v and %v, want the second only", second.ReadsFirst, third.ReadsFirst)
	}
}

func TestATransactionDoesNotAskWhetherSharedStatementsAreStillDenied(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.planner.Deny(y.now)
	y.now = y.now.Add(5*time.Minute + 1)
	y.pair(y.jointOf("a"), y.jointOf("b"))

	if !y.planner.Shares(y.now) {
		t.Error("a statement does not ask, because a transaction does")
	}
}

func TestStatementsAreNotReadFirst(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()

	group := &planner.Group{Expected: 2}
	for _, record := range []string{"a", "b"} {
		group.Expected--
		y.planner.Submit(y.now, &planner.Write{Policy: planner.Policy{End: y.now.Add(time.Minute)}, Record: record, Group: group})
	}

	if f := y.depart(); len(f) != 1 || f[0].ReadsFirst {
		t.Errorf("got %+v", f)
	}
}

// The writes that the read has answered hold nothing any more, and the others still hold what they share with them.
func TestAFlightGoesOnWithoutWhatItsReadHasAnswered(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()

	a := y.adding("a", "x", "own")
	f := y.pair(a, y.adding("b", "x"))
	y.now = y.now.Add(3 * time.Millisecond)
	y.planner.Read(y.now, f, []bool{true, false})

	if f.Has(a) || len(f.Writes) != 1 || f.Writes[0].Record != "b" || !f.Born.Equal(y.now) || !f.IsShared() || !f.IsAwaited() {
		t.Errorf("got %+v", f)
	}

	y.want(y.submit(y.adding("c", "x"))) // it waits for b
	y.now = y.now.Add(2 * time.Millisecond)
	y.want(y.depart())
	y.want(y.submit(y.adding("a", "own")))
	y.want(y.wake(), one("a"))
	y.want(y.land(f, planner.Done), one("c"))
}

// It has what it shares with a flight that left meanwhile no longer.
func TestAFlightWhoseReadTookLongDoesNotFreeWhatALaterOneHas(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()

	f := y.pair(y.adding("a", "x"), y.adding("b", "x"))
	y.want(y.submit(y.adding("c", "x")))
	y.want(y.wakeAfter(20*time.Millisecond), one("c"))

	y.planner.Read(y.now, f, []bool{false, false})
	y.want(y.land(f, planner.Done))
	y.want(y.submit(y.adding("d", "x")))

	if at := y.ready.Wake.Sub(y.now); at != 15*time.Millisecond {
		t.Errorf("the next look is after %v, want 15ms: then the later one has had 4 T", at)
	}
}

func TestAFlightGoesOnWithoutAWriteWhoseCallerHasLeftDuringItsRead(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()

	a, b := y.jointOf("a"), y.jointOf("b")
	f := y.pair(a, b)
	y.planner.Withdraw(a)
	y.planner.Read(y.now, f, []bool{false, false})

	if !slices.Equal(f.Writes, []*planner.Write{b}) {
		t.Errorf("got %+v", f)
	}

	y.now = y.now.Add(2 * time.Millisecond)
	y.want(y.submit(y.jointOf("a")))
	y.now = y.now.Add(2 * time.Millisecond)
	y.want(y.wake(), one("a"))
}

func TestAFlightAllOfWhichIsAnsweredHasLanded(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()

	f := y.pair(y.jointOf("a"), y.jointOf("b"))
	y.planner.Read(y.now, f, []bool{true, true})

	if got := y.planner.Land(y.now, f, nil, 1); got != nil || f.IsAwaited() {
		t.Errorf("got %v", got)
	}

	y.want(y.submit(y.jointOf("a")), one("a"))
}

// The first is refused. The other two leave at once, and their records did not stand in the way a moment ago.
func TestWhatHasJustBeenSeenIsNotReadFirst(t *testing.T) {
	t.Parallel()

	for name, answer := range map[string]planner.Answer{"at once": planner.AtOnce, "after a pause": planner.NotNow} {
		y := newYard(t)
		a, b := y.jointOf("a"), y.jointOf("b")
		f := y.pair(a, b)
		f.HasMetEnded = true

		flights := y.land(f, answer)
		if answer == planner.NotNow {
			flights = y.wake()
		}

		y.want(flights, []string{"a", "b"})

		if flights[0].ReadsFirst != (answer == planner.NotNow) {
			t.Errorf("%s: read first %v", name, flights[0].ReadsFirst)
		}
	}
}

func TestATransactionThatIsSentOnceMoreIsNotReadFirst(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.meet()

	f := y.pair(y.jointOf("a"), y.jointOf("b"))
	if !f.ReadsFirst {
		t.Fatal("it is not read first")
	}

	f.MayRepeat = true
	y.land(f, planner.NotNow)

	if again := y.wake(); len(again) != 1 || again[0] != f || f.ReadsFirst || f.HasMetEnded {
		t.Errorf("got %+v", f)
	}
}

// DynamoDB refuses for a conflict at once, so that such an answer says nothing of how long a write takes.
func TestAConflictDoesNotCountForT(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	times := func() string {
		text := y.planner.Text(y.now) + "\n"

		return text[:strings.IndexAny(text, ",\n")]
	}

	before, f := times(), y.submit(y.jointOf("a", "hot"))[0]
	y.now = y.now.Add(time.Second)
	y.want(y.land(f, planner.Gated, "hot"))

	if after := times(); after != before {
		t.Errorf("got %q, before the conflict %q", after, before)
	}
}

func one(record ...string) []string { return record }
