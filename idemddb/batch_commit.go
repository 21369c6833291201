package idemddb

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/transact"
	"github.com/idemddb/go-idemddb/internal/transactitem"
)

const (
	commitMessages = 25                     // keys in one transaction, at most
	commitItems    = 100                    // items in one transaction, at most
	commitResults  = 64 << 10               // bytes of results in one transaction, at most
	commitWait     = 100 * time.Millisecond // how long the first commit waits for others: a crash meanwhile repeats handlers, not effects
)

// FlushCommits sends the commits of [Work.BeginSettle] that wait for others, in the time that the first of them has. They share a transaction
// of up to 25 keys and 100 items, none of them twice. A commit waits until FlushCommits is called or 25 commits wait, but at most 0.1 s
// and at most half of the time that it has. A wrapper calls FlushCommits when no other commit will come soon.
func (b *Batch) FlushCommits() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.flush != nil {
		b.flush()
	}
}

// enqueue makes a commit wait for others. Its answer comes by committing.answer.
func (b *Batch) enqueue(ctx context.Context, c *committing) {
	c.answer = make(chan error, 1)

	b.mu.Lock()
	defer b.mu.Unlock()

	b.commits = append(b.commits, c)

	if b.flush == nil {
		half := time.Until(b.store.settleEnd(ctx)) / 2 //nolint:mnd // half of the time that it has is for sending it
		timer := time.AfterFunc(min(commitWait, half), b.FlushCommits)
		b.flush = func() {
			timer.Stop()
			b.sendWaiting(ctx)
		}
	}

	if len(b.commits) >= commitMessages {
		b.flush()
	}
}

// sendWaiting starts transactions of the commits that wait, one after the other, because two that share an item would conflict. It is
// called with b.mu held. ctx bounds the time of the transactions as settleContext says.
func (b *Batch) sendWaiting(ctx context.Context) {
	b.flush = nil

	var groups [][]*committing

	for len(b.commits) > 0 {
		group, rest := takeCommits(b.store, b.commits)
		groups, b.commits = append(groups, group), rest
	}

	go func() {
		for _, group := range groups {
			var sent sync.WaitGroup

			sent.Go(func() { b.runCommits(ctx, group) }) // in a goroutine of its own, because the client may end it
			sent.Wait()
		}
	}()
}

// takeCommits returns the first commits that fit into one transaction, and the rest.
func takeCommits(s *Store, waiting []*committing) (group, rest []*committing) {
	var (
		seen    = map[string]bool{}
		items   int
		results int
	)

	for _, c := range waiting {
		ids := s.identities(c.Partition, c.effects.Items)
		more := 1 + len(c.effects.Items)
		result := transactitem.ValueSize(c.value)
		isFull := len(group) == commitMessages || items+more > commitItems || results+result > commitResults && len(group) > 0

		if isFull || slices.ContainsFunc(ids, func(id string) bool { return id != "" && seen[id] }) {
			rest = append(rest, c)

			continue
		}

		for _, id := range ids {
			seen[id] = true
		}

		group, items, results = append(group, c), items+more, results+result
	}

	return group, rest
}

// runCommits sends a group of commits until each has its answer. The writers wait for it, so it outlives none of them.
func (b *Batch) runCommits(ctx context.Context, group []*committing) {
	failure := engine.ErrExited

	defer func() {
		for _, c := range group {
			c.answer <- failure
		}
	}()
	defer panicerror.Catch(engine.TheClient, &failure)

	b.commitTogether(ctx, group)
	b.expectRemovals(group)

	failure = nil
}

// expectRemovals makes the commits that have messages members of the batch: their messages are sent now, and the writes that remove the
// sent messages wait for each other.
func (b *Batch) expectRemovals(group []*committing) {
	for _, c := range group {
		if !c.alone && c.err == nil && c.record == nil && len(c.done.Outbox) > 0 {
			c.isMember = true
			b.store.engine.Join(&b.group)
		}
	}
}

// commitTogether sends the group in one transaction. Commits that are refused have their answers. The others are sent once more together,
// and then each alone.
func (b *Batch) commitTogether(ctx context.Context, group []*committing) {
	ctx, p, cancel := b.store.settleContext(ctx)
	defer cancel()

	p.Denied = 0 // the answer to each commit alone is more specific

	for _, c := range b.sendTogether(ctx, p, group) {
		c.alone = true
	}
}

// sendTogether sends transactions of the commits that have no answer yet, until they are cancelled too often. It returns the commits that
// have no answer then.
func (b *Batch) sendTogether(ctx context.Context, p planner.Policy, open []*committing) []*committing {
	for cancels := 0; len(open) > 1 && cancels < transact.MaxTogether; {
		t, answers := newTogether(b.store, open)
		t.Cancels = cancels
		err := t.Send(ctx, p)
		cancels = t.Cancels

		for _, c := range open {
			c.unknown = t.Unknown
		}

		switch {
		case err != nil:
			return open
		case !t.IsRefused():
			return nil // committed
		default:
			open = readAnswers(ctx, p, open, answers)
		}
	}

	return open
}

// newTogether returns one transaction of several commits, and the part of each commit in it.
func newTogether(s *Store, open []*committing) (*transact.Transaction, []*transact.Part) {
	t := &transact.Transaction{Client: s.transactions}

	answers := make([]*transact.Part, len(open))
	for i, c := range open {
		t.Unknown = t.Unknown || c.unknown
		answers[i] = t.Add(c.recordItem(), c.effects.Items)
	}

	return t, answers
}

// readAnswers gives the refused commits their answers, and returns the others. A commit whose record changed meanwhile begins anew, in a
// transaction of its own.
func readAnswers(ctx context.Context, p planner.Policy, group []*committing, answers []*transact.Part) (left []*committing) {
	for i, c := range group {
		if !answers[i].IsRefused() {
			left = append(left, c)

			continue
		}

		c.readAnswer(answers[i], nil)
		c.follow(ctx, p, c.commitAnew)

		c.alone = errors.Is(c.err, errChanged)
	}

	return left
}
