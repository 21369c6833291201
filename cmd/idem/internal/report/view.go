package report

import (
	"html/template"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// view is what the page's template shows.
type view struct {
	Reading

	Now      time.Time
	ShowKeys bool
	Records  int

	Tiles              []tile
	States, Work       template.HTML
	Ages               []string
	StateAges          []stateAges
	Completed, Failing template.HTML
	Again              template.HTML

	P50, P90, P99, Longest time.Duration
	Measured, AtOnce       int
	Attempts               template.HTML
	Reasons                []Count
	Groups                 [4]int

	Stuck, Failed, Twice, Unsent, Parked list
	Causes, Targets, ParkedCauses        []Count
	Messages, ParkedMessages             int
	OldestUnsent                         time.Duration

	Writes, WritesToday, Dollars, DollarsToday float64
	ItemBytes, StoredMB                        float64
	ByHand                                     []Count
	ConsumedWrites, ConsumedReads              template.HTML
	ConsumedWriteUnits, ConsumedReadUnits      float64
	Changes                                    []Count
}

// stateAges are the keys of a state, by their ages.
type stateAges struct {
	State string
	Ages  []int
}

// list is a list of keys, cut to its oldest.
type list struct {
	Total int
	Rows  []Row
	What  string // the heading of the text column
	Since string // of the time column
}

// tile is a number that an operator looks for first.
type tile struct {
	Name, Value, Note, Command, Link string
	IsBad                            bool
}

func (t *Totals) view(r Reading) *view {
	v := &view{
		Reading: r, Now: t.now, ShowKeys: t.showKeys, Ages: ageLabels[:],
		States: t.statesPlot(), Work: t.workPlot(), Attempts: t.attemptsPlot(),
		Completed: t.hoursPlot("completed keys by hour", "ok", func(h hour) int { return h.completed }),
		Failing:   t.hoursPlot("first claims of keys that failed for good, by hour", "bad", func(h hour) int { return h.failed }),
		Again:     t.hoursPlot("leases that were taken over, by hour", "warn", func(h hour) int { return h.again }),
		P50:       t.work.quantile(0.5), P90: t.work.quantile(0.9), P99: t.work.quantile(0.99), Longest: t.work.max,
		Measured: t.work.total, AtOnce: t.atOnce,
		Stuck:  list{t.stuck.total, t.stuck.rows, "last failure", "lease ended"},
		Failed: list{t.failed.total, t.failed.rows, "last failure", "first claim"},
		Twice:  list{t.twice.total, t.twice.rows, "why", "lease before ended"},
		Unsent: list{t.unsent.total, t.unsent.rows, "targets", "completed"},
		Parked: list{t.parked.total, t.parked.rows, "targets", "completed"},
		Causes: t.causes.first(12), Targets: t.targets.first(12), ParkedCauses: t.parkedCauses.first(12),
		Messages: t.messages, ParkedMessages: t.parkedMessages,
		Writes: t.writes, WritesToday: t.writesToday, Dollars: t.writes * dollarsPerWrite, DollarsToday: t.writesToday * dollarsPerWrite,
	}

	for _, n := range t.statuses {
		v.Records += n
	}

	for _, status := range order {
		if of := t.ages[status]; of != nil {
			v.StateAges = append(v.StateAges, stateAges{string(status), of[:]})
		}
	}

	for group, n := range t.groups {
		v.Groups[group] = n
	}

	for _, reason := range slices.Sorted(maps.Keys(t.reasons)) {
		v.Reasons = append(v.Reasons, Count{reasonText(reason), t.reasons[reason]})
	}

	if !t.oldestUnsent.IsZero() {
		v.OldestUnsent = t.now.Sub(t.oldestUnsent)
	}

	v.ByHand = counts(t.byHand).first(12)
	v.Tiles = v.tiles(t)
	v.addReading(r)

	return v
}

// addReading adds how large the records are, and what was read beside them.
func (v *view) addReading(r Reading) {
	if r.Read > 0 { // a unit of a scan is 8 KB, and each page is rounded up
		v.ItemBytes = r.Units * 8 * unitBytes / float64(r.Read)
		v.StoredMB = v.ItemBytes * math.Max(float64(r.About), float64(r.Read)) / (1 << 20)
	}

	if c := r.Consumed; c != nil {
		name := func(i int) string {
			return c.Begin.Add(time.Duration(i) * c.Resolution).UTC().Format("2006-01-02 15:04Z")
		}
		x := axis{name, map[int]string{0: name(0)}}

		v.ConsumedWrites = columns("consumed write units", "ok", c.Writes, x)
		v.ConsumedReads = columns("consumed read units", "warn", c.Reads, x)

		for _, units := range c.Writes {
			v.ConsumedWriteUnits += units
		}

		for _, units := range c.Reads {
			v.ConsumedReadUnits += units
		}
	}

	if r.Stream != nil {
		v.Changes = counts(r.Stream.Kinds).first(mostTexts)
	}
}

// tiles are the answers to what an operator asks first.
func (v *view) tiles(t *Totals) []tile {
	inDoubt := t.groups[InDoubt] + t.groups[Pending]
	unsent := tile{
		Name: "messages not sent", Value: number(float64(t.messages)),
		Command: "idem list unsent", Link: "unsent", IsBad: v.OldestUnsent > 5*time.Minute,
	}

	if t.messages > 0 {
		unsent.Note = "the oldest for " + Span(v.OldestUnsent)
	}

	// bad is a number that is to be 0.
	bad := func(n int, t tile) tile {
		t.Value, t.IsBad = number(float64(n)), n > 0

		return t
	}

	return []tile{
		bad(t.statuses[operate.Stuck], tile{Name: "stuck", Note: "the lease ran out", Command: "idem list stuck", Link: "stuck"}),
		bad(t.statuses[operate.Failed], tile{
			Name: "failed for good", Note: "refused until somebody reopens them", Command: "idem list failed", Link: "failed",
		}),
		bad(inDoubt, tile{
			Name: "may have happened twice", Note: "without those whose effects were staged", Command: "idem list twice", Link: "twice",
		}),
		unsent,
		bad(t.parkedMessages, tile{Name: "messages parked", Note: "can never be sent as they are", Command: "idem list parked", Link: "parked"}),
		{Name: "held", Value: number(float64(t.statuses[operate.Held])), Note: "a worker has them", Command: "idem list held", Link: "states"},
		{Name: "completed", Value: number(float64(t.statuses[operate.Completed])), Note: "duplicates are answered", Link: "states"},
		bad(t.statuses[operate.Corrupt], tile{
			Name: "not readable", Note: "another version, or no record", Command: "idem list corrupt", Link: "states",
		}),
	}
}
