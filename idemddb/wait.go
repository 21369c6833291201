package idemddb

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// claimInLine claims the key for a call that waits for another worker until the limit is over.
func (a *acquisition) claimInLine(ctx context.Context, limit time.Duration) {
	ls := &a.store.lines
	l, v, end := ls.enter(a.Partition), view{}, time.Now().Add(limit)

	defer func() { ls.leave(a.Partition, l, v.sends) }()

	timer := time.NewTimer(limit)
	defer timer.Stop()

	for {
		v = ls.look(l)
		a.takeAnswer(&v)

		switch {
		case a.record != nil, a.err != nil && !errors.Is(a.err, ErrInProgress):
			return
		case v.isAlone:
			a.waitForHolder(ctx, time.Until(end), func() { a.try(ctx) })

			return
		case v.sends:
			a.claimForLine(ctx, l, &v, end)

			return
		}

		select {
		case <-v.next:
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

// claimForLine claims the key, and claims it again while another worker holds it. All answers are for the line.
func (a *acquisition) claimForLine(ctx context.Context, l *line, v *view, end time.Time) {
	v.poll.End = end

	for next := v.isFirst || v.poll.Next(ctx); next; next = errors.Is(a.err, ErrInProgress) && v.poll.Next(ctx) {
		a.refusal = nil
		a.try(ctx)

		var until time.Time
		if a.claim != nil {
			until = a.claim.Deadline()
		}

		a.store.lines.answered(ctx, l, until, a.refusal)
		a.ownResult()
	}

	a.endOfWait(ctx, end)
}

// takeAnswer takes the last answer to another call of the line. Of a claim that was won it takes only that the key is held.
func (a *acquisition) takeAnswer(v *view) {
	if v.isFirst {
		return
	}

	if a.err = (&InProgressError{Key: a.key, Until: v.until}); v.found == nil {
		return
	}

	a.Last = a.Stamp()

	switch answer := a.store.records.Judge(a.LastTry(), v.found); answer.Verdict { //nolint:exhaustive // the others are for the call that sends claims
	case protocol.Completed, protocol.Failed, protocol.Mismatch, protocol.InUse:
		a.err = nil
		a.conclude(answer)
		a.ownResult()

		if !a.store.opts.RedeliverUnsent { // the call that sent the claim sends the messages that are left in the record
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

// waitForHolder tries to claim the key, and tries again for as long as the caller waits for another worker.
func (a *acquisition) waitForHolder(ctx context.Context, limit time.Duration, try func()) {
	poll := sleep.Poll{End: time.Now().Add(limit)}

	try()

	for errors.Is(a.err, ErrInProgress) && poll.Next(ctx) {
		try()
	}

	a.endOfWait(ctx, poll.End)
}

// endOfWait adds the cause to the answer if the call stops waiting before this time.
func (a *acquisition) endOfWait(ctx context.Context, end time.Time) {
	if errors.Is(a.err, ErrInProgress) && time.Now().Before(end) { // the context has ended
		a.err = errors.Join(a.err, sleep.EndOf(ctx))
	}
}
