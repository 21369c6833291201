package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// T is 5 ms throughout, and what is drawn is the middle of each range. gateTime is that between 5 T and 10 T.
const gateTime = 37500 * time.Microsecond

func TestAllWritesOfHotItemsStandBehindOneGate(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	first := y.submit(y.jointOf("a", "hot"))
	y.want(first, one("a"))
	y.want(y.land(first[0], planner.Gated, "hot", "1", "2"))

	closed := y.now.Add(gateTime)

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
	y.pair(y.jointOf("d", "hot", "1"), y.jointOf("e", "2")) // a flight may touch five hot items now: one, and two for each success
}

func TestEachConflictClosesTheGateForAsLong(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	flights := y.submit(y.jointOf("a", "hot"))

	for range 3 {
		y.want(y.land(flights[0], planner.Gated, "hot"))

		flights = y.wakeAfter(gateTime)
		y.want(flights, one("a"))
	}
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

	for _, closed := range []int{1, 2, 3, 4, 5, 5, 5} { // in T, at least: after the fourth try between T and 2 T, after the fifth between 2 T and 4 T
		y.want(flights, []string{"old", "young"})
		y.want(y.land(flights[0], planner.Gated, "hot"))

		flights = y.wakeAfter(time.Duration(closed) * 7500 * time.Microsecond)
	}

	y.land(flights[0], planner.Done)
	y.want(y.land(y.submit(y.jointOf("new", "hot"))[0], planner.Gated, "hot"))
	y.wakeAfter(gateTime)
}

// A throttled flight has met no item, so it says nothing of the contention for it. Nor does one without an answer, or one of cold
// items.
func TestOnlyAnAnsweredFlightOfHotItemsLetsTheNextOneTouchMore(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		land func(y *yard, f *planner.Flight)
		want int
	}{
		"answered":  {func(y *yard, f *planner.Flight) { y.land(f, planner.Done) }, 3},
		"no answer": {func(y *yard, f *planner.Flight) { y.planner.Land(y.now, f, []planner.Answer{planner.NotNow}, 0.5) }, 1},
		"throttled, once more as it was": {func(y *yard, f *planner.Flight) {
			f.MayRepeat = true
			y.want(y.land(f, planner.NotNow))
		}, 1},
		"throttled twice, and regrouped": {func(y *yard, f *planner.Flight) {
			for range 2 {
				f.MayRepeat = true
				y.want(y.land(f, planner.NotNow))
				f = y.wake()[0]
			}
		}, 1},
		"of a cold item": {func(y *yard, _ *planner.Flight) {
			y.submit(y.jointOf("cold"))
			y.land(y.wake()[0], planner.Done)
		}, 1},
	} {
		y := newYard(t)
		y.want(y.land(y.submit(y.jointOf("a", "hot"))[0], planner.Gated, "hot"))
		c.land(y, y.wake()[0])

		if got, want := y.planner.Text(y.now), fmt.Sprintf("hot items in a flight %d,", c.want); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want in it %s", name, got, want)
		}
	}
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
func TestAConflictHalvesTheHotItemsOfAFlight(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.conflict("a", "b", "c", "d", "e")

	flights := y.wake()
	y.want(flights, []string{"a", "b"})
	y.want(y.submit(y.jointOf("f", "cold")))
	y.want(y.wake(), one("f")) // the others wait for longer, because another flight of hot items is under way
	y.want(y.land(flights[0], planner.Done), []string{"c", "d", "e"})
}

func TestAFlightOfHotItemsThatIsSentOnceMoreKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.conflict("a", "b")

	flights := y.wake()
	y.want(flights, one("a"))

	flights[0].MayRepeat = true
	y.want(y.land(flights[0], planner.NotNow), one("b"))
}

func TestAfterEachFlightOfHotItemsWithoutAConflictTheNextTakesTwoMore(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	y.conflict("a", "b", "c", "d", "e", "f")
	y.want(y.land(y.wake()[0], planner.Gated, "of a")) // of three

	flights := y.wake()
	for _, want := range [][]string{{"a"}, {"b", "c", "d"}, {"e", "f"}} {
		y.want(flights, want)
		flights = y.land(flights[0], planner.Done)
	}
}

// Else it would never leave.
func TestAWriteOfManyHotItemsIsTheOnlyHotOneOfItsFlight(t *testing.T) {
	t.Parallel()

	y := newYard(t)
	flights := y.submit(y.jointOf("a", "hot"))
	y.land(flights[0], planner.Gated, "hot", "1", "2", "3", "4") // a flight may touch one of them now, and three after the next
	y.want(y.submit(y.jointOf("b", "1", "2", "3", "4")))
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
	y.conflict("a", "b")
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

// conflict hands in writes of a group, each of an item of its own. They leave in one flight, which meets conflicts on all of them.
func (y *yard) conflict(records ...string) {
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

	flights := y.depart()
	y.want(flights, records)
	y.want(y.land(flights[0], planner.Gated, items...))
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
