package contract

import (
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// reopenCases say what Reopen does.
var reopenCases = []testCase{
	{name: "reopening leaves alone what is not failed", check: func(h *harness) {
		s := h.store()
		h.must(h.claim(s, "done").Complete(h.Context(), nil))
		h.unchanged("done", func() {
			if err := s.Reopen(h.Context(), "done"); !errors.Is(err, idemddb.ErrCompleted) {
				h.Error("reopening a completed key: no error")
			}
		})

		h.claim(s, "held")
		h.unchanged("held", func() { h.must(s.Reopen(h.Context(), "held")) })

		if err := s.Reopen(h.Context(), "none"); !errors.Is(err, idemddb.ErrNoRecord) || h.item("none") != nil {
			h.Errorf("reopening a key without a record: error %v, record %v", err, h.item("none"))
		}

		h.must(h.claim(s, "newer").Fail(h.Context(), nil))
		h.edit("newer", attributes{"v": num(2)})
		h.unchanged("newer", func() { h.is(s.Reopen(h.Context(), "newer"), idemddb.ErrCorrupt) })
	}},
	{name: "a reopening leaves a record that changed meanwhile", check: func(h *harness) {
		for name, change := range map[string]attributes{
			"a newer version":                  {"v": num(2)},
			"held again":                       {"st": str("INPROGRESS")},
			"completed":                        {"st": str("COMPLETED")},
			"failed again, by another":         {"own": str("another")},
			"failed again, next fencing token": {"fence": num(epoch.Add(time.Hour).UnixMilli())},
		} {
			h.must(h.claim(h.store(), name).Fail(h.Context(), nil))
			_ = h.storeOn(h.changedFirst(name, change)).Reopen(h.Context(), name) // the answer depends on what Reopen then finds
		}
	}},
	{name: "a reopening whose reply is lost is a success", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Fail(h.Context(), nil))
		h.must(h.storeOn(h.intercepted(nth(2, loseReply))).Reopen(h.Context(), "k"))
		h.claim(h.store(), "k")
	}},
	{name: "a reopening that arrives late does not open a key that has failed again", check: func(h *harness) {
		late := &lateRequest{}
		s := h.store()
		h.must(h.claim(s, "k").Fail(h.Context(), nil))
		h.must(h.storeOn(h.intercepted(nth(2, late.hold))).Reopen(h.Context(), "k"))
		h.must(h.claim(s, "k").Fail(h.Context(), nil))
		h.must(s.Reopen(h.Context(), "k"))

		c := h.claim(s, "k")
		arrives := func() { late.arrive(h) }
		h.unchanged("k", arrives)
		h.must(c.Fail(h.Context(), nil))
		h.unchanged("k", arrives)
		h.edit("k", attributes{"own": str("another")})
		h.unchanged("k", arrives)
	}},
	{name: "the end of a key that arrives late does not end it again once it was reopened", check: func(h *harness) {
		late := &lateRequest{}

		h.must(h.claim(h.store(), "k").Release(h.Context(), nil))

		h.giveUp(h.storeOn(h.intercepted(nth(2, late.hold)), maxAttempts(1)), "k")
		h.must(h.store().Reopen(h.Context(), "k"))
		h.unchanged("k", func() { late.arrive(h) })
		h.equal("Attempt", h.claim(h.store(maxAttempts(1)), "k").Attempt(), 1)
	}},
}
