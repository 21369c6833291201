package contract

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// claimCases: who gets a key.
var claimCases = []contractCase{
	{"a new key is claimed and the record says so before the work begins", func(l *lab) {
		c := l.claim(l.store(), "k")
		now := epoch.UnixMilli()

		l.equal("st", l.text("st"), "INPROGRESS")
		l.equal("v", l.number("k", "v"), int64(1))
		l.equal("lease", l.number("k", "lease"), now+lease.Milliseconds())
		l.equal("att", l.number("k", "att"), int64(1))
		l.equal("born", l.number("k", "born"), now)
		l.equal("fence", l.number("k", "fence"), c.Fence())
		l.equal("exp", l.number("k", "exp"), epoch.Add(retention+time.Second).Unix()) // rounded up
		l.equal("Key", c.Key(), "k")
		l.equal("Attempt", c.Attempt(), 1)
		l.equal("Takeover", c.Takeover(), false)
		l.equal("Deadline", c.Deadline().UnixMilli(), now+lease.Milliseconds())

		if l.text("own") == "" {
			l.Error("the record has no token")
		}
	}},
	{"of 50 racing claimants one gets the key", func(l *lab) {
		l.equal("claims", l.race(50), int64(1))
	}},
	{"of 20 racing takeovers one gets the key", func(l *lab) {
		l.claim(l.store(), "k")
		l.Advance(lease + skew + time.Millisecond)
		l.equal("claims", l.race(20), int64(1))
		l.equal("att", l.number("k", "att"), int64(2))
	}},
	{"of 20 racing claimants of a record past its retention one gets the key", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "k").Complete(l.Context(), nil))
		l.Advance(retention + 2*time.Second)
		l.equal("claims", l.race(20), int64(1))
	}},
	{"a live lease refuses, says until when, and nothing is written", func(l *lab) {
		s := l.store()
		c := l.claim(s, "k")
		err := l.refuse(s, "k", nil, idemddb.ErrInProgress)

		refusal, ok := errors.AsType[*idemddb.InProgressError](err)
		if !ok {
			l.Fatalf("got %T, want *InProgressError", err)
		}

		l.equal("Key", refusal.Key, "k")
		l.equal("Until", refusal.Until.UnixMilli(), c.Deadline().UnixMilli())
	}},
	{"a lease that ended less than the clock skew ago is not taken over", func(l *lab) {
		s := l.store()
		l.claim(s, "k")

		for _, d := range []time.Duration{lease - time.Millisecond, time.Millisecond, skew - time.Millisecond, time.Millisecond} {
			l.Advance(d)
			l.refuse(s, "k", nil, idemddb.ErrInProgress)
		}
	}},
	{"a lease that is over is taken over: new token, next fence, attempt counted, first claim kept", func(l *lab) {
		s := l.store()
		first := l.claim(s, "k")
		token := l.text("own")

		l.Advance(lease + skew + time.Millisecond)
		second := l.claim(s, "k")

		l.equal("Fence", second.Fence(), first.Fence()+1)
		l.equal("Attempt", second.Attempt(), 2)
		l.equal("Takeover", second.Takeover(), true)
		l.equal("att", l.number("k", "att"), int64(2))
		l.equal("born", l.number("k", "born"), epoch.UnixMilli())

		if l.text("own") == token {
			l.Error("the token is the old one")
		}
	}},
	{"two workers whose clocks differ by less than the skew never hold a key at once", func(l *lab) {
		ahead := l.store(func(o *idemddb.Options) { o.Now = func() time.Time { return l.Now().Add(skew - time.Millisecond) } })
		l.claim(l.store(), "k")
		l.Advance(lease - time.Millisecond) // the holder trusts its lease for another moment
		l.refuse(ahead, "k", nil, idemddb.ErrInProgress)
	}},
	{"a claim that is the record's whole life outlives no record: with retention equal to lease it is still not taken early", func(l *lab) {
		short := func(o *idemddb.Options) { o.Retention = lease }
		ahead := l.store(short, func(o *idemddb.Options) { o.Now = func() time.Time { return l.Now().Add(skew - time.Millisecond) } })
		l.claim(l.store(short), "k")
		l.Advance(lease - time.Millisecond)
		l.refuse(ahead, "k", nil, idemddb.ErrInProgress)
	}},
	{"a released key is claimed again at once, and is no takeover", func(l *lab) {
		s := l.store()
		first := l.claim(s, "k")
		l.must(first.Release(l.Context(), errors.New("no answer from the bank")))
		l.equal("err", l.text("err"), "no answer from the bank")
		l.equal("lease", l.number("k", "lease"), int64(0))

		second := l.claim(s, "k")
		l.equal("Takeover", second.Takeover(), false)
		l.equal("Attempt", second.Attempt(), 2)
		l.equal("Fence", second.Fence(), first.Fence()+1)
	}},
	{"a claim that was never used takes its attempt back, also when the release is sent twice", func(l *lab) {
		s := l.store(func(o *idemddb.Options) { o.MaxAttempts = 1 })
		unused := l.claim(s, "k")
		l.must(unused.ReleaseUnused(l.Context()))
		l.must(unused.ReleaseUnused(l.Context()))
		l.equal("att", l.number("k", "att"), int64(0))
		l.equal("Attempt", l.claim(s, "k").Attempt(), 1)
	}},
	{"a takeover that is given back unused is one for the next claim, and takes its attempt back", func(l *lab) {
		l.abandoned("k")

		for range 2 {
			c := l.claim(l.store(), "k")
			l.equal("Takeover", c.Takeover(), true)
			l.equal("Attempt", c.Attempt(), 2)
			l.must(c.ReleaseUnused(l.Context()))
		}

		l.equal("att", l.number("k", "att"), int64(1))
		l.must(l.claim(l.store(), "k").Release(l.Context(), nil)) // its work began, and it looked
		l.equal("Takeover", l.claim(l.store(), "k").Takeover(), false)
	}},
	{"attempts used up: the claim beyond them writes FAILED once and the work is not begun", func(l *lab) {
		s := l.store(func(o *idemddb.Options) { o.MaxAttempts = 2 })
		l.must(l.claim(s, "k").Release(l.Context(), errors.New("bank closed")))
		l.claim(s, "k")
		l.Advance(lease + skew + time.Millisecond)

		_, _, err := s.Claim(l.Context(), "k", nil)
		l.is(err, idemddb.ErrFailed)

		failed, _ := errors.AsType[*idemddb.FailedError](err)
		l.equal("Attempts", failed.Attempts, 2)
		l.equal("Cause", failed.Cause, "attempts used up; last failure: bank closed")
		l.equal("st", l.text("st"), "FAILED")
		l.refuse(s, "k", nil, idemddb.ErrFailed)
	}},
	{"attempts used up and all released: FAILED, too", func(l *lab) {
		s := l.store(func(o *idemddb.Options) { o.MaxAttempts = 1 })
		l.must(l.claim(s, "k").Release(l.Context(), nil))

		_, _, err := s.Claim(l.Context(), "k", nil)
		l.is(err, idemddb.ErrFailed)
		l.equal("st", l.text("st"), "FAILED")
	}},
	{"without takeover a lease that ran out ends the key, its outcome unknown, until an operator reopens it", func(l *lab) {
		s := l.store(func(o *idemddb.Options) { o.NoTakeover = true })
		l.claim(s, "k")
		l.refuse(s, "k", nil, idemddb.ErrInProgress)
		l.Advance(lease + skew + time.Millisecond)

		_, _, err := s.Claim(l.Context(), "k", nil)
		l.is(err, idemddb.ErrFailed)

		failed, _ := errors.AsType[*idemddb.FailedError](err)
		l.equal("Cause", failed.Cause, "the lease of attempt 1 ran out: outcome unknown, not taken over")
		l.refuse(s, "k", nil, idemddb.ErrFailed)

		l.Advance(time.Minute)
		l.must(s.Reopen(l.Context(), "k"))
		l.must(s.Reopen(l.Context(), "k"))
		l.equal("exp", l.number("k", "exp"), l.Now().Add(retention+time.Second).Unix())
		l.equal("Attempt", l.claim(s, "k").Attempt(), 1)
	}},
	{"without takeover a released key is claimed as ever", func(l *lab) {
		s := l.store(func(o *idemddb.Options) { o.NoTakeover = true })
		l.must(l.claim(s, "k").Release(l.Context(), nil))
		l.equal("Attempt", l.claim(s, "k").Attempt(), 2)
	}},
	{"a lease that is extended while an attempt to end the key is on its way stays", func(l *lab) {
		s := l.store()
		c := l.claim(s, "k")
		l.Advance(lease + skew + time.Millisecond)

		w := &wire{Engine: l.engine, meet: on(2, func(do func() error) error {
			l.must(c.Extend(l.Context()))

			return do()
		})}
		_, _, err := l.storeOn(w, func(o *idemddb.Options) { o.NoTakeover = true }).Claim(l.Context(), "k", nil)
		l.is(err, idemddb.ErrInProgress)
		l.must(c.Complete(l.Context(), nil))
	}},
	{"an attempt to end a key meets whatever happened meanwhile, and leaves it", func(l *lab) {
		for name, change := range map[string]map[string]types.AttributeValue{
			"taken over by another":  {"own": str("another"), "lease": num(epoch.Add(-time.Hour).UnixMilli())},
			"another fence":          {"fence": num(7)},
			"completed by its owner": {"st": str("COMPLETED")},
			"extended to the limit":  {"lease": num(epoch.Add(lease + time.Millisecond).UnixMilli())},
		} {
			s := l.store()
			l.Advance(epoch.Sub(l.Now()))
			l.claim(s, name)
			l.Advance(lease + skew + time.Millisecond)

			var changed map[string]types.AttributeValue

			w := &wire{Engine: l.engine, meet: on(2, func(do func() error) error {
				l.edit(name, change)

				changed = l.item(name)
				err := do()

				l.same(name, changed)

				return err
			})}
			// What it answers follows from what it then finds; that the refused write left the record alone is the point.
			_, _, _ = l.storeOn(w, func(o *idemddb.Options) { o.NoTakeover = true }).Claim(l.Context(), name, nil)
		}
	}},
	{"reopening leaves alone what is not failed", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "done").Complete(l.Context(), nil))

		before := l.item("done")
		if err := s.Reopen(l.Context(), "done"); err == nil {
			l.Error("reopening a completed key: no error")
		}

		l.same("done", before)

		if err := s.Reopen(l.Context(), "none"); err == nil || l.item("none") != nil {
			l.Errorf("reopening a key without a record: error %v, record %v", err, l.item("none"))
		}

		l.must(l.claim(s, "newer").Fail(l.Context(), nil))
		l.edit("newer", map[string]types.AttributeValue{"v": num(2)})
		before = l.item("newer")
		l.is(s.Reopen(l.Context(), "newer"), idemddb.ErrCorrupt)
		l.same("newer", before)
	}},
	{"a record past its retention is a new key: fresh life, rising fence", func(l *lab) {
		s := l.store()
		first := l.claim(s, "k")
		l.must(first.Complete(l.Context(), []byte("old")))
		l.Advance(retention + 2*time.Second)

		second := l.claim(s, "k")
		l.equal("Attempt", second.Attempt(), 1)
		l.equal("Takeover", second.Takeover(), false)
		l.equal("born", l.number("k", "born"), l.Now().UnixMilli())
		l.equal("res", l.item("k")["res"], types.AttributeValue(nil))

		if second.Fence() <= first.Fence() {
			l.Errorf("fence: %d after %d", second.Fence(), first.Fence())
		}
	}},
	{"a record answers to the last second of its retention", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "k").Complete(l.Context(), nil))
		l.Advance(retention)
		l.replay(s, "k")
		l.Advance(499 * time.Millisecond) // exp is rounded up: x.5 s to the next whole
		l.replay(s, "k")
		l.Advance(time.Millisecond)
		l.claim(s, "k")
	}},
	{"an in-progress record past its retention is claimed anew, not carried on", func(l *lab) {
		s := l.store()
		l.claim(s, "k")
		l.Advance(retention + 2*time.Second)
		l.equal("Attempt", l.claim(s, "k").Attempt(), 1)
	}},
	{"a released record is carried on to its last second, and claimed anew from then on", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "k").Release(l.Context(), nil))
		l.must(l.claim(s, "k2").Release(l.Context(), nil))
		l.Advance(retention + 499*time.Millisecond)
		l.equal("Attempt", l.claim(s, "k").Attempt(), 2)
		l.Advance(time.Millisecond)
		l.equal("Attempt", l.claim(s, "k2").Attempt(), 1)
	}},
	{"a failed record past its retention is claimed anew", func(l *lab) {
		s := l.store()
		l.must(l.claim(s, "k").Fail(l.Context(), errors.New("no such account")))
		l.Advance(retention + 2*time.Second)
		l.claim(s, "k")
		l.equal("err", l.text("err"), "")
	}},
	{"what happens to a record past its retention while it is claimed anew is never overwritten", func(l *lab) {
		s := l.store()

		for name, meanwhile := range map[string]func(*idemddb.Claim){
			"completed": func(c *idemddb.Claim) { l.must(c.Complete(l.Context(), []byte("late"))) },
			"extended":  func(c *idemddb.Claim) { l.must(c.Extend(l.Context())) },
			"claimed":   func(*idemddb.Claim) { l.edit("claimed", map[string]types.AttributeValue{"own": str("x")}) },
			"refenced":  func(*idemddb.Claim) { l.edit("refenced", map[string]types.AttributeValue{"fence": num(9)}) },
		} {
			c := l.claim(s, name)
			l.Advance(retention + 2*time.Second)

			w := &wire{Engine: l.engine, meet: on(2, func(do func() error) error {
				meanwhile(c)

				before := l.item(name)
				err := do()

				l.same(name, before)

				return err
			})}
			if _, _, err := l.storeOn(w).Claim(l.Context(), name, nil); errors.Is(err, idemddb.ErrFenced) {
				l.Errorf("%s: %v", name, err)
			}
		}
	}},
	{"a fence rises across the deletion of its record", func(l *lab) {
		s := l.store()
		first := l.claim(s, "k")
		l.Advance(time.Second)
		l.drop("k")
		second := l.claim(s, "k")

		if second.Fence() <= first.Fence() {
			l.Errorf("fence: %d after %d", second.Fence(), first.Fence())
		}
	}},
	{"no deadline: the lease is the default; a near one cuts it", func(l *lab) {
		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()

		c, _, err := l.store(func(o *idemddb.Options) { o.Lease, o.Retention = time.Hour, 2*time.Hour }).Claim(ctx, "k", nil)
		l.must(err)

		if left := c.Deadline().Sub(epoch); left > time.Minute || left <= 0 {
			l.Errorf("lease: %v, want the context's minute", left)
		}
	}},
}

// race lets n claimants loose on the key "k" and returns how many got it; all others must have been told that it is in
// progress.
func (l *lab) race(n int) int64 {
	l.Helper()

	var (
		claims atomic.Int64
		all    sync.WaitGroup
		start  = make(chan struct{})
	)

	for range n {
		s := l.store()

		all.Go(func() {
			<-start

			c, rec, err := s.Claim(l.Context(), "k", nil)

			switch {
			case c != nil:
				claims.Add(1)
			case rec != nil, !errors.Is(err, idemddb.ErrInProgress):
				l.Errorf("a loser got record %v, error %v", rec, err)
			}
		})
	}

	close(start)
	all.Wait()

	return claims.Load()
}
