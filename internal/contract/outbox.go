package contract

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/delivery"
)

// outboxCases say that messages are sent if and only if the key is completed, and that no record is deleted before.
var outboxCases = []testCase{
	{name: "outbox: messages are sent after the completion, under ids that begin with tx, and are removed", check: func(h *harness) {
		for name, complete := range h.completions() {
			bank := &target{}
			h.must(complete(h.store(sends(bank)), name, h.messages(name, name+" 0", name+" 1")))
			tx := h.textOf(name, "tx")
			h.equal("id", bank.got(h, name+" 0", 1), tx+"-0")
			h.equal("id", bank.got(h, name+" 1", 1), tx+"-1")

			for _, gone := range []string{"outbox", "due", "due_ns", "ends", "parked"} {
				h.equal(gone, h.item(name)[gone], attributes{}[gone])
			}

			h.equal("exp", h.number(name, "exp"), h.Now().Add(aDay).Unix())
			h.equal("Result", string(h.replay(h.store(), name).Result), "paid")
		}
	}},
	{name: "outbox: a longer retention is what the record gets back", check: func(h *harness) {
		s := h.store(sends(&target{}), func(o *idemddb.Options) { o.Retention = 2 * aDay })
		h.committed(s, "k", h.messages("k", "m"))
		h.equal("exp", h.number("k", "exp"), h.Now().Add(2*aDay+time.Second).Unix())
	}},
	{name: "outbox: a record with unsent messages is not deleted, and says in the index how long they wait", check: func(h *harness) {
		for name, complete := range h.completions() {
			bank := &target{answer: refuses(errDown, name)}
			h.must(complete(h.store(sends(bank)), name, h.messages(name, name)))
			h.equal("exp", h.number(name, "exp"), int64(farAway))
			h.equal("ends", h.number(name, "ends"), h.Now().Add(retention+time.Second).Unix())
			h.equal("due", h.number(name, "due"), h.Now().UnixMilli())
			h.equal("bodies", h.bodies(name, "outbox"), []string{name})

			ns, ok := h.item(name)["due_ns"].(*types.AttributeValueMemberS)
			h.equal("due_ns", ok && len(ns.Value) == len(h.namespace)+2 && ns.Value[:len(h.namespace)+1] == h.namespace+"#", true)

			h.Advance(30 * aDay)
			h.equal("ExpiresAt", h.replay(h.store(), name).ExpiresAt.Unix(), h.number(name, "ends"))
		}
	}},
	{name: "outbox: a duplicate sends what is older than ten seconds, and nothing younger", check: func(h *harness) {
		for name, again := range map[string]func(s *idemddb.Store, key string) (*idemddb.Record, error){
			"claim": func(s *idemddb.Store, key string) (*idemddb.Record, error) {
				_, rec, err := s.Claim(h.Context(), key, nil)

				return rec, err
			},
			"commit": func(s *idemddb.Store, key string) (*idemddb.Record, error) {
				return s.Commit(h.Context(), key, nil, nil, effects(h.count("never")))
			},
			"reject": func(s *idemddb.Store, key string) (*idemddb.Record, error) {
				e := h.fails(s, key, nil, errReset)

				return e.Record, e.Err
			},
		} {
			bank := &target{answer: refuses(errDown, name)}
			s := h.store(sends(bank))
			h.committed(s, name, h.messages(name, name))

			bank.answer = nil

			for _, step := range []struct {
				after time.Duration
				times int
			}{{10*time.Second - time.Millisecond, 0}, {time.Millisecond, 1}, {time.Second, 1}} {
				h.Advance(step.after)

				rec, err := again(s, name)
				h.must(err)
				h.equal(name+": record", rec != nil && resultOf(rec) == "paid", true)
				bank.got(h, name, step.times)
			}
		}

		h.happened("never", "0")
	}},
	{name: "outbox: without a sweep a key is not answered before its messages are sent", check: func(h *harness) {
		bank := &target{answer: refuses(errDown, "m")}
		s := h.store(sends(bank), unswept)

		for name, complete := range h.completions() {
			err := complete(s, name, h.messages(name, "m"))
			h.is(err, idemddb.ErrUnsent)
			h.equal("IsDone", isDone(err), false)

			_, rec, err := s.Claim(h.Context(), name, nil)
			h.is(err, idemddb.ErrUnsent)
			h.equal("record", rec == nil, true)
		}

		h.Advance(time.Minute)

		bank.answer = nil
		for name := range h.completions() {
			h.replay(s, name)
		}
	}},
	{name: "outbox: without a sweep work that is fenced by unsent messages is not done", check: func(h *harness) {
		bank := &target{answer: refuses(errDown, "m")}
		s := h.store(sends(bank), unswept)
		lost := h.claim(s, "k")
		h.endLease()
		h.is(h.claim(s, "k").CompleteWith(h.Context(), nil, h.messages("a", "m")), idemddb.ErrUnsent)

		err := lost.Complete(h.Context(), nil)
		h.is(err, idemddb.ErrFenced)
		h.equal("IsDone", isDone(err), false)

		lost = h.claim(s, "swept")
		h.endLease()
		h.must(h.claim(h.store(sends(bank)), "swept").CompleteWith(h.Context(), nil, h.messages("a", "m")))
		h.equal("IsDone", isDone(h.claimLost(lost)), false)
	}},
	{name: "outbox: what does not get through is left, and nothing else", check: func(h *harness) {
		bank := &target{answer: refuses(errDown, "1", "3")}
		s := h.store(sends(bank))
		h.committed(s, "k", h.messages("k", "0", "1", "2", "3"))
		h.equal("outbox", h.bodies("k", "outbox"), []string{"1", "3"})
		h.equal("exp", h.number("k", "exp"), int64(farAway))

		bank.answer = refuses(errDown, "3")
		done, err := h.sendStored(s, "k", false)
		h.is(err, errDown)
		h.equal("delivery", done, delivery.Report{Key: "k", Sent: 1, Left: 1})

		bank.answer = nil
		done, err = h.sendStored(s, "k", false)
		h.must(err)
		h.equal("delivery", done, delivery.Report{Key: "k", Sent: 1})

		for i, body := range []string{"0", "1", "2", "3"} {
			h.equal("id", bank.got(h, body, 1), fmt.Sprintf("%s-%d", h.text("tx"), i))
		}

		h.equal("outbox", h.item("k")["outbox"], attributes{}["outbox"])
	}},
	{name: "outbox: a removal changes only what was read: not another call's messages, nor a record that is completed no more", check: func(h *harness) {
		h.removalIsRefused(errDown, map[string]attributes{
			"another owner token": {"own": str("another")}, "another call": {"tx": str("another")},
			"in progress": {"st": str("INPROGRESS")}, "all sent": {"outbox": nil},
		})
		h.removalIsRefused(errNever, map[string]attributes{
			"parked, another owner token": {"own": str("another")}, "parked, another call": {"tx": str("another")},
			"parked, in progress": {"st": str("INPROGRESS")}, "all parked ones sent": {"parked": nil},
		})

		bank := &target{answer: refuses(errDown, "m")}
		s := h.store(sends(bank))
		h.committed(s, "gone", h.messages("gone", "m"))
		seen := h.item("gone")
		h.drop("gone")

		bank.answer = nil
		_, err := s.SendStored(h.Context(), seen, false)
		h.must(err)
		h.equal("record", h.item("gone"), attributes(nil))
	}},
	{name: "outbox: a removal that is not answered, or meets a transaction, is written", check: func(h *harness) {
		conflict := func(func() error) error { return &types.TransactionConflictException{Message: new("as the test says")} }

		for name, f := range map[string]fault{
			"lost": loseRequest, "reply lost": loseReply, "conflict": conflict, "empty": unanswered["empty answer"],
		} {
			bank := &target{}
			h.committed(h.storeOn(h.intercepted(nth(2, f)), sends(bank)), name, h.messages(name, name))
			h.equal("outbox", h.item(name)["outbox"], attributes{}["outbox"])
			bank.got(h, name, 1)
		}
	}},
	{name: "outbox: two senders at once lose no message", check: func(h *harness) {
		bank := &target{answer: refuses(errDown, "0", "1", "2")}
		h.committed(h.store(sends(bank)), "k", h.messages("k", "0", "1", "2"))
		seen := h.item("k")

		first := &target{answer: refuses(errDown, "1", "2")}
		_, err := h.store(sends(first)).SendStored(h.Context(), seen, false)
		h.is(err, errDown)

		second := &target{answer: func(m idemddb.Message) error {
			return map[string]error{"0": errDown, "1": nil, "2": errNever}[m.Body]
		}}
		_, err = h.store(sends(second)).SendStored(h.Context(), seen, false)
		h.is(err, errDown)
		h.equal("outbox", h.bodies("k", "outbox"), []string{"0"})
		h.equal("parked", h.bodies("k", "parked"), []string{"2"})

		third := &target{}
		_, err = h.store(sends(third)).SendStored(h.Context(), seen, false)
		h.must(err)
		h.equal("parked", h.item("k")["parked"], attributes{}["parked"])
	}},
	{name: "outbox: a completion whose reply is lost sends its messages once", check: func(h *harness) {
		for name, n := range map[string]int64{"Commit": 1, "CompleteWith": 2} {
			for _, forgotten := range []bool{false, true} {
				bank, key := &target{}, name+map[bool]string{true: ", token forgotten"}[forgotten]
				e := h.intercepted(nth(n, loseReply))
				e.withoutTokens = forgotten
				h.must(h.completions()[name](h.storeOn(e, sends(bank)), key, h.messages(key, key)))
				bank.got(h, key, 1)
				h.equal("outbox", h.item(key)["outbox"], attributes{}["outbox"])
			}
		}
	}},
	{name: "outbox: a message arrives as it was staged", check: func(h *harness) {
		var got idemddb.Message

		bank := &target{answer: func(m idemddb.Message) error { got = m; return errDown }}
		want := idemddb.Message{To: "bank", Body: "m", Group: "g", Attributes: map[string]string{"a": "b", "c": "d"}, Sequence: -7}
		h.committed(h.store(sends(bank)), "k", idemddb.Effects{Messages: []idemddb.Message{want}})
		h.equal("message", withoutID(got), want)

		got = idemddb.Message{}
		_, err := h.sendStored(h.store(sends(bank)), "k", false)
		h.is(err, errDown)
		h.equal("message", withoutID(got), want)

		bank.answer = func(m idemddb.Message) error { got = m; return errNever }
		_, err = h.sendStored(h.store(sends(bank)), "k", false)
		h.must(err)

		got = idemddb.Message{}
		_, err = h.sendStored(h.store(sends(bank)), "k", true)
		h.is(err, idemddb.ErrUnsendable)
		h.equal("message", withoutID(got), want)
	}},
}

// withoutID returns a message as it was staged.
func withoutID(m idemddb.Message) idemddb.Message {
	m.ID = ""

	return m
}
