package idemddb

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	commitMessages = 25                     // keys in one transaction, at most
	commitItems    = 100                    // items in one transaction, at most
	commitResults  = 64 << 10               // bytes of results in one transaction, at most
	commitWait     = 100 * time.Millisecond // how long the first commit waits for others: a crash meanwhile repeats handlers, not effects
)

// waitingCommit is a commit in a Batch.
type waitingCommit struct {
	*committing

	answer chan error // nil: it has its answer, or must be sent by a transaction of its own; else a panic of the client
	alone  bool
}

// Commit is [Store.Commit], in two steps: the commit waits for others from now on, and the returned function waits for its end. Commits
// that wait at the same time share a transaction: up to 25 keys, 100 items, no item twice. They wait until FlushCommits is called, 25
// wait, or 0.1 s is over.
func (b *Batch) Commit(ctx context.Context, key string, opts *ClaimOptions, result []byte, e Effects) (wait func() (*Record, error)) {
	return b.store.commit(ctx, b, key, opts, result, nil, e)
}

// FlushCommits sends the commits that wait: no other one will come soon.
func (b *Batch) FlushCommits(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.flushCommits(context.WithoutCancel(ctx))
}

// enqueue makes a commit wait for others. The returned function waits for its end.
func (b *Batch) enqueue(ctx context.Context, c *committing) (wait func(context.Context)) {
	w := &waitingCommit{committing: c, answer: make(chan error, 1)}

	b.mu.Lock()
	defer b.mu.Unlock()

	b.commits = append(b.commits, w)

	switch {
	case len(b.commits) >= commitMessages:
		b.flushCommits(context.WithoutCancel(ctx))
	case b.commitTimer == nil:
		b.commitTimer = time.AfterFunc(commitWait, func() { b.FlushCommits(ctx) })
	}

	return func(ctx context.Context) {
		if err := <-w.answer; err != nil {
			panic(err)
		}

		if w.alone {
			c.run(ctx)
		}
	}
}

// flushCommits starts transactions of the commits that wait. It is called with b.mu held.
func (b *Batch) flushCommits(ctx context.Context) {
	if b.commitTimer != nil {
		b.commitTimer.Stop()
		b.commitTimer = nil
	}

	for len(b.commits) > 0 {
		var group []*waitingCommit

		group, b.commits = takeCommits(b.store, b.commits)

		go b.runCommits(ctx, group)
	}
}

// takeCommits returns the first commits that fit into one transaction, and the rest.
func takeCommits(s *Store, waiting []*waitingCommit) (group, rest []*waitingCommit) {
	var (
		seen    = map[string]bool{}
		items   int
		results int
	)

	for _, w := range waiting {
		ids := w.identities(s)
		more := 1 + len(w.effects.Items)
		result := resultSize(w.result)
		isFull := len(group) == commitMessages || items+more > commitItems || results+result > commitResults && len(group) > 0

		if isFull || slices.ContainsFunc(ids, func(id string) bool { return seen[id] }) {
			rest = append(rest, w)

			continue
		}

		for _, id := range ids {
			seen[id] = true
		}

		group, items, results = append(group, w), items+more, results+result
	}

	return group, rest
}

// identities are those of the items of a commit, the record included, as far as their keys are known.
func (w *waitingCommit) identities(s *Store) []string {
	ids := []string{s.table + "\n" + itemText(s.key(w.partition))}

	for _, it := range w.effects.Items {
		table, _ := keyOf(it)

		var keyNames []string
		if table == s.table {
			keyNames = s.keyNames()
		}

		if id, ok := identify(it, table, keyNames); ok {
			ids = append(ids, id)
		}
	}

	return ids
}

func resultSize(result types.AttributeValue) int {
	b, ok := result.(*types.AttributeValueMemberB)
	if !ok {
		return 0
	}

	return len(b.Value)
}

// runCommits sends a group of commits until each has its answer. The writers wait for it, so it outlives none of them.
func (b *Batch) runCommits(ctx context.Context, group []*waitingCommit) {
	var failure error = &clientPanic{errExited, nil}

	defer func() {
		if v := recover(); v != nil {
			failure = &clientPanic{v, debug.Stack()}
		}

		for _, w := range group {
			w.answer <- failure
		}
	}()

	b.commitTogether(ctx, group)

	failure = nil
}

// commitTogether sends the group in one transaction. Those that are refused have their answers; the rest is sent once more together,
// then alone.
func (b *Batch) commitTogether(ctx context.Context, group []*waitingCommit) {
	ctx, p, cancel := b.store.settleContext(ctx)
	defer cancel()

	p.denied = 0 // each alone says more

	open := group

	for round := 0; len(open) > 1 && round < 2; round++ {
		t := &transaction{store: b.store, once: true}
		answers := make([]*part, len(open))

		for i, w := range open {
			answers[i] = t.add(w.key, w.recordItem(), w.effects.Items)
		}

		err := t.send(ctx, p)

		var left []*waitingCommit

		for i, w := range open {
			switch {
			case err == nil && !t.isRefused():
				// committed
			case err == nil && (answers[i].refused || answers[i].effect != nil):
				w.read(ctx, t, answers[i], nil)
				w.follow(ctx, p)
			default:
				left = append(left, w)
			}
		}

		if open = left; err != nil {
			break
		}
	}

	for _, w := range open {
		w.alone = true
	}
}

// isRefused tells whether a part of the transaction was refused, so that nothing was written.
func (t *transaction) isRefused() bool {
	return slices.ContainsFunc(t.parts, func(p *part) bool { return p.refused || p.effect != nil })
}
