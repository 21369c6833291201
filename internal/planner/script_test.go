package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// runScript runs a script: a line holds what happens at one moment, and behind an arrow what the planner says then.
//
//	a comes            a write is handed in; then, in any order: of R (it writes record R; else the record has the write's name), in G (it
//	                   belongs to group G; else to its own), alone, extends, urgent, until 1s (its end, from the start; else 1h), pauses 1s
//	                   (its longest pause; else 1s), denied 1s (how long it is sent again although it is rejected)
//	+2ms               the time passes; 4T is four times T, T/3 a third
//	late 2ms           the time passes, and the timer is late: the planner is called after the next event
//	a lands x y        the flight of a has these answers, in the order of its writes: done, not-now, rejected, at-once, alone-now; the others
//	                   are done
//	a is lost x y      the same, but DynamoDB did not answer the request
//	a leaves           its caller leaves
//	G expects 2        a group announces members; also: G arrives, G joins, G goes
//	denied             shared requests are denied; the result is "again" if that was known
//	single             no requests are shared at all
//	a is processed     DynamoDB has processed the flight of a
//
// What the planner says, in this order: a+b, a flight with these writes that leaves now; "over a", a write that is given up; and
// if the line asks for it, "next 2ms", when it wants to be called again, or "next never".
//
// At the beginning, the last fifteen flights have taken 6 ms each, so T is 6 ms and a third of it 2 ms. A write pauses as long as
// it may.
func runScript(t *testing.T, script string) {
	t.Helper()

	s := newStage(t)

	for line := range strings.Lines(script) {
		events, want, _ := strings.Cut(strings.TrimSpace(line), "->")
		if strings.TrimSpace(events) == "" {
			continue
		}

		s.said = nil
		s.run(events)

		want = strings.TrimSpace(want)
		if strings.Contains(want, "next") {
			s.sayNext()
		}

		if got := strings.Join(s.said, " "); got != want {
			t.Fatalf("%s: got %q, want %q; the planner:\n%s", strings.TrimSpace(line), got, want, s.p.Text(s.now))
		}
	}
}

// stage is a planner with what a script knows by name.
type stage struct {
	t          *testing.T
	p          Planner
	start, now time.Time
	writes     map[string]*Write
	groups     map[string]*Group
	flights    []*Flight // that have left
	ready      Ready     // what the planner has said last
	isLate     bool
	said       []string
}

func newStage(t *testing.T) *stage {
	t.Helper()

	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s := &stage{t: t, start: start, now: start, writes: map[string]*Write{}, groups: map[string]*Group{}}

	for range s.p.times[statements].last {
		s.p.times[statements].add(6 * time.Millisecond)
	}

	return s
}

// run lets events happen, one after the other.
func (s *stage) run(events string) {
	s.t.Helper()

	for event := range strings.SplitSeq(events, ",") {
		s.happens(strings.Fields(event))
		s.depart()
	}
}

func (s *stage) happens(event []string) {
	s.t.Helper()

	switch what := strings.Join(event[min(1, len(event)):], " "); {
	case event[0] == "denied":
		if !s.p.Deny(s.now) {
			s.said = append(s.said, "again")
		}
	case event[0] == "single":
		s.p.IsSingle = true
	case event[0] == "late":
		s.now, s.isLate = s.now.Add(s.duration(event[1])), true

		return
	case strings.HasPrefix(event[0], "+"):
		s.now = s.now.Add(s.duration(event[0][1:]))
	case strings.HasPrefix(what, "comes"):
		s.comes(event[0], event[2:])
	case strings.HasPrefix(what, "lands"):
		s.lands(event[0], true, event[2:])
	case strings.HasPrefix(what, "is lost"):
		s.lands(event[0], false, event[3:])
	case what == "leaves":
		s.p.Withdraw(s.writes[event[0]])
	case what == "is processed":
		s.p.Processed(s.flightOf(event[0]))
	default:
		s.groupChanges(s.group(event[0]), event[1:])
	}
}

