// Package schedule says which message of a batch is claimed, when its handler starts, and which message does neither. It has no
// clock, no goroutine and no lock: its caller reports what happens, with the time, and does what the Actions say.
//
// A message goes this way; each arrow is an event that the caller reports, and each word in capitals an action that the caller
// does:
//
//	its key is unknown ─Found→ it waits ─CLAIM→ its key is claimed ─Claimed→ it waits for a worker ─START→ its handler runs
//	─Ran→ its work is settled ─Settled→ its end is reported ─Finished→
//
// Settled is left out where Finished follows at once.
//
// The rules, each with a table test of its name:
//
//  1. Order. The messages of one group are worked on one after the other. When one of them has failed, those behind it are
//     BLOCKED. Claims and workers are given in the order of the batch.
//  2. One key. One message at a time works on a key. A message that asks for the same work as one that is settled is the SAME,
//     and ends as that one did.
//  3. Workers. At most Workers handlers run at a time.
//  4. Claims ahead. Keys are claimed when no other message is claimed or waits for a worker, or when there is a free worker beyond
//     those: for all such workers, and at least a whole request at a time. So a claim waits for a worker at most as long as one
//     request's worth of handlers takes.
//  5. Claims together. If the free workers do not suffice for a message and for all earlier ones whose claims have no answer yet,
//     its handler waits for those answers, for at most 0.15 ms, and no further keys are claimed meanwhile: the answers of one
//     request come together.
//  6. Time. Nothing starts with less time left than a handler needs. Then all that waits has NO TIME.
//  7. Trouble. A finished effect whose record was refused once, or is not written after 100 ms, is in trouble, and occupies a
//     worker until it is settled. The first one is exempt, so that one bad key does not stop a batch with one worker. While
//     records are refused and none is written, every finished effect counts as one in trouble. While 100 finished effects are
//     not settled, no handler starts.
//  8. Overdue. A handler is overdue when its time-out and a grace are over. When as many are overdue as there are workers,
//     nothing more starts. When nothing but overdue handlers is at work, they are LATE.
//  9. Stop. With StopAtFailure, nothing starts after the first handler that has failed, or message that has failed without one.
//     Then all that waits is BLOCKED.
package schedule

import "time"

// Config describes a batch and its time.
type Config struct {
	Time

	Messages      []Message
	Workers       int           // handlers at a time
	Ahead         int           // how many keys are claimed at least, when no claim waits for a worker; 0: only for free workers
	Grace         time.Duration // after its Timeout, a handler is overdue
	LateAt        time.Time     // when all handlers are late; zero if the invocation has no deadline
	Optimistic    bool          // commits wait for others until the schedule is Idle
	StopAtFailure bool          // rule 9
	OneHandler    bool          // no message has a handler of its own: one handler, Call, works on all of them
}

// Message is what is known of a message before its key is.
type Message struct {
	Group     string // the messages of one group are worked on in order; "" for none
	Unclaimed bool   // its handler runs without a claim
}

// Work is what a message asks for: its key, and the fingerprint of its input.
type Work struct{ Key, Fingerprint string }

// Kind says what to do.
type Kind string

// The actions. Each message with a handler of its own has one of the first six, and after Claim also Start, NoTime or, by rule 9,
// Blocked.
const (
	Claim   Kind = "claim"    // claim the message's key
	Start   Kind = "start"    // run the message's handler, or its hook
	NoKey   Kind = "no key"   // the message has no key
	NoTime  Kind = "no time"  // too little time is left for the message
	Blocked Kind = "blocked"  // the message Other has failed, of its group or, by rule 9, of the batch
	Same    Kind = "same"     // the message ends as the message Other has ended
	Expect  Kind = "expect"   // Other claims follow at once; left out for one that nothing else could share a request with
	Idle    Kind = "idle"     // no handler runs or can start before something else happens
	Warn    Kind = "warn"     // the record of Other does not get through
	Stop    Kind = "stop"     // nothing starts any more
	Late    Kind = "are late" // the handlers that still run are late
)

// Action is something that the caller must do at once.
type Action struct {
	Kind    Kind
	Message int // its index in the batch; -1 for what concerns no single message
	Other   int // of Blocked, Same and Warn: another message; of Expect: how many claims
}

// Schedule is the state of one batch. It is not safe for concurrent use. After one or several events the caller takes the
// Actions.
type Schedule struct {
	Config

	// Longest is how long the longest of the last handlers took; 0 if none is known. The caller keeps it up to date.
	Longest time.Duration

	messages []message
	settled  map[Work]int     // the message that did each piece of work
	used     map[string][]int // by the keys that are worked on: the messages that wait for them, in order
	actions  []Action

	active    int // messages that are not finished and wait for no other message
	searching int // active messages whose key is unknown

	waiting  []int // for their claim, in order
	admitted []int // are being claimed or wait for a worker, in order
	working  int   // workers in use
	isAtWork bool  // a message waits for its claim, is claimed or works
	hooks    int   // hooks that run
	handlers []int // that run, in the order of their starts

	unrecorded []int // finished effects that are not settled, in the order in which they ended
	troubled   int   // those of them that are in trouble
	refusals   int   // of records
	refused    bool  // since the last refusal, no record was written by a request that was sent after it
	warned     bool

	stopped   bool
	isBlocked bool // by rule 9, because of blocker
	blocker   int
	late      bool
	unordered bool      // rule 5 does not hold until further keys are claimed
	orderedTo time.Time // when rule 5 stops holding; zero if nothing waits for it
}

type state int

const (
	unknown  state = iota // its key is unknown
	found                 // its key is known; it waits for an earlier message of its group, or while another message works on its key
	keyless               // it has no key, and waits as well
	waits                 // for its claim
	claiming              // its claim has begun, and its answer is not known
	ready                 // waits for a worker
	runs                  // has a worker
	ended                 // its handler has returned, or did not run
	finished              // the end of its work is reported, so that the next message of its group may follow
)

type message struct {
	Message

	work  Work
	state state
	next  int  // the next message of its group; 0 for none
	head  bool // all earlier messages of its group are finished

	holds      bool      // its key
	hook       bool      // it waits for a worker, or has one, for its hook
	worker     bool      // it occupies a worker
	since      time.Time // its handler started or ended
	effect     bool      // its effect is not settled
	isTroubled bool
	refusals   int // that were known when its record was sent last
}
