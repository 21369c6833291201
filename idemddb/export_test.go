package idemddb

import (
	"context"
	"time"

	"github.com/idemddb/go-idemddb/internal/engine"
)

// Batch makes calls whose writes are one group, as those of an invocation.
type Batch struct {
	store *Store
	group *engine.Group
}

// Batch returns a Batch.
func (s *Store) Batch() *Batch { return &Batch{s, s.engine.NewGroup()} }

// Claim is [Store.Claim].
func (b *Batch) Claim(ctx context.Context, key string, opts *ClaimOptions) (*Claim, *Record, error) {
	return b.store.Claim(b.in(ctx), key, opts)
}

// Begin is [Store.Begin].
func (b *Batch) Begin(ctx context.Context, key string, opts *ClaimOptions) (*Work, Ending) {
	return b.store.Begin(b.in(ctx), key, opts)
}

// On returns a Batch of another Store whose calls are made with the contexts of this one.
func (b *Batch) On(s *Store) *Batch { return &Batch{s, b.group} }

// Ahead, Expect and FlushCommits are those of the engine.
func (b *Batch) Ahead() int    { return b.store.engine.Ahead() }
func (b *Batch) Expect(n int)  { b.group.Expect(n) }
func (b *Batch) FlushCommits() { b.group.Flush() }

// WithInvocation, OnRetry and OnUnsent say to the Store what a wrapper says.
func WithInvocation(ctx context.Context, deadline, settleBy time.Time) context.Context {
	return told(ctx, func(i *engine.Invocation) { i.Times = &engine.Times{Deadline: deadline, SettleBy: settleBy} })
}

// OnRetry calls f for each try that is followed by another one.
func OnRetry(ctx context.Context, f func()) context.Context {
	return told(ctx, func(i *engine.Invocation) { i.Retried = f })
}

// OnUnsent calls f for each message that is not sent.
func OnUnsent(ctx context.Context, f func(Event)) context.Context {
	return told(ctx, func(i *engine.Invocation) {
		i.Noted = func(kind, key string, err error) { f(Event{Kind: Kind(kind), Key: key, Err: err}) }
	})
}

func told(ctx context.Context, what func(*engine.Invocation)) context.Context {
	i := *engine.Of(ctx)
	what(&i)

	return engine.With(ctx, &i)
}

// Commit commits a key together with others of its batch, as work without a claim that staged these effects.
func (b *Batch) Commit(ctx context.Context, key string, opts *ClaimOptions, result []byte, e Effects) (wait func() (*Record, error)) {
	c, err := b.store.newCommit(b.in(ctx), key, opts)
	if err != nil {
		return func() (*Record, error) { return nil, err }
	}

	if err := c.startWith(ctx, result, e); err != nil {
		return func() (*Record, error) { return nil, err }
	}

	return func() (*Record, error) { return c.finish(ctx) }
}

// Reject is what a Work without a claim writes if it does not succeed.
func (s *Store) Reject(ctx context.Context, key string, opts *ClaimOptions, cause error) (*Record, error) {
	c, err := s.newCommit(ctx, key, opts)
	if err != nil {
		return nil, err
	}

	a, err := c.reject(ctx, cause)

	return a.record, err
}

// Meaning is what Effects.Refused says.
func (e *EffectError) Meaning() error { return e.meaning() }

// Settled is how a claim was settled; "" while it is open, and if the outcome of its settlement is not known.
func (c *Claim) Settled() Kind {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.settled
}

// HasEffect is what a wrapper is told when the code of the work has returned.
func (w *Work) HasEffect(err error) bool { return w.hasEffect(err) }

func (b *Batch) in(ctx context.Context) context.Context {
	i := *engine.Of(ctx)
	i.Group = b.group

	return engine.With(ctx, &i)
}
