package contract

import (
	"context"
	"sync"

	"github.com/idemddb/go-idemddb/idemddb"
)

// sending is a Sender that calls itself with each body and accepts all messages.
type sending func(body string)

func (f sending) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	for _, m := range ms {
		f(m.Body)
	}

	return make([]error, len(ms))
}

// batchOutboxCases say that removals that share a request are as those that do not.
var batchOutboxCases = []testCase{
	{name: "batch: duplicates send what is unsent, and remove it", check: func(h *harness) {
		bank := &target{}
		keys := []string{"a", "b", "c"}

		for _, key := range keys {
			h.committed(h.store(), key, h.messages(key, key))
		}

		h.Advance(aDay)

		for _, a := range h.claimKeys(h.store(sends(bank)), true, keys...) {
			h.replayed(a)
		}

		for _, key := range keys {
			bank.got(h, key, 1)
			h.equal("exp", h.number(key, "exp"), h.Now().Add(aDay).Unix())

			for _, gone := range []string{"outbox", "due", "due_ns", "ends", "parked"} {
				h.equal(gone, h.item(key)[gone], attributes{}[gone])
			}
		}
	}},
	{name: "batch: a removal removes what another sender has parked, because all is sent", check: func(h *harness) {
		h.committed(h.store(), "a", h.messages("a", "a"))
		h.committed(h.store(), "b", h.messages("b", "b"))
		h.Advance(aDay)

		var once sync.Once

		bank := sending(func(string) {
			once.Do(func() {
				for _, key := range []string{"a", "b"} {
					h.edit(key, attributes{"parked": h.item(key)["outbox"]})
				}
			})
		})
		s := h.store(func(o *idemddb.Options) { o.Senders = map[string]idemddb.Sender{"bank": bank} })

		for _, a := range h.claimKeys(s, true, "a", "b") {
			h.replayed(a)
		}

		h.equal("parked", h.item("a")["parked"], attributes{}["parked"])
		h.equal("parked", h.item("b")["parked"], attributes{}["parked"])
	}},
	{name: "batch: a removal changes only what was read", check: func(h *harness) {
		changes := map[string]attributes{
			"another owner token": {"own": str("another")}, "another call": {"tx": str("another")},
			"in progress": {"st": str("INPROGRESS")}, "all sent": {"outbox": nil},
		}

		var (
			mu     sync.Mutex
			before = map[string]attributes{}
			keys   []string
		)

		for key := range changes {
			keys = append(keys, key)
			h.committed(h.store(), key, h.messages(key, key))
		}

		h.Advance(aDay)

		bank := sending(func(body string) {
			mu.Lock()
			defer mu.Unlock()

			h.edit(body, changes[body])
			before[body] = h.item(body)
		})
		s := h.store(func(o *idemddb.Options) { o.Senders = map[string]idemddb.Sender{"bank": bank} })
		h.claimKeys(s, true, keys...)

		for _, key := range keys {
			h.same(key, before[key])
		}
	}},
}
