package contract

import (
	"bytes"
	"context"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
			h.is(c.Complete(h.Context(), make([]byte, 6_500_000)), idemddb.ErrTooLarge)
		}

		h.equal("requests", e.requests.Load(), int64(3))
		h.isOmitted(h.replay(s, "k"))
		h.is(c.Complete(h.Context(), []byte("smaller")), idemddb.ErrFenced)
	}},
	{name: "a large result in Options.Results is replayed, whichever write completes the key", check: func(h *harness) {
		kept := &Shelf{}
		s := h.store(keeps(kept))
		result := bytes.Repeat([]byte("a"), 500_000)

		for _, key := range h.completeEachWay(s, result) {
			h.equal(key, len(h.replay(s, key).Result), len(result))
		}

		h.equal("results", len(kept.Names()), 3)
	}},
	{name: "a large result in the table is replayed, whichever write completes the key", check: func(h *harness) {
		s := h.store()
		result := bytes.Repeat([]byte("a"), 500_000)

		for _, key := range h.completeEachWay(s, result) {
			h.equal(key+" replayed", bytes.Equal(h.replay(s, key).Result, result), true)
			h.equal(key+" in the record", reflect.TypeOf(h.item(key)["res"]), reflect.TypeFor[*types.AttributeValueMemberM]())
		}
	}},
	{name: "of two claims that complete with large results in the table, the one that is accepted is replayed", check: func(h *harness) {
		for name, zombieFirst := range map[string]bool{"after": false, "before": true} {
			s := h.store()
			zombie := h.claim(s, name)
			h.endLease()

			winner := h.claim(s, name)
			if zombieFirst {
				h.is(zombie.Complete(h.Context(), bytes.Repeat([]byte("z"), 40_000)), idemddb.ErrFenced)
			}

			h.must(winner.Complete(h.Context(), bytes.Repeat([]byte("w"), 40_000)))

			if !zombieFirst {
				h.is(zombie.Complete(h.Context(), bytes.Repeat([]byte("z"), 40_000)), idemddb.ErrFenced)
			}

			h.equal("result", string(h.replay(s, name).Result[:1]), "w")
		}
	}},
	{name: "a put of a large result in the table that arrives late, or whose reply is lost, leaves the result", check: func(h *harness) {
		for name, on := range map[string]func(*lateRequest) onRequest{
			"held": func(l *lateRequest) onRequest { return nth(2, l.hold) },
			"lost": func(*lateRequest) onRequest { return nth(2, loseReply) },
		} {
			late := &lateRequest{}
			s := h.storeOn(h.intercepted(on(late)))
			result := bytes.Repeat([]byte("a"), 40_000)
			h.must(h.claim(s, name).Complete(h.Context(), result))
			h.Advance(time.Second)

			if name == "held" {
				late.arrive(h)
			}

			h.equal(name, bytes.Equal(h.replay(h.store(), name).Result, result), true)
		}
	}},
	{name: "results and messages that a codec has sealed are stored by any write, replayed and sent", check: func(h *harness) {
		for name, complete := range h.completions() {
			bank := &target{answer: refuses(errDown, name)}
			s := h.store(sends(bank), seals)
			h.must(complete(s, name, h.messages(name, name)))
			h.equal("result", string(h.replay(s, name).Result), "paid")
			h.equal("bodies in the record", h.bodies(name, "outbox"), []string(nil))

			_, _, err := h.store().Claim(h.Context(), name, nil)
			h.is(err, idemddb.ErrCorrupt)

			bank.answer = nil
			_, err = h.sendStored(s, name, false)
			h.must(err)
			bank.got(h, name, 1)
		}
	}},
}

// seals sets a Codec.
func seals(o *idemddb.Options) { o.Codec = inverted{} }

// inverted is a Codec that inverts each byte.
type inverted struct{}

func (inverted) Seal(_ context.Context, plain []byte, _ idemddb.Sealed) ([]byte, error) {
	for i := range plain {
		plain[i] = ^plain[i]
	}

	return plain, nil
}

func (c inverted) Open(ctx context.Context, sealed []byte, of idemddb.Sealed) ([]byte, error) {
	return c.Seal(ctx, sealed, of)
}

func keeps(r idemddb.Results) func(*idemddb.Options) {
	return func(o *idemddb.Options) { o.Results = r }
}

// completeEachWay completes a key with each write that does, and returns the keys.
func (h *harness) completeEachWay(s *idemddb.Store, result []byte) []string {
	h.Helper()
	h.must(h.claim(s, "complete").Complete(h.Context(), result))
	h.must(h.claim(s, "with").CompleteWith(h.Context(), result, h.messages("with", "m")))

	_, err := s.Commit(h.Context(), "commit", nil, result, idemddb.Effects{})
	h.must(err)

	return []string{"complete", "with", "commit"}
}

// isOmitted compares a record with one whose result was not kept.
func (h *harness) isOmitted(record *idemddb.Record) {
	h.Helper()
	h.equal("ResultOmitted", record.ResultOmitted, true)
	h.equal("Result", record.Result, []byte(nil))
}
