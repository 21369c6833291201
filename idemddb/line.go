package idemddb

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// lines are the calls of a process that wait for keys, by the partition keys of the records.
type lines struct {
	mu   sync.Mutex
	keys map[string]*line
}

// line is the calls that wait for one key. One of them at a time asks DynamoDB for all: each reads in the answer what the record means for
// its own input. If the key is free, the call that asks has claimed it, and the next one asks on for the others.
type line struct {
	calls   int
	isAsked bool          // one of the calls asks, or pauses before it asks again
	news    chan struct{} // closed at the next answer, and when nobody asks any more
	poll    *sleep.Poll   // the pauses between two answers; used by the call that asks

	// The last answer; all of them are zero before the first one.
	found   *record.Stored // the record that refused the claim; nil if the claim was won
	until   time.Time      // the end of the lease of the claim that was won
	isAlone bool           // DynamoDB has not answered, so each call asks for itself
}

// enter puts a call into the line for its key.
func (ls *lines) enter(partition string) *line {
	ls.mu.Lock()
	defer ls.mu.Unlock()

	l := ls.keys[partition]
	if l == nil || l.isAlone {
		if l = (&line{news: make(chan struct{}), poll: &sleep.Poll{}}); ls.keys == nil {
			ls.keys = map[string]*line{}
		}

		ls.keys[partition] = l
	}

	l.calls++

	return l
}

// leave takes a call out of its line. If it was the one that asks, the others learn that nobody does.
func (ls *lines) leave(partition string, l *line, asks bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()

	if asks {
		l.isAsked = false
		l.tell()
	}

	if l.calls--; l.calls == 0 && ls.keys[partition] == l {
		delete(ls.keys, partition)
	}
}

// tell wakes the calls. It is called with the mutex of the lines held.
func (l *line) tell() {
	close(l.news)
	l.news = make(chan struct{})
}

// view is what a call sees of its line.
type view struct {
	line

	asks    bool // from now on this call asks
	isFirst bool // nobody has asked before
}

// look returns what a call sees of its line, and lets it ask if nobody else does.
func (ls *lines) look(l *line) view {
	ls.mu.Lock()
	defer ls.mu.Unlock()

	v := view{line: *l, asks: !l.isAsked && !l.isAlone, isFirst: l.found == nil && l.until.IsZero()}
	l.isAsked = l.isAsked || v.asks

	return v
}

// answered gives the line the answer that the asking call has got.
func (ls *lines) answered(ctx context.Context, l *line, a *acquisition) {
	ls.mu.Lock()
	defer ls.mu.Unlock()

	switch {
	case a.claim != nil:
		l.found, l.until, l.poll = nil, a.claim.Deadline(), &sleep.Poll{}
	case a.refusal != nil:
		l.found = a.refusal
	case ctx.Err() == nil:
		l.isAlone = true
	}

	l.tell()
}

// claimInLine claims the key for a call that waits for another worker until the limit is over.
func (a *acquisition) claimInLine(ctx context.Context, limit time.Duration) {
	ls := &a.store.lines
	l, v, end := ls.enter(a.Partition), view{}, time.Now().Add(limit)

	defer func() { ls.leave(a.Partition, l, v.asks) }()

	timer := time.NewTimer(limit)
	defer timer.Stop()

	for {
		v = ls.look(l)
		a.hear(&v)

		switch {
		case a.record != nil, a.err != nil && !errors.Is(a.err, ErrInProgress):
			return
		case v.isAlone:
			a.waitForHolder(ctx, time.Until(end), func() { a.try(ctx) })

			return
		case v.asks:
			a.askForLine(ctx, l, &v, end)

			return
		}

		select {
		case <-v.news:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}

		if a.err == nil { // nothing is known of the key
			a.try(ctx)
		}

		a.endOfWait(ctx, end)

		return
	}
}

// askForLine claims the key, and claims it again while another worker holds it. All answers are for the line.
func (a *acquisition) askForLine(ctx context.Context, l *line, v *view, end time.Time) {
	v.poll.End = end

	for next := v.isFirst || v.poll.Next(ctx); next; next = errors.Is(a.err, ErrInProgress) && v.poll.Next(ctx) {
		a.refusal = nil
		a.try(ctx)
		a.store.lines.answered(ctx, l, a)
		a.ownResult()
	}

	a.endOfWait(ctx, end)
}

// hear reads the last answer to another call of the line. Only what cannot change any more is an answer for this call, too.
func (a *acquisition) hear(v *view) {
	if v.isFirst {
		return
	}

	if a.err = (&InProgressError{Key: a.key, Until: v.until}); v.found == nil {
		return
	}

	a.last = a.store.stamp(a.deadline)

	switch answer := a.store.records.Judge(a.lastTry(), v.found); answer.Verdict { //nolint:exhaustive // the others are for the call that asks
	case protocol.Completed, protocol.Failed, protocol.Mismatch, protocol.InUse:
		a.err = nil
		a.keep(answer)
		a.ownResult()

		if !a.store.opts.RedeliverUnsent { // the call that has asked sends the messages that are left in the record
			a.unsentRecord = nil
		}
	}
}

// ownResult makes the result of a record that other calls have, too, the caller's own.
func (a *acquisition) ownResult() {
	if a.record != nil {
		a.record.Result = bytes.Clone(a.record.Result)
	}
}
