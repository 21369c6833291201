package contract

import (
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// fencingCases say that a claim that was lost changes nothing.
var fencingCases = []testCase{
	{name: "no write of a worker that lost its claim changes the record: held by another, completed, failed, released", check: func(h *harness) {
		for state, end := range map[string]func(*idemddb.Claim) error{
			"held":      func(*idemddb.Claim) error { return nil },
			"completed": func(c *idemddb.Claim) error { return c.Complete(h.Context(), []byte("theirs")) },
			"failed":    func(c *idemddb.Claim) error { return c.Fail(h.Context(), nil) },
			"released":  func(c *idemddb.Claim) error { return c.Release(h.Context(), nil) },
		} {
			for verb, settle := range h.verbs() {
				s, key := h.store(), state+", "+verb
				lost := h.claim(s, key)
				h.endLease()
				h.must(end(h.claim(s, key)))
				h.Advance(time.Second)
				h.unchanged(key, func() {
					fenced := as[*idemddb.FencedError](h, settle(lost))
					h.equal(key+": Held", fenced.Held, lost.Fence())
					h.equal(key+": Current", fenced.Current, lost.Fence()+1)
					h.equal(key+": the other's record", fenced.Record != nil, state == "completed")
				})
			}
		}
	}},
	{name: "a claim that is known to be lost is released without a request, and still says who has the key", check: func(h *harness) {
		e := h.intercepted(nil)
		lost := h.claim(h.storeOn(e), "k")
		h.endLease()
		h.claim(h.store(), "k")
		h.is(lost.Extend(h.Context()), idemddb.ErrFenced)

		requests := e.requests.Load()
		fenced := as[*idemddb.FencedError](h, lost.Release(h.Context(), nil))
		h.equal("Current", fenced.Current, lost.Fence()+1)
		h.equal("requests", e.requests.Load(), requests)
		h.is(lost.Complete(h.Context(), nil), idemddb.ErrFenced)
		h.equal("requests of a completion", e.requests.Load(), requests+1)
	}},
	{name: "owner token and fencing token must both be those of the claim", check: func(h *harness) {
		for name, change := range map[string]attributes{
			"another owner token":   {"own": str("another")},
			"another fencing token": {"fence": num(1)},
		} {
			for verb, settle := range h.verbs() {
				key := name + ", " + verb
				c := h.claim(h.store(), key)
				h.edit(key, change)
				h.Advance(time.Second)
				h.unchanged(key, func() { h.is(settle(c), idemddb.ErrFenced) })
			}
		}
	}},
	{name: "a record that was deleted is not created anew", check: func(h *harness) {
		for verb, settle := range h.verbs() {
			c := h.claim(h.store(), verb)
			h.drop(verb)
			h.equal(verb+": Current", as[*idemddb.FencedError](h, settle(c)).Current, int64(0))

			if h.item(verb) != nil {
				h.Errorf("%s: there is a record again", verb)
			}
		}
	}},
}
