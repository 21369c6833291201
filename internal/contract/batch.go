package contract

import (
	"sync"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
)

// This file holds every announcement of claims that share requests.

// request is a key to claim in a batch.
type request struct {
	key         string
	fingerprint string
	redelivered bool // the key has probably been claimed before
}

// claimBatch claims keys at once, in a batch of their own. It can be called on any goroutine.
func (h *harness) claimBatch(s *idemddb.Store, requests ...request) []answer {
	h.Helper()

	var all sync.WaitGroup

	answers := make([]answer, len(requests))
	group := s.Engine().NewGroup()
	group.Expect(len(requests))

	together := engine.With(h.Context(), &engine.Invocation{Group: group})

	for i, r := range requests {
		all.Go(func() {
			a, opts := &answers[i], &idemddb.ClaimOptions{Fingerprint: r.fingerprint, Redelivered: r.redelivered}
			a.claim, a.record, a.err = s.Claim(together, r.key, opts)
		})
	}

	all.Wait()

	return answers
}

// claimKeys is claimBatch for keys without a fingerprint.
func (h *harness) claimKeys(s *idemddb.Store, redelivered bool, keys ...string) []answer {
	h.Helper()

	requests := make([]request, len(keys))
	for i, key := range keys {
		requests[i] = request{key: key, redelivered: redelivered}
	}

	return h.claimBatch(s, requests...)
}

// winKeys demands a claim of each key.
func (h *harness) winKeys(s *idemddb.Store, redelivered bool, keys ...string) []*idemddb.Claim {
	h.Helper()

	claims := make([]*idemddb.Claim, len(keys))
	for i, a := range h.claimKeys(s, redelivered, keys...) {
		claims[i] = h.won(a)
	}

	return claims
}

// settleAll settles claims at once, and returns an error for each.
func settleAll(claims []*idemddb.Claim, settle func(i int, c *idemddb.Claim) error) []error {
	var all sync.WaitGroup

	errs := make([]error, len(claims))

	for i, c := range claims {
		all.Go(func() { errs[i] = settle(i, c) })
	}

	all.Wait()

	return errs
}

// mustSettleAll demands that all are settled.
func (h *harness) mustSettleAll(claims []*idemddb.Claim, settle func(c *idemddb.Claim) error) {
	h.Helper()

	for _, err := range settleAll(claims, func(_ int, c *idemddb.Claim) error { return settle(c) }) {
		h.must(err)
	}
}
