package planner_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// T is 5 ms throughout, and what is drawn is the middle of each range.
func TestAllWritesOfHotItemsStandBehindOneGate(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	first := y.submit(y.jointOf("a", "hot"))
	y.want(first, one("a"))
	y.want(y.land(first[0], planner.Gated, "hot", "1", "2"))

	closed := y.now.Add(30 * time.Millisecond) // between 4 T and 8 T

	y.want(y.submit(y.jointOf("b", "hot", "other")))

	cold := y.submit(y.jointOf("c", "cold"))
	y.want(cold, one("c"))
	y.want(y.land(cold[0], planner.Done))

	behind := y.wake()
	if !y.now.Equal(closed) {
		t.Errorf("the gate opened %v late", y.now.Sub(closed))
	}

	y.want(behind, one("a")) // and b, which has the same item, with the next one

	flights := y.land(behind[0], planner.Done)
	y.want(flights, one("b"))
	y.land(flights[0], planner.Done)
	y.pair(y.jointOf("d", "hot", "1"), y.jointOf("e", "2")) // after one conflict, a flight may touch any number of hot items
}

func TestTheGateIsClosedLongerAfterTheSecondConflictInARow(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	flights := y.submit(y.jointOf("a", "hot"))

	for _, want := range []time.Duration{30 * time.Millisecond, 45 * time.Millisecond, 45 * time.Millisecond} {
		y.want(y.land(flights[0], planner.Gated, "hot"))

		flights = y.wakeAfter(want)
		y.want(flights, one("a"))
	}

	y.land(flights[0], planner.Done) // a flight of hot items without a conflict ends the row
	flights = y.submit(y.jointOf("b", "hot"))
	y.want(y.land(flights[0], planner.Gated, "hot"))

	y.wakeAfter(30 * time.Millisecond)
}

// Else an unlucky write waits behind ever new ones of other processes, and the slowest messages become much slower than the
// others.
func TestTheGateIsClosedShortlyForAnOldWriteAndThenLongerAndLonger(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	flights := y.submit(y.adding("old", "hot"))
	flights[0].MayRepeat = true // it is sent once more as it was, which is a try
	y.want(y.land(flights[0], planner.NotNow))

	for range 2 {
		y.want(y.land(y.wake()[0], planner.Gated, "hot"))
	}

	y.want(y.submit(y.adding("young", "hot")))
	flights = y.wake()

	for _, closed := range []int{1, 2, 3, 4, 5, 6, 6} { // in T, at least: after the fourth try between T and 2 T, after the fifth between 2 T and 4 T
		y.want(flights, []string{"old", "young"})
		y.want(y.land(flights[0], planner.Gated, "hot"))

		flights = y.wakeAfter(time.Duration(closed) * 7500 * time.Microsecond)
	}

	y.land(flights[0], planner.Done)
	y.want(y.land(y.submit(y.jointOf("new", "hot"))[0], planner.Gated, "hot"))
	y.wakeAfter(30 * time.Millisecond)
}

// A throttled flight has met no item, so it says nothing of a row of conflicts. Nor does one without an answer, or one of cold
// items.
func TestAFlightThatWasThrottledDoesNotEndTheRow(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	first := y.jointOf("first", "hot")
	y.want(y.land(y.submit(first)[0], planner.Gated, "hot"))
	y.want(y.land(y.submit(y.jointOf("cold"))[0], planner.Done))

	flights := y.wake()
	y.planner.Land(y.now, flights[0], []planner.Answer{planner.NotNow}, 0.5)
	y.planner.Withdraw(first)

	flights = y.submit(y.jointOf("a", "hot"))
	y.want(flights, one("a"))

	for range 2 { // it is sent once more as it was, and then regrouped
		flights[0].MayRepeat = true
		y.want(y.land(flights[0], planner.NotNow))

		flights = y.wake()
		y.want(flights, one("a"))
	}

	y.want(y.land(flights[0], planner.Gated, "hot"))
	y.wakeAfter(45 * time.Millisecond)
}

// Of more than a thousand hot items the oldest ones are forgotten.
func TestAThousandItemsAreHotAtMost(t *testing.T) {
	t.Parallel()

	y := newYard(t)

	hot := make([]string, 1003)
	for i := range hot {
		hot[i] = fmt.Sprint("hot ", i%1002)
	}

	hot[1000], hot[1001], hot[1002] = hot[0], hot[1000], hot[1001] // the first one is hot anew

	y.land(y.submit(y.jointOf("a"))[0], planner.Done)
	y.want(y.land(y.submit(y.jointOf("b"))[0], planner.Done, hot...))
	y.want(y.submit(y.jointOf("c", "hot 0")))
	y.want(y.submit(y.jointOf("d", "hot 3")))
	y.want(y.submit(y.jointOf("e", "hot 1", "hot 2")), one("e"))
}

func TestAnItemIsHotFor64T(t *testing.T) {
	t.Parallel()

	for after, isGated := range map[time.Duration]bool{300 * time.Millisecond: true, 320 * time.Millisecond: false} {
		y := newYard(t)
		y.land(y.submit(y.jointOf("a", "hot"))[0], planner.Gated, "hot")
		y.now = y.now.Add(after)

		flights := y.depart() // a leaves; another conflict closes the gate for 60 ms, whose item is another one
		y.want(flights, one("a"))
		y.want(y.land(flights[0], planner.Done))

		other := y.submit(y.jointOf("b", "else"))
		y.now = y.now.Add(-10 * time.Millisecond)
		y.want(y.land(other[0], planner.Gated, "else"))

		if got := len(y.submit(y.jointOf("c", "hot"))) == 0; got != isGated {
			t.Errorf("%v after the conflict: gated %t, want %t", after, got, isGated)
		}
	}
}

