package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// setting is one run: a fleet of environments, each of which always has the next batch.
type setting struct {
	environments, batch, partitions int
	popular                         float64 // share of messages with one of a million popular keys, by Zipf's law; the others are new
}

// figures are what a run has shown.
type figures struct {
	setting

	messages           int     // that ended within the measured time
	rate               float64 // of them, a second
	requests, units    float64 // a message
	throttled          float64 // writes that were throttled, a message
	p50, p99           time.Duration
	duplicates, failed int
}

// The time of a run: the first part is not measured.
const (
	settles  = 500 * time.Millisecond
	measured = time.Second
	deadline = 30 * time.Second // of a batch
)

// most is how many messages a run may begin.
const most = 300_000

// fleet is a run in virtual time: an event queue over the planners of all environments.
type fleet struct {
	setting

	queue    events
	now      time.Duration
	order    int
	began    int // messages
	random   *rand.Rand
	zipf     *rand.Zipf
	db       *database
	seen     map[string]bool
	figures  figures
	took     []time.Duration
	requests int // when the measured time began
	units    int
	throttle int
}

// event is what happens at a time to an environment.
type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) } //nolint:forcetypeassert // nothing else is pushed
func (q *events) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]

	return last
}

func simulate(s setting, seed uint64) figures {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a run can be repeated
	f := &fleet{setting: s, random: random, db: newDatabase(s.partitions, random), seen: map[string]bool{}}
	f.zipf = rand.NewZipf(random, 1.1, 1, 1_000_000)
	f.figures.setting = s

	for range s.environments {
		e := &environment{fleet: f}
		f.at(time.Duration(random.Int64N(int64(handlerTime))), e.begin)
	}

	f.at(settles, func() { f.requests, f.units, f.throttle = f.db.requests, f.db.units, f.db.throttled })

	for f.queue.Len() > 0 {
		next := heap.Pop(&f.queue).(event) //nolint:forcetypeassert // as above
		if f.now = next.at; f.now > settles+measured {
			break
		}

		next.do()
	}

	return f.report()
}

func (f *fleet) at(when time.Duration, do func()) {
	f.order++
	heap.Push(&f.queue, event{when, f.order, do})
}

func (f *fleet) report() figures {
	slices.Sort(f.took)

	out := f.figures
	out.messages = len(f.took)

	if n := len(f.took); n > 0 {
		spent := min(f.now, settles+measured) - settles
		out.rate = float64(n) / spent.Seconds()
		out.requests = float64(f.db.requests-f.requests) / float64(n)
		out.units = float64(f.db.units-f.units) / float64(n)
		out.throttled = float64(f.db.throttled-f.throttle) / float64(n)
		out.p50, out.p99 = f.took[n/2], f.took[n*99/100]
	}

	return out
}

// key draws the key of the next message.
func (f *fleet) key() string {
	f.began++

	if f.random.Float64() < f.popular {
		return "popular-" + strconv.FormatUint(f.zipf.Uint64(), 10)
	}

	return strconv.Itoa(f.began)
}

// start is the time zero of the planners.
var start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func (f *fleet) clock() time.Time { return start.Add(f.now) }

// handlerTime is about what a handler takes.
const handlerTime = 100 * time.Millisecond

// environment is one process of Lambda. It has one batch at a time.
type environment struct {
	*fleet

	planner planner.Planner
	group   *planner.Group
	began   time.Duration // of the batch
	open    int           // messages of the batch
	alarm   time.Duration // the next one that is set
}

// message is a message of the batch.
type message struct {
	key       string
	completes bool // its handler has ended
}

// begin takes the next batch: its claims are written at once.
func (e *environment) begin() {
	if e.fleet.began >= most {
		return
	}

	e.began, e.open, e.group = e.now, e.batch, &planner.Group{Expected: e.batch}

	for range e.batch {
		e.group.Expected--
		e.submit(&message{key: e.key()})
	}

	e.depart()
}

func (e *environment) submit(m *message) {
	w := &planner.Write{
		Policy: planner.Policy{End: start.Add(e.began + deadline), Pause: time.Second},
		Record: m.key, Group: e.group, Handle: m,
	}
	if f := e.planner.Submit(e.clock(), w); f != nil {
		e.send(f)
	}
}

// depart sends what leaves now, and sets the alarm for what leaves later.
func (e *environment) depart() {
	ready := e.planner.Ready(e.clock())
	for range ready.Over {
		e.end(false)
	}

	for _, f := range ready.Flights {
		e.send(f)
	}

	if ready.Wake.IsZero() {
		return
	}

	at := max(e.now+1, ready.Wake.Sub(start))
	if e.alarm > e.now && e.alarm <= at {
		return
	}

	e.alarm = at
	e.at(at, e.depart) // one that is not needed any more does no harm
}

// send lets the request arrive in the middle of its time, and its answers at the end.
func (e *environment) send(f *planner.Flight) {
	e.db.requests++

	half := e.db.latency() / 2
	answers := make([]planner.Answer, len(f.Writes))

	e.at(e.now+half, func() {
		for i, w := range f.Writes {
			if !e.db.write(e.now, e.message(w).key) {
				answers[i] = planner.NotNow
			}
		}

		e.at(e.now+half, func() { e.land(f, answers) })
	})
}

func (e *environment) message(w *planner.Write) *message {
	return w.Handle.(*message) //nolint:forcetypeassert // submit has set it
}

func (e *environment) land(f *planner.Flight, answers []planner.Answer) {
	f.IsAnswered = true
	over := e.planner.Land(e.clock(), f, answers, e.random.Float64())

	for range over {
		e.end(false)
	}

	for i, w := range f.Writes {
		if answers[i] == planner.Done {
			e.answered(e.message(w))
		}
	}

	e.depart()
}

// answered goes on with a message whose write was accepted: the claim of a key that was seen before is a duplicate.
func (e *environment) answered(m *message) {
	switch {
	case m.completes:
		e.end(true)
	case e.seen[m.key]:
		e.figures.duplicates++
		e.end(true)
	default:
		e.seen[m.key], m.completes = true, true
		e.at(e.now+handlerTime*9/10+time.Duration(e.random.Int64N(int64(handlerTime/5))), func() {
			e.submit(m)
			e.depart()
		})
	}
}

// end ends a message, and with the last one the batch.
func (e *environment) end(isDone bool) {
	if e.now > settles && isDone {
		e.took = append(e.took, e.now-e.began)
	}

	if !isDone {
		e.figures.failed++
	}

	if e.open--; e.open == 0 {
		e.at(e.now, e.begin)
	}
}
