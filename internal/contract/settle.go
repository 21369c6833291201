package contract

import (
	"errors"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// settleCases say what a settled claim leaves, and what others then get.
var settleCases = []testCase{
	{name: "a completed key is answered from its record, whose retention counts from the completion", check: func(h *harness) {
		s := h.store()
		c := h.claim(s, "k")
		h.Advance(5 * time.Second)
		h.must(c.Complete(h.Context(), []byte("paid")))

		record := h.replay(s, "k")
		h.equal("Key", record.Key, "k")
		h.equal("Result", string(record.Result), "paid")
		h.equal("ResultOmitted", record.ResultOmitted, false)
		h.equal("Fence", record.Fence, c.Fence())
		h.equal("Attempts", record.Attempts, 1)
		h.equal("CompletedAt", record.CompletedAt.UnixMilli(), h.Now().UnixMilli())
		h.equal("ExpiresAt", record.ExpiresAt.Unix(), h.Now().Add(retention+time.Second).Unix())
		h.equal("exp", h.number("k", "exp"), record.ExpiresAt.Unix())
		h.equal("st", h.text("st"), "COMPLETED")
	}},
	{name: "a failed key is refused with its cause until its retention ends", check: func(h *harness) {
		s := h.store()
		c := h.claim(s, "k")
		h.Advance(5 * time.Second)
		h.must(c.Fail(h.Context(), errors.New("no such account")))
		failed := as[*idemddb.FailedError](h, h.refuse(s, "k", nil, idemddb.ErrFailed))

		h.equal("Cause", failed.Cause, "no such account")
		h.equal("Attempts", failed.Attempts, 1)
		h.equal("exp", h.number("k", "exp"), h.Now().Add(retention+time.Second).Unix())
	}},
	{name: "a long cause is cut, not refused", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Release(h.Context(), errors.New(strings.Repeat("ä", 10_000)+"\xff")))

		if text := h.text("err"); len(text) > 256 || !strings.HasPrefix(text, "ää") {
			h.Errorf("err has %d bytes: %q", len(text), text)
		}
	}},
	{name: "a claim keeps the cause of the failure before it, a completion removes it", check: func(h *harness) {
		s := h.store()
		h.must(h.claim(s, "k").Release(h.Context(), errors.New("first")))
		c := h.claim(s, "k")
		h.equal("err", h.text("err"), "first")
		h.must(c.Complete(h.Context(), nil))
		h.equal("err", h.text("err"), "")
	}},
	{name: "completing again with the same result is a success, with another one ErrFenced", check: func(h *harness) {
		c := h.claim(h.store(), "k")
		h.must(c.Complete(h.Context(), []byte("a")))
		h.unchanged("k", func() {
			h.must(c.Complete(h.Context(), []byte("a")))
			h.is(c.Complete(h.Context(), []byte("b")), idemddb.ErrFenced)
			h.is(c.Complete(h.Context(), nil), idemddb.ErrFenced)
		})
	}},
	{name: "a settled claim cannot be settled in another way", check: func(h *harness) {
		for name, end := range map[string]func(*idemddb.Claim) error{
			"completed": func(c *idemddb.Claim) error { return c.Complete(h.Context(), []byte("mine")) },
			"failed":    func(c *idemddb.Claim) error { return c.Fail(h.Context(), errors.New("first")) },
		} {
			for verb, settle := range h.verbs() {
				key := name + ", " + verb
				c := h.claim(h.store(), key)
				h.must(end(c))
				h.Advance(time.Second)
				h.unchanged(key, func() {
					switch err := settle(c); {
					case verb == "release", verb == "unused": // a settled claim sends no release
						h.must(err)
					case verb == "fail" && name == "failed": // the key has failed, as asked
						h.must(err)
					default:
						h.is(err, idemddb.ErrFenced)
					}
				})
			}
		}
	}},
	{name: "a released claim is neither completed, failed nor extended", check: func(h *harness) {
		c := h.claim(h.store(), "k")
		h.must(c.Release(h.Context(), nil))
		h.unchanged("k", func() {
			h.is(c.Complete(h.Context(), nil), idemddb.ErrFenced)
			h.is(c.Fail(h.Context(), nil), idemddb.ErrFenced)
			h.is(c.Extend(h.Context()), idemddb.ErrFenced)
			h.must(c.Release(h.Context(), nil))
		})
	}},
	{name: "a worker past its lease completes if nobody took over", check: func(h *harness) {
		s := h.store()
		c := h.claim(s, "k")
		h.Advance(lease + time.Minute)
		h.must(c.Complete(h.Context(), []byte("late")))
		h.equal("Result", string(h.replay(s, "k").Result), "late")
	}},
}

// verbs are the writes of a claim.
func (h *harness) verbs() map[string]func(*idemddb.Claim) error {
	return map[string]func(*idemddb.Claim) error{
		"complete": func(c *idemddb.Claim) error { return c.Complete(h.Context(), []byte("zombie")) },
		"release":  func(c *idemddb.Claim) error { return c.Release(h.Context(), errors.New("zombie")) },
		"unused":   func(c *idemddb.Claim) error { return c.ReleaseUnused(h.Context()) },
		"fail":     func(c *idemddb.Claim) error { return c.Fail(h.Context(), errors.New("zombie")) },
		"extend":   func(c *idemddb.Claim) error { return c.Extend(h.Context()) },
	}
}
