package contract

import (
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// tookCases say that a record tells whether a claim has taken it over, and when.
var tookCases = []testCase{
	{name: "took is 0 until a claim takes the key over, whichever write claims it", check: func(h *harness) {
		for key, write := range claimingWrites {
			write(h, h.store(), key, nil)
			h.equal("took of a new key: "+key, h.number(key, "took"), int64(0))
			h.edit(key, attributes{"st": str("INPROGRESS"), "lease": num(0)})
			write(h, h.store(), key, nil)
			h.equal("took after a release: "+key, h.number(key, "took"), int64(0))
		}
	}},
	{name: "took adds up the leases that were found, whichever write claims the key, and a record made anew begins with 0", check: func(h *harness) {
		for key, write := range claimingWrites {
			for _, fingerprint := range []string{"", "input"} {
				key, opts := key+fingerprint, &idemddb.ClaimOptions{Fingerprint: fingerprint}
				write(h, h.store(), key, opts)

				first := h.leaseRanOut(key)
				write(h, h.store(), key, opts)
				h.equal("took after a takeover: "+key, h.number(key, "took"), first)

				second := h.leaseRanOut(key)
				write(h, h.store(), key, opts)
				h.equal("took after two: "+key, h.number(key, "took"), first+second)
				h.edit(key, attributes{"st": str("INPROGRESS"), "lease": num(-1)})
				write(h, h.store(), key, opts)
				h.equal("took after a lease of -1: "+key, h.number(key, "took"), first+second-1)
				h.openAgain(key, true)
				write(h, h.store(), key, opts)
				h.equal("took of a record made anew: "+key, h.number(key, "took"), int64(0))
			}
		}
	}},
	{name: "batch: took is 0 for a new key, and adds up the leases that were found", check: func(h *harness) {
		keys := []string{"a", "b"}
		for _, c := range h.winKeys(h.store(), false, keys...) {
			h.equal("took of a new key", h.number(c.Key(), "took"), int64(0))
		}

		for round := range int64(2) {
			want := map[string]int64{}
			for _, key := range keys {
				want[key] = round + 7 + h.number(key, "lease")
				h.edit(key, attributes{"took": num(round + 7)})
			}

			h.endLease()

			for _, c := range h.winKeys(h.store(), true, keys...) {
				h.equal("took", h.number(c.Key(), "took"), want[c.Key()])
			}
		}
	}},
	{name: "a record without took is claimed, and has it from then on, alone and in a batch", check: func(h *harness) {
		for key, write := range claimingWrites {
			write(h, h.store(), key, nil)

			ranOut := h.leaseRanOut(key)
			h.edit(key, attributes{"took": nil})
			write(h, h.store(), key, nil)
			h.equal("took: "+key, h.number(key, "took"), ranOut)
		}

		keys, ranOut := []string{"a", "b"}, map[string]int64{}
		h.winKeys(h.store(), false, keys...)

		for _, key := range keys {
			ranOut[key] = h.leaseRanOut(key)
			h.edit(key, attributes{"took": nil})
		}

		for _, c := range h.winKeys(h.store(), true, keys...) {
			h.equal("Takeover", c.Takeover(), true)
			h.equal("took: "+c.Key(), h.number(c.Key(), "took"), ranOut[c.Key()])
		}
	}},
	{name: "a reopening takes 1 away from took, also where there is none", check: func(h *harness) {
		s := h.store()
		for key, took := range map[string]attributes{"new": {}, "old": {"took": nil}} {
			h.must(h.claim(s, key).Fail(h.Context(), nil))
			h.edit(key, took)
			h.must(s.Reopen(h.Context(), key))
			h.equal("took: "+key, h.number(key, "took"), int64(-1))
			h.claim(s, key)
			h.equal("took after the next claim: "+key, h.number(key, "took"), int64(-1))
		}
	}},
	{name: "each write of a holder keeps when it took the key over, alone and in a batch", check: func(h *harness) {
		for verb, settle := range h.holderWrites() {
			alone, together := verb, []string{verb + " a", verb + " b"}
			h.winKeys(h.store(), false, append([]string{alone}, together...)...)

			ranOut := h.number(alone, "lease")
			h.endLease()

			claims := append(h.winKeys(h.store(), true, together...), h.claim(h.store(), alone))
			for _, c := range claims {
				h.equal("tookat after the claim", h.item(c.Key())["tookat"], attributes{}["tookat"])
			}

			h.Advance(time.Second)

			for _, err := range settleAll(claims, func(_ int, c *idemddb.Claim) error { return settle(c) }) {
				h.must(err)
			}

			for _, c := range claims {
				h.equal("tookat after: "+verb, h.item(c.Key())["tookat"], num(ranOut))
			}
		}
	}},
	{name: "tookat stays when later claims find the key released, and is written for no lease without an end", check: func(h *harness) {
		s := h.store()
		h.claim(s, "k")

		ranOut := h.leaseRanOut("k")
		h.must(h.claim(s, "k").ReleaseUnused(h.Context())) // the lease is -1 now

		c := h.claim(s, "k")
		h.equal("Takeover", c.Takeover(), true)
		h.must(c.Release(h.Context(), errors.New("bank closed")))
		h.must(h.claim(s, "k").Complete(h.Context(), nil))
		h.equal("prev", h.number("k", "prev"), int64(0))
		h.equal("tookat", h.number("k", "tookat"), ranOut)
		h.equal("took", h.number("k", "took"), ranOut-1)

		for verb, settle := range h.holderWrites() {
			h.must(settle(h.claim(s, verb)))
			h.equal("tookat of a new key after: "+verb, h.item(verb)["tookat"], attributes{}["tookat"])
		}
	}},
}

// leaseRanOut makes a record one whose holder has died, and returns the end of its lease.
func (h *harness) leaseRanOut(key string) int64 {
	h.Helper()

	end := h.Now().Add(-time.Minute).UnixMilli()
	h.edit(key, attributes{"st": str("INPROGRESS"), "lease": num(end)})

	return end
}

// holderWrites are the writes of a claim that succeed.
func (h *harness) holderWrites() map[string]func(*idemddb.Claim) error {
	writes := h.verbs()
	writes["complete with effects"] = func(c *idemddb.Claim) error {
		return c.CompleteWith(h.Context(), nil, effects(h.count(c.Key())))
	}

	return writes
}