func TestAConflictOnARecordAloneIsThePauseOfItsWrite(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.want(y.land(y.submit(y.jointOf("a", "item"))[0], planner.NotNow))
	y.want(y.submit(y.jointOf("b", "item")), one("b"))
}

// The end of another write has passed while it was under way.
func TestAWriteBehindTheGateEndsInTime(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	late := y.jointOf("a", "hot")
	late.End = y.now.Add(25 * time.Millisecond)
	flights := y.submit(late)

	other := y.jointOf("a") // waits, because the record is under way
	other.End = y.now.Add(2 * time.Millisecond)
	y.submit(other)

	y.now = y.now.Add(100 * time.Millisecond / 8)
	y.depart()
	y.land(flights[0], planner.Gated, "hot")

	for range 5 {
		if at := y.ready.Wake; at.IsZero() || at.After(late.End) {
			t.Fatalf("the next look is at %v, the end is %v", at, late.End)
		} else if y.now = at; len(y.depart()) == 0 && slices.Contains(y.ready.Over, late) {
			return
		}
	}

	t.Error("the write has not ended")
}

// A transaction that touches fewer hot items is cancelled less often, and costs less if it is.
func TestTheSecondConflictInARowHalvesTheHotItemsOfAFlight(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.conflictTwice("a", "b", "c", "d", "e")

	flights := y.wake()
	y.want(flights, []string{"a", "b"})
	y.want(y.submit(y.jointOf("f", "cold")))
	y.want(y.wake(), one("f")) // the others wait for longer, because another flight of hot items is under way
	y.want(y.land(flights[0], planner.Done), []string{"c", "d", "e"})
}

func TestAFlightOfHotItemsThatIsSentOnceMoreKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.conflictTwice("a", "b")

	flights := y.wake()
	y.want(flights, one("a"))

	flights[0].MayRepeat = true
	y.want(y.land(flights[0], planner.NotNow), one("b"))
}

func TestEachFlightOfHotItemsWithoutAConflictTakesOneMore(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.conflictTwice("a", "b", "c", "d", "e", "f")
	y.want(y.land(y.wake()[0], planner.Gated, "of a")) // of three

	flights := y.wake()
	for _, want := range [][]string{{"a"}, {"b", "c"}, {"d", "e", "f"}} {
		y.want(flights, want)
		flights = y.land(flights[0], planner.Done)
	}
}

// Else it would never leave.
func TestAWriteOfManyHotItemsIsTheOnlyHotOneOfItsFlight(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	flights := y.submit(y.jointOf("a", "hot"))
	y.land(flights[0], planner.Gated, "hot", "1", "2", "3")
	y.land(y.wake()[0], planner.Gated, "hot", "1", "2", "3") // a flight may touch one of them now
	y.want(y.submit(y.jointOf("b", "1", "2", "3")))
	y.want(y.submit(y.jointOf("c", "hot")))

	flights = y.wake()
	for _, want := range []string{"a", "b", "c"} {
		y.want(flights, one(want))
		flights = y.land(flights[0], planner.Done)
	}
}

// A conflict is the lesser evil then.
func TestAFlightOfHotItemsKeepsOthersWaitingFor4T(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.conflictTwice("a", "b")
	y.want(y.wake(), one("a"))

	y.want(y.wakeAfter(20*time.Millisecond), one("b"))
}

func TestAdditionsToOneHotItemTravelTogether(t *testing.T) {
	t.Parallel()

	y := newYard(t)

	add := func(record string) *planner.Write {
		w := y.jointOf(record)
		w.Joint.Items = itemsOf("sum", one("hot"))

		return w
	}

	y.want(y.land(y.submit(add("a"))[0], planner.Gated, "hot"))
	y.want(y.land(y.wake()[0], planner.Gated, "hot"))
	y.want(y.submit(add("b")))
	y.want(y.wake(), []string{"a", "b"})
}

// conflictTwice hands in writes of a group, each of an item of its own. They leave in one flight, which meets conflicts on all of
// them, and so does the next one.
func (y *yard) conflictTwice(records ...string) {
	y.Helper()

	var items []string

	group := &planner.Group{}

	for _, record := range records {
		w := y.jointOf(record, "of "+record)
		w.Group, w.Joint.Hold = group, time.Second
		items = append(items, "of "+record)

		y.planner.Submit(y.now, w)
	}

	group.Flush()

	for _, leave := range []func() []*planner.Flight{y.depart, y.wake} {
		flights := leave()
		y.want(flights, records)
		y.want(y.land(flights[0], planner.Gated, items...))
	}
}

// wakeAfter is wake, and demands that it is time to look again after so long.
func (y *yard) wakeAfter(want time.Duration) []*planner.Flight {
	y.Helper()

	begun := y.now
	flights := y.wake()

	if waited := y.now.Sub(begun); waited != want {
		y.Errorf("the next look is after %v, want %v", waited, want)
	}

	return flights
}
