package contract

import (
	"errors"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// giveUpCases say when a key ends as FAILED without its holder: its attempts are used up, or its lease ran out under NoTakeover.
var giveUpCases = []testCase{
	{name: "attempts used up: the next claim writes FAILED once, and the work does not begin", check: func(h *harness) {
		s := h.store(maxAttempts(2))
		h.must(h.claim(s, "k").Release(h.Context(), errors.New("bank closed")))
		h.claim(s, "k")
		h.endLease()

		failed := h.giveUp(s, "k")
		h.equal("Attempts", failed.Attempts, 2)
		h.equal("Cause", failed.Cause, "attempts used up; last failure: bank closed")
		h.equal("st", h.text("st"), "FAILED")
		h.refuse(s, "k", nil, idemddb.ErrFailed)
	}},
	{name: "attempts used up: FAILED also where all of them were released", check: func(h *harness) {
		s := h.store(maxAttempts(1))
		h.must(h.claim(s, "k").Release(h.Context(), nil))
		h.giveUp(s, "k")
		h.equal("st", h.text("st"), "FAILED")
	}},
	{name: "attempts used up: FAILED whose write is not answered is the answer", check: func(h *harness) {
		for name, f := range unanswered {
			h.must(h.claim(h.store(), name).Release(h.Context(), errors.New("bank closed")))

			failed := h.giveUp(h.storeOn(h.intercepted(nth(2, f)), maxAttempts(1)), name)
			h.equal("Attempts", failed.Attempts, 1)
			h.equal("Cause", failed.Cause, "attempts used up; last failure: bank closed")
		}
	}},
	{name: "without takeover a lease that ran out ends the key, its outcome unknown, until somebody reopens it", check: func(h *harness) {
		s := h.store(noTakeover)
		h.claim(s, "k")
		h.refuse(s, "k", nil, idemddb.ErrInProgress)
		h.endLease()
		h.equal("Cause", h.giveUp(s, "k").Cause, "the lease of attempt 1 ran out: outcome unknown, not taken over")
		h.refuse(s, "k", nil, idemddb.ErrFailed)

		h.Advance(time.Minute)
		h.must(s.Reopen(h.Context(), "k"))
		h.must(s.Reopen(h.Context(), "k"))
		h.equal("exp", h.number("k", "exp"), h.Now().Add(retention+time.Second).Unix())
		h.equal("Attempt", h.claim(s, "k").Attempt(), 1)
	}},
	{name: "a lease that is extended while its end is being written stays", check: func(h *harness) {
		c := h.claim(h.store(), "k")
		h.endLease()

		extendFirst := func(send func() error) error {
			h.check(c.Extend(h.Context()))

			return send()
		}
		_, _, err := h.storeOn(h.intercepted(nth(2, extendFirst)), noTakeover).Claim(h.Context(), "k", nil)
		h.is(err, idemddb.ErrInProgress)
		h.must(c.Complete(h.Context(), nil))
	}},
	{name: "a key whose record changed meanwhile is not ended", check: func(h *harness) {
		for name, change := range map[string]attributes{
			"another owner token":    {"own": str("another")},
			"another fencing token":  {"fence": num(7)},
			"completed by its owner": {"st": str("COMPLETED")},
			"released":               {"lease": num(0)},
			"released unused":        {"lease": num(-1)},
			"extended to the limit":  {"lease": num(epoch.Add(lease + time.Millisecond).UnixMilli())},
		} {
			h.Advance(epoch.Sub(h.Now()))
			h.claim(h.store(), name)
			h.endLease()

			// What the claim answers follows from what it then finds. The point is that its refused write left the record alone.
			_, _, _ = h.storeOn(h.changedFirst(name, change), noTakeover).Claim(h.Context(), name, nil)
		}
	}},
}

// giveUp demands that a claim is answered with the end of its key.
func (h *harness) giveUp(s *idemddb.Store, key string) *idemddb.FailedError {
	h.Helper()

	c, record, err := s.Claim(h.Context(), key, nil)
	h.is(err, idemddb.ErrFailed)

	if c != nil || record != nil {
		h.Errorf("claim: got claim %v, record %v beside the error %v", c, record, err)
	}

	return as[*idemddb.FailedError](h, err)
}

// changedFirst changes the record just before the second request arrives, which must leave it as it is then.
func (h *harness) changedFirst(key string, change attributes) *interceptor {
	return h.intercepted(nth(2, func(send func() error) error {
		h.edit(key, change)

		var err error

		h.unchanged(key, func() { err = send() })

		return err
	}))
}
