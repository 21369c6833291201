package contract

import (
	"github.com/idemddb/go-idemddb/idemddb"
)

// resultCases say which results are kept.
var resultCases = []testCase{
	{name: "a completion without a result replays none, one with an empty result an empty one", check: func(h *harness) {
		s := h.store()
		h.must(h.claim(s, "none").Complete(h.Context(), nil))
		h.must(h.claim(s, "empty").Complete(h.Context(), []byte{}))
		h.equal("none", h.replay(s, "none").Result, []byte(nil))
		h.equal("empty", len(h.replay(s, "empty").Result), 0)
	}},
	{name: "a result just under the limit of an item is replayed", check: func(h *harness) {
		s := h.store()
		result := make([]byte, 409_000)
		h.must(h.claim(s, "k").Complete(h.Context(), result))
		h.equal("length", len(h.replay(s, "k").Result), len(result))
	}},
	{name: "a result over the limit is ErrTooLarge, and the completion is written without it", check: func(h *harness) {
		e := h.intercepted(nil)
		s := h.storeOn(e)
		c := h.claim(s, "k")

		for range 2 {
			h.is(c.Complete(h.Context(), make([]byte, 409_600)), idemddb.ErrTooLarge)
		}

		h.equal("requests", e.requests.Load(), int64(3))
		h.isOmitted(h.replay(s, "k"))
		h.is(c.Complete(h.Context(), []byte("smaller")), idemddb.ErrFenced)
	}},
}

// isOmitted compares a record with one whose result was not kept.
func (h *harness) isOmitted(record *idemddb.Record) {
	h.Helper()
	h.equal("ResultOmitted", record.ResultOmitted, true)
	h.equal("Result", record.Result, []byte(nil))
}
