package contract

import (
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// heldCases say that a claim that is returned is held, however late its answer came.
var heldCases = []testCase{
	{name: "a claim whose answer comes when less than half of its lease is left is extended first", check: func(h *harness) {
		for name, delay := range map[string]time.Duration{"most of the lease": lease * 6 / 10, "all of the lease": lease, "more": 2 * lease} {
			e := h.intercepted(nth(1, h.answeredAfter(delay)))
			c := h.claim(h.storeOn(e), name)
			h.equal(name+": Deadline", c.Deadline().UnixMilli(), h.Now().Add(lease).UnixMilli())
			h.equal(name+": lease", h.number(name, "lease"), c.Deadline().UnixMilli())
			h.equal(name+": requests", e.requests.Load(), int64(2))
			h.must(c.Complete(h.Context(), nil))
		}
	}},
	{name: "a claim whose answer comes when more than half of its lease is left costs no other request", check: func(h *harness) {
		e := h.intercepted(nth(1, h.answeredAfter(lease*4/10)))
		h.claim(h.storeOn(e), "k")
		h.equal("requests", e.requests.Load(), int64(1))
	}},
	{name: "a claim that an outage delays is extended first", check: func(h *harness) {
		e := h.intercepted(nth(1, func(send func() error) error {
			h.check(send())
			h.Advance(lease)

			return errReset
		}))
		c := h.claim(h.storeOn(e), "k")
		h.equal("Attempt", c.Attempt(), 1)
		h.equal("Deadline", c.Deadline().UnixMilli(), h.Now().Add(lease).UnixMilli())
		h.equal("lease", h.number("k", "lease"), c.Deadline().UnixMilli())
	}},
	{name: "a claim whose answer comes when another worker has the key is not returned", check: func(h *harness) {
		s := h.store()
		e := h.intercepted(nth(1, func(send func() error) error {
			err := send()

			h.endLease()

			if _, _, other := s.Claim(h.Context(), "k", nil); other != nil {
				h.Errorf("the other worker: %v", other)
			}

			return err
		}))

		_, _, err := h.storeOn(e).Claim(h.Context(), "k", nil)
		h.is(err, idemddb.ErrInProgress)
		h.equal("att", h.number("k", "att"), int64(2))
	}},
}

// answeredAfter applies a request, and answers it when the clock has moved.
func (h *harness) answeredAfter(delay time.Duration) fault {
	return func(send func() error) error {
		err := send()

		h.Advance(delay)

		return err
	}
}
