package contract

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// claimCases say who gets a key.
var claimCases = []testCase{
	{name: "a new key is claimed, and the record says so before the work begins", check: func(h *harness) {
		h.isNewClaim(h.claim(h.store(), "k"))
	}},
	{name: "of 50 workers that race for a new key one gets it", check: func(h *harness) {
		h.equal("claims", h.race(50), int64(1))
	}},
	{name: "of 20 workers that race for a lease that is over one gets the key", check: func(h *harness) {
		h.claim(h.store(), "k")
		h.endLease()
		h.equal("claims", h.race(20), int64(1))
		h.equal("att", h.number("k", "att"), int64(2))
	}},
	{name: "of 20 workers that race for a record past its retention one gets the key", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Complete(h.Context(), nil))
		h.endRetention()
		h.equal("claims", h.race(20), int64(1))
	}},
	{name: "a key that is held is refused with the end of its lease, and nothing is written", check: func(h *harness) {
		s := h.store()
		c := h.claim(s, "k")
		refusal := as[*idemddb.InProgressError](h, h.refuse(s, "k", nil, idemddb.ErrInProgress))

		h.equal("Key", refusal.Key, "k")
		h.equal("Until", refusal.Until.UnixMilli(), c.Deadline().UnixMilli())
	}},
	{name: "a lease that ended less than the clock skew ago is not taken over", check: func(h *harness) {
		s := h.store()
		h.claim(s, "k")

		for _, d := range []time.Duration{lease - time.Millisecond, time.Millisecond, skew - time.Millisecond, time.Millisecond} {
			h.Advance(d)
			h.refuse(s, "k", nil, idemddb.ErrInProgress)
		}
	}},
	{name: "a takeover has its own owner token, the next fencing token and attempt, and the time of the first claim", check: func(h *harness) {
		s := h.store()
		first := h.claim(s, "k")
		token := h.text("own")

		h.endLease()
		second := h.claim(s, "k")

		h.equal("Fence", second.Fence(), first.Fence()+1)
		h.equal("Attempt", second.Attempt(), 2)
		h.equal("Takeover", second.Takeover(), true)
		h.equal("att", h.number("k", "att"), int64(2))
		h.equal("born", h.number("k", "born"), epoch.UnixMilli())

		if h.text("own") == token {
			h.Error("the owner token is the old one")
		}
	}},
	{name: "two workers whose clocks differ by less than the skew never hold a key at once", check: func(h *harness) {
		h.claim(h.store(), "k")
		h.Advance(lease - time.Millisecond) // the holder trusts its lease for another moment
		h.refuse(h.store(h.by(skew-time.Millisecond)), "k", nil, idemddb.ErrInProgress)
	}},
	{name: "a retention that is as short as the lease does not let a key be taken early", check: func(h *harness) {
		short := func(o *idemddb.Options) { o.Retention = lease }
		h.claim(h.store(short), "k")
		h.Advance(lease - time.Millisecond)
		h.refuse(h.store(short, h.by(skew-time.Millisecond)), "k", nil, idemddb.ErrInProgress)
	}},
	{name: "a released key is claimed again at once, and that is no takeover", check: func(h *harness) {
		s := h.store()
		first := h.claim(s, "k")
		h.must(first.Release(h.Context(), errors.New("no answer from the bank")))
		h.equal("err", h.text("err"), "no answer from the bank")
		h.equal("lease", h.number("k", "lease"), int64(0))

		second := h.claim(s, "k")
		h.equal("Takeover", second.Takeover(), false)
		h.equal("Attempt", second.Attempt(), 2)
		h.equal("Fence", second.Fence(), first.Fence()+1)
	}},
	{name: "a claim that is released unused does not count as an attempt, also when it is released twice", check: func(h *harness) {
		s := h.store(maxAttempts(1))
		unused := h.claim(s, "k")
		h.must(unused.ReleaseUnused(h.Context()))
		h.must(unused.ReleaseUnused(h.Context()))
		h.equal("att", h.number("k", "att"), int64(0))
		h.equal("Attempt", h.claim(s, "k").Attempt(), 1)
	}},
	{name: "after a takeover that is released unused the next claim is a takeover, too", check: func(h *harness) {
		h.abandoned("k")

		for range 2 {
			c := h.claim(h.store(), "k")
			h.equal("Takeover", c.Takeover(), true)
			h.equal("Attempt", c.Attempt(), 2)
			h.must(c.ReleaseUnused(h.Context()))
		}

		h.equal("att", h.number("k", "att"), int64(1))

		// The work of this attempt began and looked for earlier effects, so the next claim is no takeover.
		h.must(h.claim(h.store(), "k").Release(h.Context(), nil))
		h.equal("Takeover", h.claim(h.store(), "k").Takeover(), false)
	}},
	{name: "the fencing token rises across the deletion of the record", check: func(h *harness) {
		s := h.store()
		first := h.claim(s, "k")
		h.Advance(time.Second)
		h.drop("k")

		if second := h.claim(s, "k"); second.Fence() <= first.Fence() {
			h.Errorf("fence: %d after %d", second.Fence(), first.Fence())
		}
	}},
	{name: "a lease ends with the deadline of the context if that is nearer", check: func(h *harness) {
		ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
		defer cancel()

		s := h.store(func(o *idemddb.Options) { o.Lease, o.Retention = time.Hour, 2*time.Hour })
		c, record, err := s.Claim(ctx, "k", nil)

		if left := h.won(answer{c, record, err}).Deadline().Sub(epoch); left > time.Minute || left <= 0 {
			h.Errorf("lease: %v, want the context's minute", left)
		}
	}},
}

