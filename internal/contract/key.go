package contract

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/record"
)

// keyCases say how keys are stored, and what a table that does not fit is answered with.
var keyCases = []testCase{
	{name: "the same key in two namespaces is two keys", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Complete(h.Context(), []byte("one")))

		other, err := idemddb.New(h.engine, h.table, h.namespace+"-other", &idemddb.Options{
			PartitionKey: h.options.PartitionKey, SortKey: h.options.SortKey, TTLAttribute: h.options.TTLAttribute, Now: h.Now,
		})
		h.must(err)
		h.claim(other, "k")
	}},
	{name: "a key of up to 1,024 bytes is stored as it is, a longer one as its digest", check: func(h *harness) {
		s := h.store()
		short, long, other := longKey(1024), longKey(1025), longKey(1023)+"xy"
		h.claim(s, short)
		h.claim(s, long)
		h.equal("stored as it is", h.item(short) != nil, true)
		h.inProgress(s, long)
		h.claim(s, other)
		h.inProgress(s, other)
		h.claim(s, longKey(3000))
	}},
	{name: "no short key stands for a long one", check: func(h *harness) {
		s := h.store()
		long := longKey(2000)
		digest := "sha256:" + strings.TrimPrefix(record.KeyHash(long), "sha256:")
		h.claim(s, long)
		h.claim(s, digest)
		h.equal("stored as it is", h.item(digest) != nil, false)
	}},
	{name: "keys that differ in anything are different keys", check: func(h *harness) {
		s := h.store()
		for _, key := range []string{"a", "A", " a", "a ", "a#b", "#", "ä", "a\u0308", "a\x00", "\"a\""} {
			h.claim(s, key)
		}
	}},
	{name: "an empty key, or one that is not UTF-8, is refused before any request", check: func(h *harness) {
		e := h.intercepted(nil)
		s := h.storeOn(e)

		for _, key := range []string{"", "a\xffb"} {
			_, _, err := s.Claim(h.Context(), key, nil)
			h.is(err, idemddb.ErrBadKey)
			h.is(s.Reopen(h.Context(), key), idemddb.ErrBadKey)
		}

		h.equal("requests", e.requests.Load(), int64(0))
	}},
	{name: "no error shows the key", check: func(h *harness) {
		s := h.store()
		c := h.claim(s, "4111-1111-1111-1111")
		_, _, held := s.Claim(h.Context(), "4111-1111-1111-1111", nil)
		h.must(c.Fail(h.Context(), nil))
		_, _, failed := s.Claim(h.Context(), "4111-1111-1111-1111", nil)

		for _, err := range []error{held, failed, c.Complete(h.Context(), nil)} {
			if err == nil || strings.Contains(err.Error(), "4111") {
				h.Errorf("got %v, want an error without the key", err)
			}
		}
	}},
	{name: "a table that is missing is named", check: func(h *harness) {
		s, err := idemddb.New(h.engine, "no-such-table", h.namespace, nil)
		h.must(err)

		_, _, err = s.Claim(h.Context(), "k", nil)
		as[*types.ResourceNotFoundException](h, err)

		if !strings.Contains(err.Error(), `"no-such-table" is missing`) {
			h.Errorf("got %v", err)
		}
	}},
	{name: "a table with another key is explained", check: func(h *harness) {
		s := h.store(func(o *idemddb.Options) { o.PartitionKey = "id" })
		_, _, err := s.Claim(h.Context(), "k", nil)

		if err == nil || !strings.Contains(err.Error(), `Options.PartitionKey "id"`) {
			h.Errorf("got %v", err)
		}
	}},
}

func longKey(bytes int) string { return strings.Repeat("k", bytes) }

// inProgress demands that a key is held whose record cannot be found under its name.
func (h *harness) inProgress(s *idemddb.Store, key string) {
	h.Helper()

	_, _, err := s.Claim(h.Context(), key, nil)
	h.is(err, idemddb.ErrInProgress)
}
