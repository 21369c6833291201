package contract

import (
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// unansweredCases say that a write whose sender does not know what became of it counts, and counts once.
var unansweredCases = []testCase{
	{name: "a claim that is not answered is won once, by the call that sent it", check: func(h *harness) {
		for name, f := range unanswered {
			c := h.claim(h.storeOn(h.intercepted(nth(1, f))), name)
			h.equal("Attempt", c.Attempt(), 1)
			h.equal("Takeover", c.Takeover(), false)
			h.equal("Fence", c.Fence(), h.number(name, "fence"))
			h.must(c.Complete(h.Context(), nil))
		}
	}},
	{name: "a takeover that is not answered is still a takeover", check: func(h *harness) {
		for name, f := range unanswered {
			h.claim(h.store(), name)
			h.endLease()

			c := h.claim(h.storeOn(h.intercepted(nth(1, f))), name)
			h.equal("Takeover", c.Takeover(), true)
			h.equal("Attempt", c.Attempt(), 2)
			h.equal("Fence", c.Fence(), h.number(name, "fence"))
			h.must(c.Complete(h.Context(), nil))
		}
	}},
	{name: "a claim of a released key that is not answered is no takeover", check: func(h *harness) {
		for name, f := range unanswered {
			h.must(h.claim(h.store(), name).Release(h.Context(), nil))

			c := h.claim(h.storeOn(h.intercepted(nth(1, f))), name)
			h.equal("Takeover", c.Takeover(), false)
			h.equal("Attempt", c.Attempt(), 2)
		}
	}},
	{name: "a claim of a record past its retention that is not answered is won once", check: func(h *harness) {
		for name, f := range unanswered {
			h.must(h.claim(h.store(), name).Complete(h.Context(), nil))
			h.endRetention()

			c := h.claim(h.storeOn(h.intercepted(nth(2, f))), name)
			h.equal("Attempt", c.Attempt(), 1)
			h.equal("Fence", c.Fence(), h.number(name, "fence"))
			h.must(c.Complete(h.Context(), nil))
		}
	}},
	{name: "a completion that is not answered is a success", check: func(h *harness) {
		for name, f := range unanswered {
			h.must(h.claim(h.storeOn(h.intercepted(nth(2, f))), name).Complete(h.Context(), []byte("once")))
			h.equal("Result", string(h.replay(h.store(), name).Result), "once")
		}
	}},
	{name: "release, fail and extend that are not answered are successes", check: func(h *harness) {
		for name, f := range unanswered {
			for verb, settle := range h.settlements() {
				key := name + ", " + verb
				c := h.claim(h.storeOn(h.intercepted(nth(2, f))), key)
				h.Advance(time.Second)
				h.must(settle(c))
				h.isSettled(key, verb, c)
			}
		}
	}},
}

// isSettled compares a record with what its settlement must leave.
func (h *harness) isSettled(key, verb string, c *idemddb.Claim) {
	h.Helper()

	state, ok := map[string]string{"complete": "COMPLETED", "fail": "FAILED"}[verb]
	if !ok {
		state = "INPROGRESS"
	}

	h.equal(key+": st", h.item(key)["st"], str(state))

	switch verb {
	case "release", "unused":
		h.equal(key+": lease", h.number(key, "lease"), int64(0))
	case "extend":
		h.equal(key+": lease", h.number(key, "lease"), h.Now().Add(lease).UnixMilli())
		h.equal(key+": Deadline", c.Deadline().UnixMilli(), h.Now().Add(lease).UnixMilli())
	}

	if verb == "unused" {
		h.equal(key+": att", h.number(key, "att"), int64(0))
	}
}
