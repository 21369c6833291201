package contract

import (
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// extendCases say what Extend does to a lease.
var extendCases = []testCase{
	{name: "an extended lease holds past its old end", check: func(h *harness) {
		s := h.store()
		c := h.claim(s, "k")
		h.Advance(lease / 2)
		h.must(c.Extend(h.Context()))
		h.equal("Deadline", c.Deadline().UnixMilli(), h.Now().Add(lease).UnixMilli())
		h.equal("lease", h.number("k", "lease"), c.Deadline().UnixMilli())
		h.Advance(lease/2 + skew + time.Millisecond)
		h.refuse(s, "k", nil, idemddb.ErrInProgress)
	}},
	{name: "the record lives longer than its extended lease", check: func(h *harness) {
		s := h.store(func(o *idemddb.Options) { o.Retention = lease })
		c := h.claim(s, "k")

		for range 5 {
			h.Advance(lease - time.Millisecond)
			h.must(c.Extend(h.Context()))
			h.refuse(s, "k", nil, idemddb.ErrInProgress)
		}
	}},
	{name: "extending never shortens a lease", check: func(h *harness) {
		c := h.claim(h.store(), "k")
		h.Advance(-time.Second)
		h.unchanged("k", func() { h.must(c.Extend(h.Context())) })
		h.equal("Deadline", c.Deadline().UnixMilli(), epoch.Add(lease).UnixMilli())
	}},
	{name: "extending at the moment of the claim changes nothing and is a success", check: func(h *harness) {
		c := h.claim(h.store(), "k")
		h.unchanged("k", func() { h.must(c.Extend(h.Context())) })
	}},
}
