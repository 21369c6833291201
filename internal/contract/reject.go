package contract

import (
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// rejectCases say what is written of a run without a claim that did not succeed.
var rejectCases = []testCase{
	{name: "Reject: a run without a claim that failed is released, with one attempt, and may be claimed at once", check: func(h *harness) {
		s := h.store()
		h.reject(s, "k", false)
		h.equal("st", h.text("st"), "INPROGRESS")
		h.equal("lease", h.number("k", "lease"), int64(0))
		h.equal("att", h.number("k", "att"), int64(1))
		h.equal("err", h.text("err"), "bank closed")
		h.equal("exp", h.number("k", "exp"), h.Now().Add(retention+time.Second).Unix())
		h.equal("prev", h.number("k", "prev"), int64(0))
		h.equal("born", h.number("k", "born"), h.Now().UnixMilli())
		h.equal("v", h.number("k", "v"), int64(1))

		fence := h.number("k", "fence")
		h.Advance(time.Second)
		h.reject(s, "k", false)
		h.equal("fence", h.number("k", "fence"), fence+1)
		h.equal("att", h.number("k", "att"), int64(2))
		h.equal("born", h.number("k", "born"), epoch.UnixMilli())

		c := h.claim(s, "k")
		h.equal("Attempt", c.Attempt(), 3)
		h.equal("Takeover", c.Takeover(), false)
		h.endLease()
		h.reject(s, "k", false)
		h.equal("prev", h.number("k", "prev"), c.Deadline().UnixMilli())
	}},
	{name: "Reject: a run that failed for good ends the key, also past its retention", check: func(h *harness) {
		s := h.store()
		for _, key := range []string{"new", "old"} {
			if key == "old" {
				h.must(h.claimWith(s, key, &idemddb.ClaimOptions{Fingerprint: "a"}).Complete(h.Context(), nil))
				h.endRetention()
			}

			h.reject(s, key, true)
			failed := as[*idemddb.FailedError](h, h.refuse(s, key, nil, idemddb.ErrFailed))
			h.equal("Cause", failed.Cause, "bank closed")
			h.equal("Attempts", failed.Attempts, 1)
			h.equal("exp", h.number(key, "exp"), h.Now().Add(retention+time.Second).Unix())
			h.equal("fp", h.item(key)["fp"], attributes{}["fp"])
		}
	}},
	{name: "Reject: past the retention a released run counts as the first attempt", check: func(h *harness) {
		s := h.store()
		completed(h, h.claim(s, "k"))
		h.endRetention()
		h.reject(s, "k", false)
		h.equal("Attempt", h.claim(s, "k").Attempt(), 2)
	}},
	{name: "Reject: what refuses a claim refuses it, and a completed key answers", check: func(h *harness) {
		s := h.store()
		h.committed(s, "completed", effects(h.count("a")))
		h.unchanged("completed", func() {
			e := h.fails(s, "completed", nil, permanent{errReset})
			h.must(e.Err)
			h.equal("Result", resultOf(e.Record), "paid")
		})
		h.claim(s, "held")
		h.must(h.claim(s, "failed").Fail(h.Context(), nil))
		released(h, h.claimWith(s, "another input", &idemddb.ClaimOptions{Fingerprint: "a"}))

		for key, want := range map[string]error{
			"held": idemddb.ErrInProgress, "failed": idemddb.ErrFailed, "another input": idemddb.ErrMismatch,
		} {
			h.unchanged(key, func() {
				h.is(h.fails(s, key, &idemddb.ClaimOptions{Fingerprint: "b"}, permanent{errReset}).Err, want)
			})
		}

		for key, o := range map[string]func(*idemddb.Options){"no takeover": noTakeover, "attempts": maxAttempts(1)} {
			h.claim(s, key)
			h.endLease()

			h.is(h.fails(h.store(o), key, nil, errReset).Err, idemddb.ErrFailed)
			h.equal(key+": st", h.item(key)["st"], str("FAILED"))
		}
	}},
	{name: "Reject: the fingerprint is stored, or what was there is removed", check: func(h *harness) {
		s := h.store()
		h.equal("Kind", h.fails(s, "k", &idemddb.ClaimOptions{Fingerprint: "a"}, errReset).Kind, idemddb.KindReleased)
		h.refuse(s, "k", &idemddb.ClaimOptions{Fingerprint: "b"}, idemddb.ErrMismatch)
		h.reject(s, "k", false)
		released(h, h.claimWith(s, "k", &idemddb.ClaimOptions{Fingerprint: "b"}))
	}},
	{name: "Reject: one that is not answered counts once", check: func(h *harness) {
		for name, f := range unanswered {
			for n, old := range map[int64]bool{1: false, 2: true} {
				for _, final := range []bool{false, true} {
					key := name + map[bool]string{true: ", old"}[old] + map[bool]string{true: ", final"}[final]
					if old {
						completed(h, h.claim(h.store(), key))
						h.endRetention()
					}

					h.reject(h.storeOn(h.intercepted(nth(n, f))), key, final)
					h.equal(key+": att", h.number(key, "att"), int64(1))
				}
			}
		}
	}},
}

// reject demands that a run that failed is written down.
func (h *harness) reject(s *idemddb.Store, key string, final bool) {
	h.Helper()

	cause, want := errors.New("bank closed"), idemddb.KindReleased
	if final {
		cause, want = permanent{cause}, idemddb.KindFailed
	}

	e := h.fails(s, key, nil, cause)
	h.equal("Kind", e.Kind, want)
	h.equal("Unknown", e.Unknown, false)
	h.equal("Err", e.Err, cause)
}

// fails runs work without a claim that returns an error, and settles it.
func (h *harness) fails(s *idemddb.Store, key string, opts *idemddb.ClaimOptions, cause error) idemddb.Ending {
	h.Helper()

	with := idemddb.ClaimOptions{}
	if opts != nil {
		with = *opts
	}

	with.Optimistic = true

	work, e := s.Begin(h.Context(), key, &with)
	if work == nil {
		h.Fatalf("got %+v, want work", e)
	}

	return work.Settle(h.Context(), nil, cause)
}
