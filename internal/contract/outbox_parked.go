package contract

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/delivery"
)

// parkedCases say what becomes of messages that cannot be sent: now, by this process, or ever.
var parkedCases = []testCase{
	{name: "outbox: a message that can never be sent is parked, and the others go on", check: func(h *harness) {
		bank := &target{answer: refuses(errNever, "1")}
		s := h.store(sends(bank))
		h.committed(s, "all", h.messages("all", "0", "1"))
		h.equal("parked", h.bodies("all", "parked"), []string{"1"})
		h.equal("exp", h.number("all", "exp"), int64(farAway))
		h.equal("ends", h.number("all", "ends"), h.Now().Add(retention+time.Second).Unix())

		for _, gone := range []string{"outbox", "due", "due_ns"} {
			h.equal(gone, h.item("all")[gone], attributes{}[gone])
		}

		h.unchanged("all", func() {
			done, err := h.sendStored(s, "all", false)
			h.must(err)
			h.equal("delivery", done, delivery.Report{Key: "all", Parked: 1})
		})

		down := &target{answer: func(m idemddb.Message) error {
			return map[string]error{"0": nil, "1": errNever, "2": errDown}[m.Body]
		}}
		h.committed(h.store(sends(down)), "some", h.messages("some", "0", "1", "2"))
		h.equal("parked", h.bodies("some", "parked"), []string{"1"})
		h.equal("outbox", h.bodies("some", "outbox"), []string{"2"})
		h.equal("due", h.number("some", "due"), h.Now().UnixMilli())

		down.answer = refuses(errNever, "2")
		_, err := h.sendStored(h.store(sends(down)), "some", false)
		h.must(err)
		h.equal("parked", h.bodies("some", "parked"), []string{"1", "2"})
		h.equal("outbox", h.item("some")["outbox"], attributes{}["outbox"])
		h.equal("exp", h.number("some", "exp"), int64(farAway))
	}},
	{name: "outbox: an operator sends what is parked, under the same ids", check: func(h *harness) {
		bank := &target{answer: refuses(errNever, "1", "2")}
		s := h.store(sends(bank))
		h.committed(s, "k", h.messages("k", "0", "1", "2"))
		h.Advance(30 * aDay)

		bank.answer = refuses(errDown, "2")
		done, err := h.sendStored(s, "k", true)
		h.is(err, errDown)
		h.equal("delivery", done, delivery.Report{Key: "k", Sent: 1, Parked: 1})
		h.equal("parked", h.bodies("k", "parked"), []string{"2"})
		h.equal("exp", h.number("k", "exp"), int64(farAway))
		h.unchanged("k", func() {
			_, err := h.sendStored(s, "k", true)
			h.is(err, errDown)
		})

		bank.answer = nil
		done, err = h.sendStored(s, "k", true)
		h.must(err)
		h.equal("delivery", done, delivery.Report{Key: "k", Sent: 1})

		for i, body := range []string{"0", "1", "2"} {
			h.equal("id", bank.got(h, body, 1), fmt.Sprintf("%s-%d", h.text("tx"), i))
		}

		for _, gone := range []string{"parked", "ends"} {
			h.equal(gone, h.item("k")[gone], attributes{}[gone])
		}

		h.equal("exp", h.number("k", "exp"), h.Now().Add(aDay).Unix())
	}},
	{name: "outbox: what an operator could not send of the unsent ones is in the index, whoever took it out", check: func(h *harness) {
		bank := &target{answer: func(m idemddb.Message) error {
			return map[string]error{"0": errNever, "1": errDown}[m.Body]
		}}
		s := h.store(sends(bank))
		h.committed(s, "k", h.messages("k", "0", "1"))
		seen := h.item("k")

		meanwhile := h.store(sends(&target{answer: refuses(errNever, "0", "1")}))
		_, err := h.sendStored(meanwhile, "k", false)
		h.must(err)
		h.equal("outbox", h.item("k")["outbox"], attributes{}["outbox"])

		bank.answer = refuses(errDown, "1")
		done, err := s.SendStored(h.Context(), seen, true)
		h.is(err, errDown)
		h.equal("delivery", done, delivery.Report{Key: "k", Sent: 1, Left: 1})
		h.equal("outbox", h.bodies("k", "outbox"), []string{"1"})
		h.equal("parked", h.item("k")["parked"], attributes{}["parked"])

		for _, name := range []string{"due", "due_ns"} {
			h.equal(name, h.item("k")[name], seen[name])
		}
	}},
	{name: "outbox: after seven days a message is parked without being sent", check: func(h *harness) {
		bank := &target{answer: refuses(errDown, "m")}
		s := h.store(sends(bank))
		h.committed(s, "six", h.messages("six", "m"))
		h.Advance(7 * aDay)

		bank.answer = nil
		_, err := h.sendStored(s, "six", false)
		h.must(err)
		bank.got(h, "m", 1)

		bank.answer = refuses(errDown, "n")
		h.committed(s, "eight", h.messages("eight", "n"))
		h.Advance(7*aDay + time.Millisecond)

		bank.answer = nil
		done, err := h.sendStored(s, "eight", false)
		h.must(err)
		h.equal("delivery", done, delivery.Report{Key: "eight", Parked: 1})
		bank.got(h, "n", 0)

		_, err = h.sendStored(s, "eight", true)
		h.must(err)
		bank.got(h, "n", 1)
	}},
	{name: "outbox: a process that lacks a sender leaves the message to another", check: func(h *harness) {
		h.committed(h.store(), "k", h.messages("k", "m"))

		for _, senders := range []map[string]idemddb.Sender{{"bank": nil}, {"receipts": &target{}}, nil} {
			h.unchanged("k", func() {
				done, err := h.sendStored(h.store(func(o *idemddb.Options) { o.Senders = senders }), "k", false)
				h.equal("the error names the target", err != nil && strings.Contains(err.Error(), `to "bank"`), true)
				h.equal("delivery", done, delivery.Report{Key: "k", Left: 1})
			})
		}

		bank := &target{}
		_, err := h.sendStored(h.store(sends(bank)), "k", false)
		h.must(err)
		bank.got(h, "m", 1)
	}},
}
