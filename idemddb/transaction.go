package idemddb

import (
	"context"
	"crypto/rand"

	"github.com/idemddb/go-idemddb/internal/transact"
)

// newTx returns the id of a completing call: 26 characters.
func newTx() string { return rand.Text() }

// newTransactions returns the client for transactions that complete keys together with their effects. Each part is the record of one key
// and its effects.
func (s *Store) newTransactions() *transact.Client {
	return &transact.Client{
		API: s.api, Options: sdkOptions, Retried: s.retried,
		Conflict: func(ctx context.Context, key string) { s.opts.Observe(ctx, Event{Kind: Conflict, Key: key}) },
	}
}

// refusal returns the error for one of these effects, or the write of all of them, that DynamoDB refused.
func (e Effects) refusal(r *transact.Refusal) *EffectError {
	return &EffectError{
		Index: r.Index, Code: r.Code, Item: r.Item, Unknown: r.Unknown, refused: e.Refused, message: r.Message, cause: r.Cause,
	}
}
