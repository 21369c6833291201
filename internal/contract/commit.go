package contract

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// commitCases say that a commit is a claim and its completion in one step, with its effects.
var commitCases = []testCase{
	{name: "Commit: a new key is claimed and completed, and its effects happen", check: func(h *harness) {
		s := h.store()
		h.committed(s, "k", effects(h.once("a"), h.count("b")))
		h.happened("a", "1")
		h.happened("b", "1")

		record := h.replay(s, "k")
		h.equal("Result", string(record.Result), "paid")
		h.equal("Attempts", record.Attempts, 1)
		h.equal("Fence", record.Fence, h.Now().UnixMilli()+1)
		h.equal("CompletedAt", record.CompletedAt.UnixMilli(), h.Now().UnixMilli())
		h.equal("exp", h.number("k", "exp"), h.Now().Add(retention+time.Second).Unix())
		h.equal("v", h.number("k", "v"), int64(1))
		h.equal("born", h.number("k", "born"), h.Now().UnixMilli())
		h.equal("prev", h.number("k", "prev"), int64(0))
		h.equal("lease", h.number("k", "lease"), h.Now().UnixMilli())
		h.equal("length of tx", len(h.text("tx")), 26)
	}},
	{name: "Commit: a key that was completed answers with its record, and nothing happens", check: func(h *harness) {
		s := h.store()
		h.committed(s, "k", effects(h.count("a")))
		h.unchanged("k", func() {
			ok, rec, err := h.commit(s, "k", effects(h.count("b"), h.once("a")))
			h.must(err)
			h.equal("committed", ok, false)
			h.equal("Result", resultOf(rec), "paid")
		})
		h.happened("b", "0")
	}},
	{name: "Commit: of two at once one is accepted, and the other has its record", check: func(h *harness) {
		var (
			all      sync.WaitGroup
			accepted atomic.Int64
		)

		for range 4 {
			s := h.store()
			all.Go(func() {
				ok, rec, err := h.commit(s, "k", effects(h.count("a")))
				h.check(err)

				if ok {
					accepted.Add(1)
				} else if rec == nil || resultOf(rec) != "paid" {
					h.Errorf("got record %v", rec)
				}
			})
		}

		all.Wait()
		h.equal("accepted", accepted.Load(), int64(1))
		h.happened("a", "1")
	}},
	{name: "Commit: what refuses a claim refuses a commit", check: func(h *harness) {
		for name, c := range map[string]struct {
			options func(*idemddb.Options)
			prepare func(s *idemddb.Store, key string)
			claim   idemddb.ClaimOptions
			want    error
		}{
			"held":   {prepare: func(s *idemddb.Store, key string) { h.claim(s, key) }, want: idemddb.ErrInProgress},
			"failed": {prepare: func(s *idemddb.Store, key string) { h.must(h.claim(s, key).Fail(h.Context(), nil)) }, want: idemddb.ErrFailed},
			"another input": {prepare: func(s *idemddb.Store, key string) {
				released(h, h.claimWith(s, key, &idemddb.ClaimOptions{Fingerprint: "a"}))
			}, claim: idemddb.ClaimOptions{Fingerprint: "b"}, want: idemddb.ErrMismatch},
			"another version": {prepare: func(s *idemddb.Store, key string) {
				released(h, h.claim(s, key))
				h.edit(key, attributes{"v": num(2)})
			}, want: idemddb.ErrCorrupt},
			"the lease over by less than the clock skew": {prepare: func(s *idemddb.Store, key string) {
				h.claim(s, key)
				h.edit(key, attributes{"lease": num(h.Now().Add(-skew).UnixMilli())})
			}, want: idemddb.ErrInProgress},
		} {
			s := h.store()
			if c.options != nil {
				s = h.store(c.options)
			}

			c.prepare(s, name)
			h.unchanged(name, func() {
				rec, err := s.Commit(h.Context(), name, &c.claim, nil, effects(h.count(name), h.taken(name+" 2")))
				h.is(err, c.want)
				h.equal("record", rec == nil, true)
			})
			h.happened(name, "0")
		}
	}},
	{name: "Commit: a key that was released or whose lease is over is committed, and its fencing token rises", check: func(h *harness) {
		for name, prepare := range map[string]func(c *idemddb.Claim){
			"released":   func(c *idemddb.Claim) { h.must(c.Release(h.Context(), errors.New("bank closed"))) },
			"lease over": func(*idemddb.Claim) { h.endLease() },
		} {
			s := h.store()
			c := h.claimWith(s, name, &idemddb.ClaimOptions{Fingerprint: "a"})
			born := h.number(name, "born")
			prepare(c)
			h.Advance(time.Second)
			h.committed(s, name, effects(h.count(name)))
			h.happened(name, "1")

			record := h.replay(s, name)
			h.equal("Fence", record.Fence, c.Fence()+1)
			h.equal("Attempts", record.Attempts, 2)
			h.equal("born", h.number(name, "born"), born)
			h.equal("prev is the lease", h.number(name, "prev") == 0, name == "released")
			h.equal("err", h.item(name)["err"], attributes{}["err"])
			h.equal("fp", h.item(name)["fp"], attributes{}["fp"])
			h.is(c.Complete(h.Context(), nil), idemddb.ErrFenced)
		}
	}},
	{name: "Commit: the fingerprint is stored, and compared from then on", check: func(h *harness) {
		s := h.store()
		_, err := s.Commit(h.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"}, nil, effects(h.count("a")))
		h.must(err)
		h.refuse(s, "k", &idemddb.ClaimOptions{Fingerprint: "b"}, idemddb.ErrMismatch)
		h.replayWith(s, "k", &idemddb.ClaimOptions{Fingerprint: "a"})

		released(h, h.claimWith(s, "released", &idemddb.ClaimOptions{Fingerprint: "a"}))
		_, err = s.Commit(h.Context(), "released", &idemddb.ClaimOptions{Fingerprint: "a"}, nil, effects(h.count("b")))
		h.must(err)
		h.happened("b", "1")
		h.edit("k", attributes{"st": str("INPROGRESS"), "lease": num(0), "fp": str("2:made by another algorithm")})
		_, err = s.Commit(h.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "c"}, nil, effects(h.count("a")))
		h.must(err)
		h.refuse(s, "k", &idemddb.ClaimOptions{Fingerprint: "b"}, idemddb.ErrMismatch)
	}},
	{name: "Commit: a key whose attempts are used up, or that must not be taken over, is failed", check: func(h *harness) {
		for name, c := range map[string]struct {
			options func(*idemddb.Options)
			prepare func(*idemddb.Claim)
		}{
			"attempts":    {maxAttempts(1), func(c *idemddb.Claim) { released(h, c) }},
			"no takeover": {noTakeover, func(*idemddb.Claim) { h.endLease() }},
		} {
			s := h.store(c.options)
			c.prepare(h.claim(s, name))
			_, _, err := h.commit(s, name, effects(h.count(name)))
			h.is(err, idemddb.ErrFailed)
			h.happened(name, "0")
			h.equal("st", h.item(name)["st"], str("FAILED"))
		}

		s := h.store(noTakeover)
		released(h, h.claim(s, "released"))
		h.committed(s, "released", effects(h.count("released")))
		h.committed(h.store(maxAttempts(1)), "first attempt", effects(h.count("first")))
	}},
	{name: "Commit: a record past its retention is replaced as a whole", check: func(h *harness) {
		s := h.store()
		c := h.claimWith(s, "k", &idemddb.ClaimOptions{Fingerprint: "a"})
		h.must(c.Complete(h.Context(), []byte("old")))
		h.edit("k", attributes{"err": str("old")})
		h.endRetention()

		rec, err := s.Commit(h.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "b"}, nil, effects(h.once("a")))
		h.must(err)
		h.equal("record", rec == nil, true)
		h.happened("a", "1")

		record := h.replay(s, "k")
		h.equal("Result", record.Result, []byte(nil))
		h.equal("Attempts", record.Attempts, 1)
		h.equal("born", h.number("k", "born"), h.Now().UnixMilli())
		h.equal("err", h.text("err"), "")
		h.equal("exp", h.number("k", "exp"), h.Now().Add(retention+time.Second).Unix())
		h.refuse(s, "k", &idemddb.ClaimOptions{Fingerprint: "a"}, idemddb.ErrMismatch)

		if record.Fence <= c.Fence() {
			h.Errorf("fencing token %d after %d", record.Fence, c.Fence())
		}
	}},
	{name: "Commit: of a record past its retention only the one that was read is replaced", check: func(h *harness) {
		for name, change := range map[string]func(key string){
			"claimed":   func(key string) { h.claim(h.store(), key) },
			"committed": func(key string) { h.committed(h.store(), key, effects(h.count(key+" other"))) },
			"deleted":   func(key string) { h.drop(key) },
			"extended":  func(key string) { h.edit(key, attributes{"exp": num(h.Now().Add(retention).Unix())}) },
		} {
			h.must(h.claim(h.store(), name).Complete(h.Context(), []byte("old")))
			h.endRetention()

			e := h.intercepted(func(n int64, send func() error) error {
				if n == 2 {
					change(name)
				}

				return send()
			})
			ok, rec, err := h.commit(h.storeOn(e), name, effects(h.count(name)))

			switch name {
			case "claimed":
				h.is(err, idemddb.ErrInProgress)
			case "deleted":
				h.equal("committed after its deletion", ok, true)
			default:
				h.must(err)
				h.equal(name+": a record", rec != nil, true)
			}

			h.happened(name, map[bool]string{true: "1", false: "0"}[ok])
		}
	}},
	{name: "Commit: a refused effect writes nothing, and names the item", check: func(h *harness) {
		refused := h.taken("a")
		_, _, err := h.commit(h.store(), "k", effects(h.count("b"), refused))
		e := as[*idemddb.EffectError](h, err)
		h.equal("Index", e.Index, 1)
		h.equal("n of the item", e.Item["n"], num(1))
		h.happened("b", "0")
		h.equal("record", h.item("k"), attributes(nil))
	}},
	{name: "Commit: a result over the limit is committed without it", check: func(h *harness) {
		rec, err := h.store().Commit(h.Context(), "k", nil, []byte(strings.Repeat("x", 6_500_000)), effects(h.count("a")))
		h.is(err, idemddb.ErrTooLarge)
		h.equal("record", rec == nil, true)
		h.happened("a", "1")
		h.isOmitted(h.replay(h.store(), "k"))
	}},
	{name: "Commit: a Store whose records live for less than an hour commits nothing", check: func(h *harness) {
		e := h.intercepted(nil)
		s := h.storeOn(e, func(o *idemddb.Options) { o.Retention = time.Hour - time.Second })
		_, _, err := h.commit(s, "k", effects(h.count("a")))

		if !errors.Is(err, idemddb.ErrBadEffects) || !strings.Contains(err.Error(), "Options.Retention") {
			h.Errorf("got error %v", err)
		}

		h.equal("requests", e.requests.Load(), int64(0))
	}},
}
