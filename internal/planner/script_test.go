package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// runScript runs a script on a planner of its own: a line holds what happens at one moment, and behind an arrow what the planner
// says then. What stands behind // is a comment.
//
//	a comes            a write is handed in; then, in any order: of R (it writes record R; else the record has the write's name), in G (it
//	                   belongs to group G; else to its own), alone, extends, urgent, removes, until 1s (its end, from the start; else 1h), pauses 1s
//	                   (its longest pause; else 1s), denied 1s (how long it is sent again although it is rejected); of a write that
//	                   travels in a transaction: joint, touching x+y (items beside its record; ? for one whose key nobody knows),
//	                   adds x+y (items to which it only adds; x/c: under condition c), held (by 100ms for others of its group),
//	                   unrecorded
//	+2ms               the time passes; 4T is four times T, T/3 a third
//	late 2ms           the time passes, and the timer is late: the planner is called after the next event
//	a lands x y        the flight of a has these answers, in the order of its writes: done, not-now, rejected, at-once, alone-now; the others
//	                   are done; all x: each of them has this answer; behind them: on x+y (the items in conflict), repeatable (it may
//	                   be sent once more as it was), in-progress, met (a record whose key had ended has refused it)
//	a is lost x y      the same, but DynamoDB did not answer the request
//	a leaves           its caller leaves
//	G expects 2        a group announces members; also: G arrives, G joins, G goes, G flushes, G keeps order
//	denied             shared requests are denied; the result is "again" if that was known
//	single             no requests are shared at all
//	a is processed     DynamoDB has processed the flight of a
//	a is read yes no   the read before the flight of a has landed, and has answered these of its writes
//	reads denied       reads before transactions are denied; the result is "again" if that was known
//	draws 0.5          from now on, a write pauses for this part of its longest pause, and the gate is closed for 5 T and this part
//	                   of 5 T; else for 10 T
//
// What the planner says, in this order: a+b, a flight with these writes that leaves now, again:a+b, one that is sent once more as
// it was, read:a+b, one that is preceded by a read; "over a", a write that is given up; and if the line asks for it, "next 2ms",
// when it wants to be called again, or "next never".
//
// At the beginning, the last fifteen flights have taken 6 ms each, so T is 6 ms and a third of it 2 ms, and the last fifteen
// transactions 5 ms. A write pauses as long as it may.
func runScript(t *testing.T, script string) {
	t.Helper()
	newStage(t).runScript(script)
}

func (s *stage) runScript(script string) {
	s.t.Helper()

	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(line, "//")
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
			s.t.Fatalf("%s: got %q, want %q; the planner:\n%s", strings.TrimSpace(line), got, want, s.p.Text(s.now))
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
	jitter     float64
	said       []string
}

func newStage(t *testing.T) *stage {
	t.Helper()

	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s := &stage{t: t, start: start, now: start, jitter: 1, writes: map[string]*Write{}, groups: map[string]*Group{}}

	for range s.p.times[statements].last {
		s.p.times[statements].add(6 * time.Millisecond)
		s.p.times[transactions].add(5 * time.Millisecond)
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
		s.sayKnown(s.p.Deny(s.now))
	case event[0] == "reads":
		s.sayKnown(s.p.DenyReads(s.now))
	case event[0] == "draws":
		s.jitter, _ = strconv.ParseFloat(event[1], 64)
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
	case strings.HasPrefix(what, "is read"):
		s.isRead(s.flightOf(event[0]), event[3:])
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
	case "keeps":
		g.IsOrdered = true
	case "flushes":
		g.Flush()
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

	w := s.write(name, options)
	s.writes[name] = w

	if f := s.p.Submit(s.now, w); f != nil {
		s.left(f)
	}
}

func (s *stage) write(name string, options []string) *Write {
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
		case "removes":
			w.IsRemoval = true
		case "until":
			w.End = s.start.Add(s.duration(options[i+1]))
		case "pauses":
			w.Pause = s.duration(options[i+1])
		case "denied":
			w.Denied = s.duration(options[i+1])
		default:
			w.join(options[i:])
		}
	}

	return w
}

// join reads an option of a write that travels in a transaction.
func (w *Write) join(options []string) {
	joint := Joint{}
	if w.Joint != nil {
		joint = *w.Joint
	}

	switch options[0] {
	case "joint":
	case "touching":
		joint.Items = itemsOf(options[1], "")
	case "adds":
		joint.Items = itemsOf(options[1], "+")
	case "held":
		joint.Hold = 100 * time.Millisecond
	case "unrecorded":
		joint.IsUnrecorded = true
	default:
		return // what belongs to another option
	}

	w.Joint = &joint
}

func itemsOf(list, as string) (items []Item) {
	for item := range strings.SplitSeq(list, "+") {
		key, condition, _ := strings.Cut(item, "/")
		items = append(items, Item{Key: strings.Trim(key, "?"), As: as + condition})
	}

	return items
}

func (s *stage) lands(name string, isAnswered bool, answers []string) {
	s.t.Helper()

	f := s.flightOf(name)
	f.IsAnswered = isAnswered

	list := make([]Answer, len(f.Writes))
	known := map[string]Answer{"done": Done, "not-now": NotNow, "rejected": Rejected, "at-once": AtOnce, "alone-now": AloneNow, "gated": Gated}

	for i, word := range answers {
		switch word {
		case "all":
			list = slices.Repeat([]Answer{known[answers[i+1]]}, len(list))
		case "on":
			f.Conflicts = strings.Split(answers[i+1], "+")
		case "repeatable":
			f.MayRepeat = true
		case "in-progress":
			f.IsInProgress = true
		case "met":
			f.HasMetEnded = true
		default:
			if answer, isAnswer := known[word]; isAnswer && answers[0] != "all" {
				list[i] = answer
			}
		}
	}

	s.flights = without(s.flights, f)
	s.sayOver(s.p.Land(s.now, f, list, s.jitter))
}

// isRead lands the read before a flight. A flight that has no writes any more has landed, too.
func (s *stage) isRead(f *Flight, words []string) {
	answered := make([]bool, len(words))
	for i, word := range words {
		answered[i] = word == "yes"
	}

	if s.p.Read(s.now, f, answered); len(f.Writes) == 0 {
		s.flights = without(s.flights, f)
		s.sayOver(s.p.Land(s.now, f, nil, s.jitter))
	}
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

	said := strings.Join(names, "+")
	if f.ReadsFirst {
		said = "read:" + said
	}

	if f.Handle != nil {
		said = "again:" + said
	}

	f.Handle = "it has left"
	s.said = append(s.said, said)
}

func (s *stage) sayOver(over []*Write) {
	for _, w := range over {
		s.said = append(s.said, fmt.Sprint("over ", w.Handle))
	}
}

func (s *stage) sayKnown(isNew bool) {
	if !isNew {
		s.said = append(s.said, "again")
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

// pair returns the events by which two writes come that leave in one transaction.
func pair(a, b string) string {
	return fmt.Sprintf("%[1]s comes held in %[1]s%[2]s, %[2]s comes held in %[1]s%[2]s, %[1]s%[2]s flushes", a, b)
}
