package contract

import (
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// lostReplyCases say that a write whose reply is lost counts, and counts once.
var lostReplyCases = []testCase{
	{name: "a claim whose request or reply is lost is won once, by the call that sent it", check: func(h *harness) {
		for name, lose := range map[string]fault{"reply": loseReply, "request": loseRequest} {
			c := h.claim(h.storeOn(h.intercepted(nth(1, lose))), name)
			h.equal("Attempt", c.Attempt(), 1)
			h.equal("Takeover", c.Takeover(), false)
			h.equal("Fence", c.Fence(), h.number(name, "fence"))
			h.must(c.Complete(h.Context(), nil))
		}
	}},
	{name: "a takeover whose reply is lost is still a takeover", check: func(h *harness) {
		h.claim(h.store(), "k")
		h.endLease()

		c := h.claim(h.storeOn(h.intercepted(nth(1, loseReply))), "k")
		h.equal("Takeover", c.Takeover(), true)
		h.equal("Attempt", c.Attempt(), 2)
		h.must(c.Complete(h.Context(), nil))
	}},
	{name: "a claim of a released key whose reply is lost is no takeover", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Release(h.Context(), nil))

		c := h.claim(h.storeOn(h.intercepted(nth(1, loseReply))), "k")
		h.equal("Takeover", c.Takeover(), false)
		h.equal("Attempt", c.Attempt(), 2)
	}},
	{name: "a claim of a record past its retention whose reply is lost is won once", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Complete(h.Context(), nil))
		h.endRetention()

		c := h.claim(h.storeOn(h.intercepted(nth(2, loseReply))), "k")
		h.equal("Attempt", c.Attempt(), 1)
		h.must(c.Complete(h.Context(), nil))
	}},
	{name: "a completion whose reply is lost is a success", check: func(h *harness) {
		h.must(h.claim(h.storeOn(h.intercepted(nth(2, loseReply))), "k").Complete(h.Context(), []byte("once")))
		h.equal("Result", string(h.replay(h.store(), "k").Result), "once")
	}},
	{name: "release, fail and extend whose reply is lost are successes", check: func(h *harness) {
		for name, settle := range map[string]func(*idemddb.Claim) error{
			"release": func(c *idemddb.Claim) error { return c.Release(h.Context(), errors.New("cause")) },
			"unused":  func(c *idemddb.Claim) error { return c.ReleaseUnused(h.Context()) },
			"fail":    func(c *idemddb.Claim) error { return c.Fail(h.Context(), errors.New("cause")) },
			"extend":  func(c *idemddb.Claim) error { return c.Extend(h.Context()) },
		} {
			c := h.claim(h.storeOn(h.intercepted(nth(2, loseReply))), name)
			h.Advance(time.Second)
			h.must(settle(c))

			if name == "extend" {
				h.equal("lease", h.number(name, "lease"), h.Now().Add(lease).UnixMilli())
			}
		}

		h.equal("att", h.number("unused", "att"), int64(0))
	}},
}