// isNewClaim compares a claim of the new key "k", and its record, with what they must be.
func (h *harness) isNewClaim(c *idemddb.Claim) {
	h.Helper()

	now := epoch.UnixMilli()

	h.equal("st", h.text("st"), "INPROGRESS")
	h.equal("v", h.number("k", "v"), int64(1))
	h.equal("lease", h.number("k", "lease"), now+lease.Milliseconds())
	h.equal("prev", h.number("k", "prev"), int64(0))
	h.equal("att", h.number("k", "att"), int64(1))
	h.equal("born", h.number("k", "born"), now)
	h.equal("fence", h.number("k", "fence"), c.Fence())
	h.equal("exp", h.number("k", "exp"), epoch.Add(retention+time.Second).Unix()) // exp is rounded up
	h.equal("fp", h.text("fp"), "")
	h.equal("Key", c.Key(), "k")
	h.equal("Attempt", c.Attempt(), 1)
	h.equal("Takeover", c.Takeover(), false)
	h.equal("Deadline", c.Deadline().UnixMilli(), now+lease.Milliseconds())

	if h.text("own") == "" {
		h.Error("the record has no owner token")
	}
}

// race has n workers claim the key "k" at once, and returns how many got it. All others must get ErrInProgress.
func (h *harness) race(n int) int64 {
	h.Helper()

	var (
		claims atomic.Int64
		all    sync.WaitGroup
		start  = make(chan struct{})
	)

	for range n {
		s := h.store()

		all.Go(func() {
			<-start

			c, record, err := s.Claim(h.Context(), "k", nil)

			switch {
			case c != nil:
				claims.Add(1)
			case record != nil, !errors.Is(err, idemddb.ErrInProgress):
				h.Errorf("a loser got %s", answer{c, record, err})
			}
		})
	}

	close(start)
	all.Wait()

	return claims.Load()
}

// abandoned makes a record whose lease is over, by a worker whose clock is far behind.
func (h *harness) abandoned(key string) {
	h.Helper()
	h.claim(h.store(h.by(-lease-skew-time.Millisecond)), key)
}

// takeOver claims a key that is held, by a worker whose clock is far ahead.
func (h *harness) takeOver(key string) *idemddb.Claim {
	h.Helper()

	return h.claim(h.store(h.by(lease+skew+time.Millisecond)), key)
}
