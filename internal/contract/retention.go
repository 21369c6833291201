package contract

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// retentionCases say how long a record answers, and what follows.
var retentionCases = []testCase{
	{name: "a record past its retention is a new key: a fresh record, a higher fencing token", check: func(h *harness) {
		s := h.store()
		first := h.claim(s, "k")
		h.must(first.Complete(h.Context(), []byte("old")))
		h.endRetention()

		second := h.claim(s, "k")
		h.equal("Attempt", second.Attempt(), 1)
		h.equal("Takeover", second.Takeover(), false)
		h.equal("born", h.number("k", "born"), h.Now().UnixMilli())
		h.equal("res", h.item("k")["res"], types.AttributeValue(nil))

		if second.Fence() <= first.Fence() {
			h.Errorf("fence: %d after %d", second.Fence(), first.Fence())
		}
	}},
	{name: "a record answers to the last second of its retention", check: func(h *harness) {
		s := h.store()
		h.must(h.claim(s, "k").Complete(h.Context(), nil))
		h.Advance(retention)
		h.replay(s, "k")
		h.Advance(499 * time.Millisecond) // exp is rounded up to a whole second, and the claim began at half a second
		h.replay(s, "k")
		h.Advance(time.Millisecond)
		h.claim(s, "k")
	}},
	{name: "a record in progress past its retention is claimed anew, and its attempts do not count", check: func(h *harness) {
		s := h.store()
		h.claim(s, "k")
		h.endRetention()
		h.equal("Attempt", h.claim(s, "k").Attempt(), 1)
	}},
	{name: "a released record counts its attempts to its last second, and is claimed anew after it", check: func(h *harness) {
		s := h.store()
		h.must(h.claim(s, "k").Release(h.Context(), nil))
		h.must(h.claim(s, "k2").Release(h.Context(), nil))
		h.Advance(retention + 499*time.Millisecond)
		h.equal("Attempt", h.claim(s, "k").Attempt(), 2)
		h.Advance(time.Millisecond)
		h.equal("Attempt", h.claim(s, "k2").Attempt(), 1)
	}},
	{name: "a failed record past its retention is claimed anew", check: func(h *harness) {
		s := h.store()
		h.must(h.claim(s, "k").Fail(h.Context(), errors.New("no such account")))
		h.endRetention()
		h.claim(s, "k")
		h.equal("err", h.text("err"), "")
	}},
	{name: "a record past its retention that changes while it is claimed anew is never overwritten", check: func(h *harness) {
		for name, change := range map[string]func(*idemddb.Claim){
			"completed": func(c *idemddb.Claim) { h.check(c.Complete(h.Context(), []byte("late"))) },
			"extended":  func(c *idemddb.Claim) { h.check(c.Extend(h.Context())) },
			"claimed":   func(c *idemddb.Claim) { h.edit(c.Key(), attributes{"own": str("x")}) },
			"refenced":  func(c *idemddb.Claim) { h.edit(c.Key(), attributes{"fence": num(9)}) },
		} {
			c := h.claim(h.store(), name)
			h.endRetention()

			changeFirst := func(send func() (err error)) (err error) {
				change(c)
				h.unchanged(name, func() { err = send() })

				return err
			}
			if _, _, err := h.storeOn(h.intercepted(nth(2, changeFirst))).Claim(h.Context(), name, nil); errors.Is(err, idemddb.ErrFenced) {
				h.Errorf("%s: %v", name, err)
			}
		}
	}},
	{name: "each Store honours its own retention on one table", check: func(h *harness) {
		long := h.store(func(o *idemddb.Options) { o.Retention = 24 * time.Hour })
		h.must(h.claim(h.store(), "short").Complete(h.Context(), nil))
		h.must(h.claim(long, "long").Complete(h.Context(), nil))
		h.equal("difference", h.number("long", "exp")-h.number("short", "exp"), int64(23*60*60))
	}},
}
