package planner

import (
	"slices"
	"time"
)

const (
	// Size is how many writes travel in a flight, at most.
	Size = 25

	// FirstPause is the longest pause after the first try. Each later one is at most twice the one before.
	FirstPause = 25 * time.Millisecond

	// LargeValue is the size in bytes above which the value of a write must not delay others.
	LargeValue = 64 << 10

	maxFlights   = 8                      // under way at a time
	overdueTime  = 100 * time.Millisecond // a flight that takes longer is not waited for
	togetherPart = 3                      // a write waits for this part of T for others to share its request
	heldFor      = 4                      // in T: for so long a flight holds its records
	expectTime   = 10 * time.Millisecond  // how long the claims of a group wait for those that are announced
	lingerTime   = 200 * time.Microsecond // how long a write waits for the members of its group that are at work
	removalTime  = 100 * time.Millisecond // how long a removal waits for the rest of its group

	// MaxTry is the longest time for one try.
	MaxTry = 2 * time.Second

	minTry  = 100 * time.Millisecond
	tryPart = 3                    // a try has at most this part of the time that is left
	lastTry = 2 * time.Millisecond // with less time left than this, no further try is made

	maxPassedOver = 3               // then the write travels alone
	deniedFor     = 5 * time.Minute // how long a denial is remembered
)

// Policy says how a write is sent again.
type Policy struct {
	End   time.Time     // no try begins after this, but the first
	Pause time.Duration // the longest pause between two tries

	// Denied is for how long the write is sent again while DynamoDB refuses it for another reason than its condition: access denied,
	// table not found.
	Denied time.Duration
}

// Write is one conditional write of one record. The caller sets the exported fields before Submit and does not change them.
type Write struct {
	Policy

	Record    string // what it writes: two writes of one record do not travel together
	Group     *Group
	Joint     *Joint // of a write that travels in a transaction; nil for a statement
	IsAlone   bool   // it cannot share a request
	IsExtend  bool   // it extends a lease
	IsUrgent  bool   // the lease that it extends is almost over
	IsRemoval bool   // it removes messages that are sent: only the end of its group waits for it
	Handle    any    // the caller's

	lane       int
	number     int // in the order of Submit
	state      state
	since      time.Time // when it began to wait
	due        time.Time // the end of its pause
	pause      time.Duration
	denied     time.Time // when the present run of Rejected answers began; zero for none
	tries      int
	isSeen     bool // its last flight has shown that its record does not stand in the way, and it leaves at once
	hasLeft    bool // it was in a flight before, so it no longer waits for others of its group
	passedOver int  // tries after which it had no answer, and another write of its flight had
	flight     *Flight
	items      []Item // what it touches: first its record
	first      [1]Item
	single     Flight // with room for the flight of this write alone
	one        [1]*Write
}

// Joint is what a write needs of its transaction.
type Joint struct {
	Items        []Item        // what it touches beside its record
	Size         int           // of all, in bytes
	Value        int           // of its result, in bytes
	Hold         time.Duration // how long it waits for others of its group, until Flush
	IsUnrecorded bool          // it has no record
}

// Item is what a write touches.
type Item struct {
	Key string // "" for one whose key is not known

	// As is "", or says that the write only adds numbers to the item, and how: additions to one item under one As are one item of
	// their flight.
	As string
}

// The lanes: what travels as a statement, and what travels in a transaction.
const (
	statements = iota
	transactions
	lanes
)

type state int

const (
	waiting state = iota
	paused
	flying
	ended
)

// Flight is one request that is to be sent, or is under way.
type Flight struct {
	Landing

	Writes []*Write
	Limit  time.Duration // how long its answer is waited for
	Born   time.Time
	Handle any // the caller's

	// ReadsFirst says that the caller reads the records of the writes first, and calls Read when that read has landed.
	ReadsFirst bool

	lane      int
	isShared  bool
	repeats   int
	due       time.Time // when it is sent once more
	isCounted bool      // others wait for it
	isProbe   bool
}

// Landing is what the caller says of a flight before Land.
type Landing struct {
	IsAnswered   bool     // DynamoDB has answered it
	IsInProgress bool     // DynamoDB works on an earlier try of it
	MayRepeat    bool     // it may be sent once more as it was
	Conflicts    []string // the items that other transactions held
	HasMetEnded  bool     // a record has refused it whose key had ended before
}

// Answer is what the answer to one try of a write asks for.
type Answer int

// The answers.
const (
	Done     Answer = iota // nothing: the write has its answer
	NotNow                 // the same once more, after a pause
	Rejected               // the same, for as long as Write.Denied says: DynamoDB refused the request for another reason than its condition
	AtOnce                 // the next try at once: it has another statement
	AloneNow               // a request of its own, at once
	Gated                  // the next try when the gate opens: an item of it was held by another transaction
)

// estimate is how long the last flights took: their median is T. Its zero value is ready.
type estimate struct {
	last   [15]time.Duration // each at most longestT
	n      int
	median time.Duration // 0 before the first
}

const (
	firstT    = 5 * time.Millisecond // before a flight was answered
	shortestT = time.Millisecond     // so that the gate of rule 7 is never closed for so short a time that nothing has changed
	longestT  = 100 * time.Millisecond
)

// denial is the memory that requests of one kind were denied. Its zero value has none.
type denial struct {
	until     time.Time // zero if there is none
	isProbing bool      // the flight that asks again is under way
}

// load is what would travel in the next flight.
type load struct {
	writes []*Write
	taken  map[string]string // by Item.Key: Item.As
	items  int
	size   int
	value  int
	isFull bool
	hot    int // how many hot items it may touch
}

// Group is what belongs together among the writes: those of an invocation, or of one call. Its zero value is ready. The methods
// of Planner use it, and like them it is not safe for concurrent use.
type Group struct {
	// The caller changes these.
	Members  int // callers that will still write
	Expected int // members that are announced and come at once: the first claims wait for the others

	IsOrdered bool // a member may begin only when the one before has ended, so that no removal waits

	waiting  [lanes][]*Write // in the order in which they came
	open     int             // writes that have no answer
	removals int             // those of them that are removals
	until    time.Time       // what would leave next waits for others of the group
}

// Flush lets the writes that wait for others of the group by Joint.Hold leave.
func (g *Group) Flush() {
	for _, w := range g.waiting[transactions] {
		w.Joint.Hold = 0
	}
}

// note notes a denial. It returns false if one is remembered.
func (d *denial) note(now time.Time) (isNew bool) {
	isNew = now.After(d.until)
	d.until = now.Add(deniedFor)

	return isNew
}

// probe reports whether a flight that leaves asks if the remembered denial still holds, and notes that it does.
func (d *denial) probe() bool {
	d.isProbing = !d.until.IsZero()

	return d.isProbing
}

// touch notes the items of a write.
func (l *load) touch(w *Write) {
	for _, item := range w.items {
		if item.Key != "" {
			l.taken[item.Key] = item.As
		}
	}
}

func without[E comparable](list []E, gone E) []E {
	return slices.DeleteFunc(list, func(e E) bool { return e == gone })
}
