package contract

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// wireCases: requests and replies that are lost or late, and how many there are.
var wireCases = []contractCase{
	{"requests: first run 2, duplicate 1, takeover 1, retry after a release 1, a record past its retention 2", func(l *lab) {
		w := &wire{Engine: l.engine}
		s := l.storeOn(w)
		counted := func(what string, want int64, f func()) {
			w.requests.Store(0)
			f()
			l.equal(what, w.requests.Load(), want)
		}

		counted("first run", 2, func() { l.must(l.claim(s, "k").Complete(l.Context(), nil)) })
		counted("duplicate", 1, func() { l.replay(s, "k") })
		counted("release", 2, func() { l.must(l.claim(s, "r").Release(l.Context(), nil)) })
		counted("retry after a release", 1, func() { l.claim(s, "r") })
		l.Advance(lease + skew + time.Millisecond)
		counted("takeover", 1, func() { l.claim(s, "r") })
		l.Advance(retention + 2*time.Second)
		counted("a record past its retention", 2, func() { l.claim(s, "k") })
	}},
	{"a claim whose reply is lost is won once, by the call that sent it", func(l *lab) {
		for name, end := range map[string]func(func() error) error{"reply": loseReply, "request": loseRequest} {
			w := &wire{Engine: l.engine, meet: on(1, end)}
			c := l.claim(l.storeOn(w), name)
			l.equal("Attempt", c.Attempt(), 1)
			l.equal("Takeover", c.Takeover(), false)
			l.equal("Fence", c.Fence(), l.number(name, "fence"))
			l.must(c.Complete(l.Context(), nil))
		}
	}},
	{"a takeover whose reply is lost still knows that it is one", func(l *lab) {
		l.claim(l.store(), "k")
		l.Advance(lease + skew + time.Millisecond)

		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(1, loseReply)}), "k")
		l.equal("Takeover", c.Takeover(), true)
		l.equal("Attempt", c.Attempt(), 2)
		l.must(c.Complete(l.Context(), nil))
	}},
	{"a claim after a release whose reply is lost knows that it is no takeover", func(l *lab) {
		l.must(l.claim(l.store(), "k").Release(l.Context(), nil))

		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(1, loseReply)}), "k")
		l.equal("Takeover", c.Takeover(), false)
		l.equal("Attempt", c.Attempt(), 2)
	}},
	{"a claim of a record past its retention whose reply is lost is won once", func(l *lab) {
		l.must(l.claim(l.store(), "k").Complete(l.Context(), nil))
		l.Advance(retention + 2*time.Second)

		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(2, loseReply)}), "k")
		l.equal("Attempt", c.Attempt(), 1)
		l.must(c.Complete(l.Context(), nil))
	}},
	{"a completion whose reply is lost is a success, not a lost claim", func(l *lab) {
		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(2, loseReply)}), "k")
		l.must(c.Complete(l.Context(), []byte("once")))
		l.equal("Result", string(l.replay(l.store(), "k").Result), "once")
	}},
	{"release, fail and extend whose reply is lost are successes", func(l *lab) {
		for name, settle := range map[string]func(*idemddb.Claim) error{
			"release": func(c *idemddb.Claim) error { return c.Release(l.Context(), errors.New("cause")) },
			"unused":  func(c *idemddb.Claim) error { return c.ReleaseUnused(l.Context()) },
			"fail":    func(c *idemddb.Claim) error { return c.Fail(l.Context(), errors.New("cause")) },
			"extend":  func(c *idemddb.Claim) error { return c.Extend(l.Context()) },
		} {
			c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(2, loseReply)}), name)
			l.Advance(time.Second)
			l.must(settle(c))

			if name == "extend" {
				l.equal("lease", l.number(name, "lease"), l.Now().Add(lease).UnixMilli())
			}
		}

		l.equal("att", l.number("unused", "att"), int64(0))
	}},
	{"a completion that fails and fails and then works is one completion", func(l *lab) {
		w := &wire{Engine: l.engine, meet: func(n int64, do func() error) error {
			switch n {
			case 2:
				return errReset
			case 3:
				return &types.ProvisionedThroughputExceededException{}
			case 4:
				return &types.TransactionConflictException{}
			case 5:
				return &types.ReplicatedWriteConflictException{}
			case 6:
				return &types.InternalServerError{}
			default:
				return do()
			}
		}}
		l.must(l.claim(l.storeOn(w), "k").Complete(l.Context(), []byte("done")))
		l.equal("requests", w.requests.Load(), int64(7))
		l.replay(l.store(), "k")
	}},
	{"a completion that never gets through is unrecorded, and says what stood in the way", func(l *lab) {
		denied := &types.ResourceNotFoundException{}
		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(2, func(func() error) error { return denied })}), "k")
		err := c.Complete(l.Context(), nil)
		l.is(err, idemddb.ErrUnrecorded)

		if _, ok := errors.AsType[*types.ResourceNotFoundException](err); !ok {
			l.Errorf("got %v, want the service's answer in it", err)
		}
	}},
	{"a refusal without its record is asked again, five times in all", func(l *lab) {
		l.must(l.claim(l.store(), "k").Complete(l.Context(), nil))

		w := &wire{Engine: l.engine, strip: true}
		c, rec, err := l.storeOn(w).Claim(l.Context(), "k", nil)

		if c != nil || rec != nil || err == nil {
			l.Errorf("got claim %v, record %v, error %v, want an error", c, rec, err)
		}

		l.equal("requests", w.requests.Load(), int64(5))
	}},
	{"a refusal without its record, and then with it, answers the same", func(l *lab) {
		l.must(l.claim(l.store(), "k").Complete(l.Context(), nil))

		w := &wire{Engine: l.engine, meet: on(1, func(func() error) error { return &types.ConditionalCheckFailedException{} })}
		l.replay(l.storeOn(w), "k")
	}},
	{"a late twin of a claim does not lock the key again after its release", func(l *lab) {
		late := &held{}
		w := &wire{Engine: l.engine, meet: on(1, late.hold)}
		c := l.claim(l.storeOn(w), "k")
		l.must(c.Release(l.Context(), nil))
		before := l.item("k")
		late.arrive()
		l.same("k", before)
		l.claim(l.store(), "k")
	}},
	{"a late twin of a claim changes nothing while the claim is held, or completed", func(l *lab) {
		late := &held{}
		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(1, late.hold)}), "k")
		l.Advance(time.Second)

		before := l.item("k")
		late.arrive()
		l.same("k", before)
		l.must(c.Complete(l.Context(), nil))

		before = l.item("k")
		late.arrive()
		l.same("k", before)
	}},
	{"a late twin of an extend or a complete does not revive a released key", func(l *lab) {
		for name, settle := range map[string]func(*idemddb.Claim) error{
			"extend":   func(c *idemddb.Claim) error { return c.Extend(l.Context()) },
			"complete": func(c *idemddb.Claim) error { return c.Complete(l.Context(), nil) },
			"fail":     func(c *idemddb.Claim) error { return c.Fail(l.Context(), nil) },
		} {
			late := &held{}
			c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: func(n int64, do func() error) error {
				switch n {
				case 2:
					return late.hold(do)
				case 3:
					return &types.ResourceNotFoundException{} // and the call gives up
				default:
					return do()
				}
			}}), name)

			l.Advance(time.Second)

			if err := settle(c); err == nil {
				l.Fatalf("%s: no error", name)
			}

			l.must(c.Release(l.Context(), nil))
			before := l.item(name)
			late.arrive()
			l.same(name, before)
			l.claim(l.store(), name)
		}
	}},
	{"a late twin of an extend does not take back what a later one promised", func(l *lab) {
		late := &held{}
		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(2, late.hold)}), "k")
		l.Advance(time.Second)
		l.must(c.Extend(l.Context()))
		l.Advance(time.Second)
		l.must(c.Extend(l.Context()))
		before := l.item("k")
		late.arrive()
		l.same("k", before)
	}},
	{"a late twin of a release leaves its successor alone", func(l *lab) {
		late := &held{}
		c := l.claim(l.storeOn(&wire{Engine: l.engine, meet: on(2, late.hold)}), "k")
		l.must(c.ReleaseUnused(l.Context()))
		l.claim(l.store(), "k")
		before := l.item("k")
		late.arrive()
		l.same("k", before)
	}},
	{"a late twin of what ended a key does not end it again once it was reopened", func(l *lab) {
		late := &held{}
		l.must(l.claim(l.store(), "k").Release(l.Context(), nil))

		once := func(o *idemddb.Options) { o.MaxAttempts = 1 }
		_, _, err := l.storeOn(&wire{Engine: l.engine, meet: on(2, late.hold)}, once).Claim(l.Context(), "k", nil)
		l.is(err, idemddb.ErrFailed)
		l.must(l.store().Reopen(l.Context(), "k"))

		before := l.item("k")
		late.arrive()
		l.same("k", before)
		l.equal("Attempt", l.claim(l.store(once), "k").Attempt(), 1)
	}},
	{"a late twin of a reopening does not open a key that has failed again", func(l *lab) {
		late := &held{}
		s := l.store()
		l.must(l.claim(s, "k").Fail(l.Context(), nil))
		l.must(l.storeOn(&wire{Engine: l.engine, meet: on(2, late.hold)}).Reopen(l.Context(), "k"))
		l.must(l.claim(s, "k").Fail(l.Context(), nil))
		l.must(s.Reopen(l.Context(), "k"))

		c := l.claim(s, "k")
		before := l.item("k")
		late.arrive()
		l.same("k", before)
		l.must(c.Fail(l.Context(), nil))

		before = l.item("k")
		late.arrive()
		l.same("k", before)
		l.edit("k", map[string]types.AttributeValue{"own": str("another")})

		before = l.item("k")
		late.arrive()
		l.same("k", before)
	}},
	{"a reopening that is overtaken leaves what it then finds", func(l *lab) {
		for name, change := range map[string]map[string]types.AttributeValue{
			"a newer version":          {"v": num(2)},
			"held again":               {"st": str("INPROGRESS")},
			"completed":                {"st": str("COMPLETED")},
			"failed again, by another": {"own": str("another")},
			"failed again, next fence": {"fence": num(epoch.Add(time.Hour).UnixMilli())},
		} {
			l.must(l.claim(l.store(), name).Fail(l.Context(), nil))

			w := &wire{Engine: l.engine, meet: on(2, func(do func() error) error {
				l.edit(name, change)

				before := l.item(name)
				err := do()

				l.same(name, before)

				return err
			})}
			_ = l.storeOn(w).Reopen(l.Context(), name) // what it says follows from what it then finds
		}
	}},
	{"a reopening whose reply is lost is a success", func(l *lab) {
		l.must(l.claim(l.store(), "k").Fail(l.Context(), nil))
		l.must(l.storeOn(&wire{Engine: l.engine, meet: on(2, loseReply)}).Reopen(l.Context(), "k"))
		l.claim(l.store(), "k")
	}},
	{"a context that ends while there is no answer ends the call with both errors", func(l *lab) {
		ctx, cancel := context.WithCancel(l.Context())
		w := &wire{Engine: l.engine, meet: func(int64, func() error) error {
			cancel()

			return errReset
		}}
		_, _, err := l.storeOn(w).Claim(ctx, "k", nil)
		l.is(err, errReset)
		l.is(err, context.Canceled)
	}},
}

// held keeps a request that its sender has given up, until it arrives after all.
type held struct{ do func() error }

func (h *held) hold(do func() error) error {
	h.do = do

	return errReset
}

func (h *held) arrive() { _ = h.do() } // refused or not: the test looks at the record
