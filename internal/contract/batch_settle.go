package contract

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// batchSettleCases say that the settlements of a batch, which share requests, do what single ones do.
var batchSettleCases = []testCase{
	{name: "batch: results of every size are kept, and one that is too large is omitted", costly: true, check: func(h *harness) {
		s := h.store()
		sizes := []int{0, 1, 1000, 64 << 10, 64<<10 + 1, 400_000, 410_000, 1 << 20, 6_500_000}
		keys := make([]string, len(sizes))

		for i := range sizes {
			keys[i] = strconv.Itoa(i)
		}

		claims := h.winKeys(s, false, keys...)

		for i, err := range settleAll(claims, func(i int, c *idemddb.Claim) error { return c.Complete(h.Context(), make([]byte, sizes[i])) }) {
			if sizes[i] > 6_000_000 {
				h.is(err, idemddb.ErrTooLarge)
				h.isOmitted(h.replay(s, keys[i]))

				continue
			}

			h.must(err)
			h.equal("length", len(h.replay(s, keys[i]).Result), sizes[i])
		}
	}},
	{name: "batch: what settles claims is a success although the reply of its request is lost", check: func(h *harness) {
		for name, settle := range h.settlements() {
			claims := h.winKeys(h.storeOn(h.interceptedBatch(nth(2, loseReply))), false, name+"a", name+"b", name+"c")
			h.Advance(time.Second)
			h.mustSettleAll(claims, settle)
			h.Advance(-time.Second)
		}

		h.equal("att", h.number("unuseda", "att"), int64(0))
		h.equal("lease", h.number("extenda", "lease"), epoch.Add(lease+time.Second).UnixMilli())
	}},
	{name: "batch: a request that settles claims and arrives late does nothing to what came after it", check: func(h *harness) {
		for name, settle := range h.settlements() {
			late := &lateRequest{}
			keys := []string{name + "a", name + "b", name + "c"}
			claims := h.winKeys(h.storeOn(h.interceptedBatch(nth(2, late.hold))), false, keys...)
			h.Advance(time.Second)
			h.mustSettleAll(claims, settle)
			h.goOn(name, claims)
			h.unchangedAll(keys, func() { late.arrive(h) })
		}
	}},
	{name: "batch: releases that arrive late do not undo the completions of their claims", check: func(h *harness) {
		late, outage := &lateRequest{}, &atomic.Bool{}
		keys := []string{"a", "b", "c"}
		claims := h.winKeys(h.storeOn(h.interceptedBatch(late.neverAnswered(outage))), false, keys...)

		outage.Store(true)

		for _, err := range settleAll(claims, func(_ int, c *idemddb.Claim) error { return c.Release(h.shortly(), nil) }) {
			if err == nil {
				h.Error("a release that was never answered: no error")
			}
		}

		outage.Store(false)
		h.mustSettleAll(claims, func(c *idemddb.Claim) error { return c.Complete(h.Context(), nil) })
		h.unchangedAll(keys, func() { late.arrive(h) })
	}},
}

// settlements are the writes of a claim, which all succeed.
func (h *harness) settlements() map[string]func(*idemddb.Claim) error {
	return map[string]func(*idemddb.Claim) error{
		"complete": func(c *idemddb.Claim) error { return c.Complete(h.Context(), []byte("once")) },
		"release":  func(c *idemddb.Claim) error { return c.Release(h.Context(), errors.New("cause")) },
		"unused":   func(c *idemddb.Claim) error { return c.ReleaseUnused(h.Context()) },
		"fail":     func(c *idemddb.Claim) error { return c.Fail(h.Context(), errors.New("cause")) },
		"extend":   func(c *idemddb.Claim) error { return c.Extend(h.Context()) },
	}
}

// goOn does with three settled claims what can come next.
func (h *harness) goOn(settled string, claims []*idemddb.Claim) {
	h.Helper()

	switch settled {
	case "release", "unused":
		h.claim(h.store(), claims[0].Key())
		h.must(h.claim(h.store(), claims[1].Key()).Complete(h.Context(), nil))
	case "fail":
		h.must(h.store().Reopen(h.Context(), claims[0].Key()))
		h.claim(h.store(), claims[0].Key())
	case "extend":
		h.must(claims[0].Release(h.Context(), nil))
		h.must(claims[1].Complete(h.Context(), nil))
		h.must(claims[2].Fail(h.Context(), nil))
	}
}

// batchFaultCases say that claims of a batch survive what happens to the request that they share.
var batchFaultCases = costly(
	testCase{name: "batch: a claim whose request or reply is lost is won once", check: func(h *harness) {
		for name, lose := range map[string]fault{"reply": loseReply, "request": loseRequest} {
			h.eachRequest(2, func(n int64, redelivered bool, kind string) {
				prefix := name + kind
				claims := h.winKeys(h.storeOn(h.interceptedBatch(nth(n, lose))), redelivered, prefix+"a", prefix+"b")

				for _, c := range claims {
					h.equal("Attempt", c.Attempt(), 1)
					h.equal("Takeover", c.Takeover(), false)
					h.equal("Fence", c.Fence(), h.number(c.Key(), "fence"))
				}

				h.mustSettleAll(claims, func(c *idemddb.Claim) error { return c.Complete(h.Context(), nil) })
			})
		}
	}},
	testCase{name: "batch: takeovers whose reply is lost are still takeovers, and claims of released keys are none", check: func(h *harness) {
		for state, takeover := range map[string]bool{"over": true, "released": false} {
			h.eachRequest(3, func(n int64, redelivered bool, kind string) {
				keys := []string{state + kind + "a", state + kind + "b"}
				h.find(state, keys...)

				for _, c := range h.winKeys(h.storeOn(h.interceptedBatch(nth(n, loseReply))), redelivered, keys...) {
					h.equal("Attempt", c.Attempt(), 2)
					h.equal("Takeover", c.Takeover(), takeover)
					h.must(c.Complete(h.Context(), nil))
				}
			})
		}
	}},
	testCase{name: "batch: a claim that arrives late changes nothing while the claim is held, or after its release or completion", check: func(h *harness) {
		for _, state := range []string{"", "released", "over"} {
			h.eachRequest(2, func(n int64, redelivered bool, kind string) {
				keys := []string{state + kind + "a", state + kind + "b"}
				h.find(state, keys...)

				late := &lateRequest{}
				claims := h.winKeys(h.storeOn(h.interceptedBatch(nth(n, late.hold))), redelivered, keys...)
				arrives := func() { late.arriveIfHeld() } // the second request is not always made

				h.Advance(time.Second)
				h.unchangedAll(keys, arrives)
				h.must(claims[0].Release(h.Context(), nil))
				h.must(claims[1].Complete(h.Context(), nil))
				h.unchangedAll(keys, arrives)
				h.claim(h.store(), keys[0])
			})
		}
	}},
)

// eachRequest runs a check for each of the first n requests of a batch, as first delivery and as redelivery. kind makes keys of
// them.
func (h *harness) eachRequest(n int64, check func(n int64, redelivered bool, kind string)) {
	h.Helper()

	for _, redelivered := range []bool{false, true} {
		for i := range n {
			check(i+1, redelivered, fmt.Sprintf(" %t %d ", redelivered, i+1))
		}
	}
}
