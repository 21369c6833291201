package idemddb

import (
	"context"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// lines are the calls of a process that wait for keys, by the partition keys of the records.
type lines struct {
	mu   sync.Mutex
	keys map[string]*line
}

// line is the calls that wait for one key. One of them at a time sends claims for all, and each judges the record in the answer
// by its own fingerprint. If the key is free, the call that sent the claim holds it, and another one sends claims for the rest.
type line struct {
	calls     int
	hasSender bool          // one of the calls sends claims, or pauses before it sends the next
	next      chan struct{} // closed at the next answer, and when no call sends claims any more
	poll      *sleep.Poll   // the pauses between two answers; used by the call that sends claims

	// The last answer; all of them are zero before the first one.
	found   *record.Stored // the record that refused the claim; nil if the claim was won
	until   time.Time      // the end of the lease of the claim that was won
	isAlone bool           // DynamoDB has not answered, so each call claims for itself
}

// enter puts a call into the line for its key.
func (ls *lines) enter(partition string) *line {
	ls.mu.Lock()
	defer ls.mu.Unlock()

	l := ls.keys[partition]
	if l == nil || l.isAlone {
		if l = (&line{next: make(chan struct{}), poll: &sleep.Poll{}}); ls.keys == nil {
			ls.keys = map[string]*line{}
		}

		ls.keys[partition] = l
	}

	l.calls++

	return l
}

// leave takes a call out of its line. If this call was sending the claims, leave wakes the others, so that one of them sends the
// next.
func (ls *lines) leave(partition string, l *line, sends bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()

	if sends {
		l.hasSender = false
		l.wake()
	}

	if l.calls--; l.calls == 0 && ls.keys[partition] == l {
		delete(ls.keys, partition)
	}
}

// wake wakes the calls. It is called with the mutex of the lines held.
func (l *line) wake() {
	close(l.next)
	l.next = make(chan struct{})
}

// view is what a call sees of its line.
type view struct {
	line

	sends   bool // from now on this call sends the claims
	isFirst bool // no claim was sent before
}

// look returns what a call sees of its line, and lets it send the claims if no other call does.
func (ls *lines) look(l *line) view {
	ls.mu.Lock()
	defer ls.mu.Unlock()

	v := view{line: *l, sends: !l.hasSender, isFirst: l.found == nil && l.until.IsZero()}
	l.hasSender = l.hasSender || v.sends

	return v
}

// answered gives the line the answer to the claim of the sending call: the end of its lease, or the record that refused it.
// Without either, each call claims for itself, unless only the context of the sending one has ended.
func (ls *lines) answered(ctx context.Context, l *line, until time.Time, refusal *record.Stored) {
	hasEnded := ctx.Err() != nil // before the mutex: it is code of the user

	ls.mu.Lock()
	defer ls.mu.Unlock()

	switch {
	case !until.IsZero():
		l.found, l.until, l.poll = nil, until, &sleep.Poll{}
	case refusal != nil:
		l.found = refusal
	case !hasEnded:
		l.isAlone = true
	}

	l.wake()
}
