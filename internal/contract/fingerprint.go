package contract

import (
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
)

// fingerprintCases say when another input under the same key is refused.
var fingerprintCases = []testCase{
	{name: "another fingerprint is refused whatever the state of the record, and nothing is written", check: func(h *harness) {
		for name, end := range map[string]func(*idemddb.Claim) error{
			"in progress": func(*idemddb.Claim) error { return nil },
			"completed":   func(c *idemddb.Claim) error { return c.Complete(h.Context(), nil) },
			"failed":      func(c *idemddb.Claim) error { return c.Fail(h.Context(), nil) },
			"released":    func(c *idemddb.Claim) error { return c.Release(h.Context(), nil) },
			"lease over": func(*idemddb.Claim) error {
				h.endLease()

				return nil
			},
		} {
			s := h.store()
			h.must(end(h.claimWith(s, name, &idemddb.ClaimOptions{Fingerprint: "a"})))
			h.refuse(s, name, &idemddb.ClaimOptions{Fingerprint: "b"}, idemddb.ErrMismatch)
		}
	}},
	{name: "the same fingerprint replays and takes over, and is stored as a digest", check: func(h *harness) {
		s := h.store()
		opts := &idemddb.ClaimOptions{Fingerprint: "account a-1, 12.50"}
		h.claimWith(s, "k", opts)

		if fp := h.text("fp"); !strings.HasPrefix(fp, "1:") || strings.Contains(fp, "a-1") || len(fp) != 45 {
			h.Errorf("fp: %q", fp)
		}

		h.endLease()
		h.must(h.claimWith(s, "k", opts).Complete(h.Context(), nil))
		h.replayWith(s, "k", opts)
		h.replayWith(s, "k", opts)
	}},
	{name: "a record without a fingerprint matches any, and keeps that of its next claim", check: func(h *harness) {
		s := h.store()
		opts := &idemddb.ClaimOptions{Fingerprint: "a"}

		h.must(h.claim(s, "done").Complete(h.Context(), nil))
		h.replayWith(s, "done", opts)

		h.must(h.claim(s, "free").Release(h.Context(), nil))
		h.claimWith(s, "free", opts)
		h.refuse(s, "free", &idemddb.ClaimOptions{Fingerprint: "b"}, idemddb.ErrMismatch)
	}},
	{name: "a takeover without a fingerprint removes the old one", check: func(h *harness) {
		s := h.store()
		h.claimWith(s, "k", &idemddb.ClaimOptions{Fingerprint: "a"})
		h.endLease()
		h.claim(s, "k")
		h.equal("fp", h.text("fp"), "")
	}},
	{name: "a fingerprint of another version of the algorithm is not compared", check: func(h *harness) {
		s := h.store()
		opts := &idemddb.ClaimOptions{Fingerprint: "b"}

		for _, version := range []string{"0:", "2:", "10:"} {
			h.must(h.claimWith(s, version, &idemddb.ClaimOptions{Fingerprint: "a"}).Release(h.Context(), nil))
			h.edit(version, attributes{"fp": str(version + "made by another algorithm")})
			h.must(h.claimWith(s, version, opts).Complete(h.Context(), nil))
			h.refuse(s, version, &idemddb.ClaimOptions{Fingerprint: "a"}, idemddb.ErrMismatch) // the claim above has stored its own fingerprint
			h.edit(version, attributes{"fp": str(version + "made by another algorithm")})
			h.replayWith(s, version, opts)
		}
	}},
}
