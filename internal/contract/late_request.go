package contract

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
)

// lateRequestCases say that a request that its sender has given up and repeated does no harm when it arrives after all.
var lateRequestCases = []testCase{
	{name: "a claim that arrives late does not hold the key again after its release", check: func(h *harness) {
		late := &lateRequest{}
		c := h.claim(h.storeOn(h.intercepted(nth(1, late.hold))), "k")
		h.must(c.Release(h.Context(), nil))
		h.unchanged("k", func() { late.arrive(h) })
		h.claim(h.store(), "k")
	}},
	{name: "a claim that arrives late changes nothing while the claim is held, or after its completion", check: func(h *harness) {
		late := &lateRequest{}
		c := h.claim(h.storeOn(h.intercepted(nth(1, late.hold))), "k")
		h.Advance(time.Second)
		h.unchanged("k", func() { late.arrive(h) })
		h.must(c.Complete(h.Context(), nil))
		h.unchanged("k", func() { late.arrive(h) })
	}},
	{name: "a complete, fail or extend that arrives late does not revive a released key", check: func(h *harness) {
		for name, settle := range map[string]func(*idemddb.Claim) error{
			"extend":   func(c *idemddb.Claim) error { return c.Extend(h.Context()) },
			"complete": func(c *idemddb.Claim) error { return c.Complete(h.Context(), nil) },
			"fail":     func(c *idemddb.Claim) error { return c.Fail(h.Context(), nil) },
		} {
			late := &lateRequest{}
			c := h.claim(h.storeOn(h.intercepted(late.holdAndRefuse)), name)
			h.Advance(time.Second)

			if err := settle(c); err == nil {
				h.Fatalf("%s: no error", name)
			}

			h.edit(name, attributes{"lease": num(0)}) // after a settlement the claim itself sends no release any more
			h.unchanged(name, func() { late.arrive(h) })
			h.claim(h.store(), name)
		}
	}},
	{name: "an extend that arrives late does not take back what a later one has written", check: func(h *harness) {
		late := &lateRequest{}
		c := h.claim(h.storeOn(h.intercepted(nth(2, late.hold))), "k")
		h.Advance(time.Second)
		h.must(c.Extend(h.Context()))
		h.Advance(time.Second)
		h.must(c.Extend(h.Context()))
		h.unchanged("k", func() { late.arrive(h) })
	}},
	{name: "a release that arrives late does not undo the completion of its claim", check: func(h *harness) {
		late, outage := &lateRequest{}, &atomic.Bool{}
		c := h.claim(h.storeOn(h.intercepted(late.neverAnswered(outage))), "k")

		outage.Store(true)

		if err := c.Release(h.shortly(), nil); err == nil {
			h.Error("a release that was never answered: no error")
		}

		outage.Store(false)
		h.must(c.Complete(h.Context(), nil))
		h.unchanged("k", func() { late.arrive(h) })
	}},
	{name: "a release that arrives late leaves the next claim alone", check: func(h *harness) {
		late := &lateRequest{}
		c := h.claim(h.storeOn(h.intercepted(nth(2, late.hold))), "k")
		h.must(c.ReleaseUnused(h.Context()))
		h.claim(h.store(), "k")
		h.unchanged("k", func() { late.arrive(h) })
	}},
}

// neverAnswered sends requests until there is an outage. It holds the first request of the outage and loses the others.
func (r *lateRequest) neverAnswered(outage *atomic.Bool) onRequest {
	var once sync.Once

	return func(_ int64, send func() error) error {
		if !outage.Load() {
			return send()
		}

		once.Do(func() { _ = r.hold(send) })

		return errReset
	}
}

// shortly is a context in which a settlement that is not answered is given up soon. An engine that is far away, as that of `make
// aws`, needs longer for an answer.
func (h *harness) shortly() context.Context {
	soon := 150 * time.Millisecond
	if os.Getenv("IDEMDDB_ACCEPTANCE") != "" {
		soon = 5 * time.Second
	}

	return engine.With(h.Context(), &engine.Invocation{Times: &engine.Times{SettleBy: time.Now().Add(soon)}})
}

// holdAndRefuse holds the second request and refuses its repetition, so that the call gives up.
func (r *lateRequest) holdAndRefuse(n int64, send func() error) error {
	switch n {
	case 2:
		return r.hold(send)
	case 3:
		return errInvalid
	default:
		return send()
	}
}
