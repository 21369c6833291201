package contract

import (
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// commitFaultCases say that a commit whose answer is lost, or whose transaction arrives late, is recognised and counts once.
var commitFaultCases = []testCase{
	{name: "Commit: what is not answered counts, and counts once, for a new key and past the retention", check: func(h *harness) {
		for name, f := range unanswered {
			for _, forgotten := range []bool{false, true} {
				for n, old := range map[int64]bool{1: false, 2: true} {
					key := name + map[bool]string{true: ", old"}[old] + map[bool]string{true: ", forgotten"}[forgotten]
					if old {
						h.committed(h.store(), key, effects(h.count("x")))
						h.endRetention()
					}

					e := h.intercepted(nth(n, f))
					e.withoutTokens = forgotten
					h.committed(h.storeOn(e), key, effects(h.once(key)))
					h.happened(key, "1")
					h.equal("Attempts", h.replay(h.store(), key).Attempts, 1)
				}
			}
		}
	}},
	{name: "Commit: another's commit is not taken for an own one", check: func(h *harness) {
		e := h.intercepted(nth(1, func(func() error) error {
			h.committed(h.store(), "k", effects(h.count("other")))

			return errReset
		}))
		ok, rec, err := h.commit(h.storeOn(e), "k", effects(h.count("a")))
		h.must(err)
		h.equal("committed", ok || rec == nil, false)
		h.happened("a", "0")
	}},
	{name: "Commit: one whose tx is another is not an own one", check: func(h *harness) {
		e := h.intercepted(nth(1, func(send func() error) error {
			err := send()
			h.edit("k", attributes{"tx": str("another call")})

			return errors.Join(err, errReset)
		}))
		e.withoutTokens = true
		_, rec, err := h.commit(h.storeOn(e), "k", effects(h.count("a")))
		h.equal("a record or an error", rec != nil || err != nil, true)
	}},
	{name: "Commit: a transaction that arrives late changes nothing once the key is held or has ended", check: func(h *harness) {
		for after, then := range map[string]func(key string){
			"a claim":       func(key string) { h.claim(h.store(), key) },
			"a completion":  func(key string) { completed(h, h.claim(h.store(), key)) },
			"a commit":      func(key string) { h.committed(h.store(), key, effects(h.count("other"))) },
			"a failed run":  func(key string) { h.reject(h.store(), key, true) },
			"its own retry": func(string) {},
		} {
			late := &lateRequest{}
			e := h.intercepted(nth(1, late.hold))
			e.withoutTokens = true

			ctx, want := h.Context(), error(nil) // the commit's own retry may take as long as it needs

			if after != "its own retry" {
				ctx, want = h.shortly(), idemddb.ErrUncommitted
				e.onRequest = func(n int64, send func() error) error {
					if n == 1 {
						return late.hold(send)
					}

					return errReset
				}
			}

			_, err := h.storeOn(e).Commit(ctx, after, nil, nil, effects(h.count(after)))
			h.equal(after+": error", errors.Is(err, want), true)

			h.Advance(time.Second)
			then(after)
			h.unchanged(after, func() { late.arrive(h) })
			h.happened(after, map[bool]string{true: "1", false: "0"}[after == "its own retry"])
		}
	}},
	{name: "Commit: a transaction that arrives late after a released run is what happened, once", check: func(h *harness) {
		late := &lateRequest{}
		e := h.intercepted(func(n int64, send func() error) error {
			if n == 1 {
				return late.hold(send)
			}

			return errReset
		})
		_, err := h.storeOn(e).Commit(h.shortly(), "k", nil, nil, effects(h.count("a")))
		h.is(err, idemddb.ErrUncommitted)
		h.reject(h.store(), "k", false)
		late.arrive(h)
		h.happened("a", "1")
		h.replay(h.store(), "k")
	}},
}