func (s *stage) groupChanges(g *Group, what []string) {
	s.t.Helper()

	switch what[0] {
	case "expects":
		n, _ := strconv.Atoi(what[1])
		g.Expected += n
	case "arrives":
		g.Members, g.Expected = g.Members+1, max(0, g.Expected-1)
	case "joins":
		g.Members++
	case "goes":
		g.Members--
	default:
		s.t.Fatalf("no event: %v", what)
	}
}

func (s *stage) group(name string) *Group {
	if s.groups[name] == nil {
		s.groups[name] = &Group{}
	}

	return s.groups[name]
}

func (s *stage) duration(text string) time.Duration {
	s.t.Helper()

	if of, ok := strings.CutPrefix(text, "T/"); ok {
		n, _ := strconv.Atoi(of)

		return s.p.times[statements].t() / time.Duration(n)
	}

	if times, ok := strings.CutSuffix(text, "T"); ok {
		n, _ := strconv.Atoi(times)

		return s.p.times[statements].t() * time.Duration(n)
	}

	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}

	return d
}

func (s *stage) comes(name string, options []string) {
	s.t.Helper()

	w := &Write{
		Policy: Policy{End: s.start.Add(time.Hour), Pause: time.Second}, Record: name, Group: s.group("that of " + name), Handle: name,
	}

	for i, option := range options {
		switch option {
		case "of":
			w.Record = options[i+1]
		case "in":
			w.Group = s.group(options[i+1])
		case "alone":
			w.IsAlone = true
		case "extends":
			w.IsExtend = true
		case "urgent":
			w.IsUrgent = true
		case "until":
			w.End = s.start.Add(s.duration(options[i+1]))
		case "pauses":
			w.Pause = s.duration(options[i+1])
		case "denied":
			w.Denied = s.duration(options[i+1])
		}
	}

	s.writes[name] = w

	if f := s.p.Submit(s.now, w); f != nil {
		s.left(f)
	}
}

func (s *stage) lands(name string, isAnswered bool, answers []string) {
	s.t.Helper()

	f := s.flightOf(name)
	f.IsAnswered = isAnswered

	list := make([]Answer, len(f.Writes))
	for i, answer := range answers {
		list[i] = map[string]Answer{"done": Done, "not-now": NotNow, "rejected": Rejected, "at-once": AtOnce, "alone-now": AloneNow}[answer]
	}

	s.flights = without(s.flights, f)
	s.sayOver(s.p.Land(s.now, f, list, 1))
}

// flightOf returns the oldest flight under way in which a write has left, also if its caller does not wait any more.
func (s *stage) flightOf(name string) *Flight {
	s.t.Helper()

	for _, f := range s.flights {
		if slices.Contains(f.Writes, s.writes[name]) {
			return f
		}
	}

	s.t.Fatalf("%s is not under way; the planner:\n%s", name, s.p.Text(s.now))

	return nil
}

func (s *stage) depart() {
	if s.isLate {
		s.isLate = false

		return
	}

	s.ready = s.p.Ready(s.now)
	s.sayOver(s.ready.Over)

	for _, f := range s.ready.Flights {
		s.left(f)
	}
}

func (s *stage) left(f *Flight) {
	s.flights = append(s.flights, f)

	names := make([]string, len(f.Writes))
	for i, w := range f.Writes {
		names[i] = fmt.Sprint(w.Handle)
	}

	s.said = append(s.said, strings.Join(names, "+"))
}

func (s *stage) sayOver(over []*Write) {
	for _, w := range over {
		s.said = append(s.said, fmt.Sprint("over ", w.Handle))
	}
}

func (s *stage) sayNext() {
	if s.ready.Wake.IsZero() {
		s.said = append(s.said, "next never")
	} else {
		s.said = append(s.said, fmt.Sprint("next ", s.ready.Wake.Sub(s.now)))
	}
}

// many returns the events by which writes come, with the names of a letter and a number.
func many(letter string, n int, options string) string {
	events := make([]string, n)
	for i := range events {
		events[i] = fmt.Sprintf("%s%d comes %s", letter, i+1, options)
	}

	return strings.Join(events, ", ")
}

// together returns the text of a flight of writes with the names of a letter and a number.
func together(letter string, from, to int) string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, letter+strconv.Itoa(i))
	}

	return strings.Join(names, "+")
}
