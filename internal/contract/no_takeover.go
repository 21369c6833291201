package contract

import (
	"github.com/idemddb/go-idemddb/idemddb"
)

// noTakeoverCases say that a record tells whether its last claim was made with Options.NoTakeover, whichever write claimed the
// key.
var noTakeoverCases = []testCase{
	{name: "the record says whether its last claim was made with NoTakeover", check: func(h *harness) {
		for name, write := range claimingWrites {
			for _, fingerprint := range []string{"", "input"} {
				for _, anew := range []bool{false, true} {
					key := name + " " + fingerprint + map[bool]string{true: " anew"}[anew]
					opts := &idemddb.ClaimOptions{Fingerprint: fingerprint}
					with, without := func() { write(h, h.store(noTakeover), key, opts) }, func() { write(h, h.store(), key, opts) }

					with()
					h.equal(key+": nt of a new record", h.item(key)["nt"], num(1))
					h.openAgain(key, anew)
					without()
					h.equal(key+": nt after a claim without it", h.item(key)["nt"], attributes{}["nt"])
					h.openAgain(key, anew)
					with()
					h.equal(key+": nt after a claim with it", h.item(key)["nt"], num(1))
				}
			}
		}
	}},
	{name: "batch: the record says whether its last claim was made with NoTakeover", check: func(h *harness) {
		for _, keys := range [][]string{{"a", "compared a"}, {"b", "compared b"}} {
			for i, set := range [][]func(*idemddb.Options){{noTakeover}, nil, {noTakeover}} {
				requests := []request{{key: keys[0], redelivered: i > 0}, {key: keys[1], redelivered: i > 0, fingerprint: "input"}}

				for _, a := range h.claimBatch(h.store(set...), requests...) {
					want := attributes{"nt": num(1)}
					if set == nil {
						delete(want, "nt")
					}

					c := h.won(a)
					h.equal("nt of "+c.Key(), h.item(c.Key())["nt"], want["nt"])
					h.must(c.Release(h.Context(), nil))
				}
			}
		}
	}},
	{name: "a claim without takeover is won and compared as every other one", check: func(h *harness) {
		s := h.store(noTakeover)
		released(h, h.claimWith(s, "k", &idemddb.ClaimOptions{Fingerprint: "a"}))
		h.equal("fp", h.item("k")["fp"] != nil, true)
		c := h.claim(s, "k")
		h.equal("Attempt", c.Attempt(), 2)
		released(h, c)
		h.equal("fp after a claim without a fingerprint", h.item("k")["fp"], attributes{}["fp"])
	}},
}

// claimingWrites are the writes that claim a key.
var claimingWrites = map[string]func(h *harness, s *idemddb.Store, key string, opts *idemddb.ClaimOptions){
	"claim": func(h *harness, s *idemddb.Store, key string, opts *idemddb.ClaimOptions) { h.claimWith(s, key, opts) },
	"commit": func(h *harness, s *idemddb.Store, key string, opts *idemddb.ClaimOptions) {
		_, err := s.Commit(h.Context(), key, opts, nil, effects(h.count(key)))
		h.must(err)
	},
	"rejection": func(h *harness, s *idemddb.Store, key string, opts *idemddb.ClaimOptions) {
		h.equal("Kind", h.fails(s, key, opts, errReset).Kind, idemddb.KindReleased)
	},
}

// openAgain makes a record such that the next claim of its key is granted: as a released one, or as one past its retention.
func (h *harness) openAgain(key string, anew bool) {
	h.Helper()

	if anew {
		h.edit(key, attributes{"st": str("COMPLETED"), "lease": num(0)})
		h.endRetention()

		return
	}

	h.edit(key, attributes{"st": str("INPROGRESS"), "lease": num(0)})
}
