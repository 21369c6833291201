package idemddb

import (
	"context"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

// Commit commits a key together with others of its batch, as work without a claim that staged these effects.
func (b *Batch) Commit(ctx context.Context, key string, opts *ClaimOptions, result []byte, e Effects) (wait func() (*Record, error)) {
	c, err := b.store.newCommit(ctx, b, key, opts)
	if err != nil {
		return func() (*Record, error) { return nil, err }
	}

	e = Effects{Items: dbitem.CopyWrites(e.Items), Messages: copyMessages(e.Messages), Refused: e.Refused}

	c.start(ctx, result, nil, e)

	return func() (*Record, error) { return c.finish(ctx) }
}

// Reject is what a Work without a claim writes if it does not succeed.
func (s *Store) Reject(ctx context.Context, key string, opts *ClaimOptions, cause error) (*Record, error) {
	c, err := s.newCommit(ctx, nil, key, opts)
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

// Held reports whether the lease is not over, and no write of the claim was fenced.
func (c *Claim) Held() bool { return (&Work{store: c.store, claim: c}).Held() }
