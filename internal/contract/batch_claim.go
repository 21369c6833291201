package contract

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/idemddb/go-idemddb/idemddb"
)

// batchClaimCases say that the claims of a batch, which share requests, get what single claims get. On an engine without
// BatchExecuteStatement they are single requests.
var batchClaimCases = append([]testCase{
	{name: "batch: a new key is claimed, and the record says so before the work begins", check: func(h *harness) {
		h.isNewClaim(h.winKeys(h.store(), false, "k", "other")[0])
	}},
	{name: "batch: keys that are free in different ways are claimed by one write each", check: func(h *harness) {
		e := h.interceptedBatch(nil)
		h.claimFreeInDifferentWays(e)

		if e, ok := e.(*batchInterceptor); ok {
			h.equal("writes", e.writes.Load(), int64(6))
		}
	}},
	{name: "batch: a key that stands several times is claimed once, and is in progress for the others", check: func(h *harness) {
		keys := []string{"a", "b", "a", "b", "a", "c"}
		requests := make([]request, len(keys))

		for i, key := range keys {
			requests[i] = request{key: key, redelivered: i == 2 || i == 3}
		}

		claims := map[string]int{}

		for i, a := range h.claimBatch(h.store(), requests...) {
			if a.claim == nil {
				h.is(a.err, idemddb.ErrInProgress)

				continue
			}

			h.equal("Key", h.won(a).Key(), keys[i])

			claims[keys[i]]++
		}

		h.equal("claims", claims, map[string]int{"a": 1, "b": 1, "c": 1})
	}},
	{name: "batch: a key that is not valid costs its own answer only", check: func(h *harness) {
		for i, a := range h.claimKeys(h.store(), false, "a", "", "b", "\xff", "c") {
			if i%2 == 0 {
				h.won(a)
			} else {
				h.is(a.err, idemddb.ErrBadKey)
			}
		}

		h.equal("answers to no keys", len(h.claimKeys(h.store(), false)), 0)
	}},
}, costly(
	testCase{name: "batch: 60 keys are claimed, refused, completed and replayed", check: func(h *harness) {
		s, keys := h.store(), make([]string, 60)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}

		claims := h.winKeys(s, false, keys...)
		for i, c := range claims {
			h.equal("Key", c.Key(), keys[i])
		}

		for _, redelivered := range []bool{false, true} {
			for _, a := range h.claimKeys(s, redelivered, keys...) {
				h.is(a.err, idemddb.ErrInProgress)
			}
		}

		h.mustSettleAll(claims, func(c *idemddb.Claim) error { return c.Complete(h.Context(), []byte("result of "+c.Key())) })

		for _, redelivered := range []bool{false, true} {
			for i, a := range h.claimKeys(s, redelivered, keys...) {
				record := h.replayed(a)
				h.equal("Key", record.Key, keys[i])
				h.equal("Result", string(record.Result), "result of "+keys[i])
			}
		}
	}},
	testCase{name: "batch: of 20 batches that race for new keys one gets each key", check: func(h *harness) { h.raceBatches(1) }},
	testCase{name: "batch: of 20 batches that race for leases that are over one gets each key", check: func(h *harness) {
		h.winKeys(h.store(), false, "a", "b", "c", "d", "e")
		h.endLease()
		h.raceBatches(2)
	}},
)...)

// claimFreeInDifferentWays claims six keys in a batch: released ones and ones whose lease is over, without a fingerprint, with
// the same one, and with one of another algorithm.
func (h *harness) claimFreeInDifferentWays(e idemddb.DynamoDB) {
	h.Helper()

	s := h.store()
	for _, key := range []string{"released", "a", "a too", "b"} {
		h.claimWith(s, key, &idemddb.ClaimOptions{Fingerprint: key[:1]})
	}

	h.must(h.claim(s, "no fingerprint").Release(h.Context(), nil))
	h.must(h.claim(s, "another algorithm").Release(h.Context(), nil))
	h.edit("another algorithm", attributes{"fp": str("2:made by another algorithm")})
	h.endLease()

	for _, a := range h.claimBatch(h.storeOn(e),
		request{key: "released", redelivered: true},
		request{key: "a", redelivered: true, fingerprint: "a"},
		request{key: "a too", redelivered: true},
		request{key: "b", redelivered: true, fingerprint: "b"},
		request{key: "no fingerprint", redelivered: true, fingerprint: "a"},
		request{key: "another algorithm", redelivered: true, fingerprint: "a"},
	) {
		h.won(a)
	}
}

// raceBatches has 20 batches claim the same five keys at once. Each key must be claimed once, with this attempt.
func (h *harness) raceBatches(attempt int) {
	h.Helper()

	var (
		claims atomic.Int64
		all    sync.WaitGroup
		start  = make(chan struct{})
	)

	for i := range 20 {
		s := h.store()

		all.Go(func() {
			<-start

			for _, a := range h.claimKeys(s, i%2 == 0, "a", "b", "c", "d", "e") {
				switch {
				case a.claim != nil:
					claims.Add(1)
					h.equal("Attempt", a.claim.Attempt(), attempt)
				case !errors.Is(a.err, idemddb.ErrInProgress):
					h.Errorf("a loser got %s", a)
				}
			}
		})
	}

	close(start)
	all.Wait()
	h.equal("claims", claims.Load(), int64(5))
}

// find makes records for keys: none for "", released ones, or ones whose lease is over.
func (h *harness) find(state string, keys ...string) {
	h.Helper()

	if state == "" {
		return
	}

	for _, key := range keys {
		if c := h.claim(h.store(), key); state == "released" {
			h.must(c.Release(h.Context(), nil))
		}
	}

	h.endLease()
}

// unchangedAll reports a record that do changes.
func (h *harness) unchangedAll(keys []string, do func()) {
	h.Helper()

	before := make([]attributes, len(keys))
	for i, key := range keys {
		before[i] = h.item(key)
	}

	do()

	for i, key := range keys {
		h.same(key, before[i])
	}
}
