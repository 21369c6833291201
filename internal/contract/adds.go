package contract

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
)

// add is an addition to n of an effect, which happened shows.
func (h *harness) add(name, n string) idemddb.Add {
	return idemddb.Add{Table: h.table, Key: h.key("effect " + name), Values: attributes{"n": &types.AttributeValueMemberN{Value: n}}}
}

func adds(all ...idemddb.Add) idemddb.Effects { return idemddb.Effects{Adds: all} }

// made makes the item of an effect that has never happened, with these attributes.
func (h *harness) made(name string, has attributes) {
	h.Helper()
	h.committed(h.store(), "made "+name, adds(h.add(name, "0")))
	h.edit("effect "+name, has)
}

// settleTogether lets work without a claim end for the keys 0 to n-1 behind a prefix, so that all of it travels in one flight.
func (h *harness) settleTogether(s *idemddb.Store, prefix string, effects ...idemddb.Effects) []idemddb.Ending {
	h.Helper()

	group := s.Engine().NewGroup()
	wait := h.settleIn(group, s, prefix, effects...)
	group.Flush()

	return wait()
}

// settleIn is settleTogether for a group: when it returns, all of the work waits for others of the group, and wait returns how it
// ended.
func (h *harness) settleIn(group *engine.Group, s *idemddb.Store, prefix string, effects ...idemddb.Effects) (wait func() []idemddb.Ending) {
	h.Helper()

	var waiting, all sync.WaitGroup

	waiting.Add(len(effects))

	ctx := engine.With(h.Context(), &engine.Invocation{Group: group, Settling: func(bool) { waiting.Done() }})
	endings := make([]idemddb.Ending, len(effects))

	for i, e := range effects {
		work, ending := s.Begin(ctx, prefix+strconv.Itoa(i), &idemddb.ClaimOptions{Optimistic: true})
		if work == nil {
			h.Fatalf("work %d did not begin: %+v", i, ending)
		}

		h.must(idemddb.Stage(work.Context(ctx), e))
		all.Go(func() { endings[i] = work.Settle(ctx, nil, nil) })
	}

	waiting.Wait()

	return func() []idemddb.Ending {
		all.Wait()

		return endings
	}
}

// done demands that work was committed, or that its key was.
func (h *harness) done(endings []idemddb.Ending, kinds ...idemddb.Kind) {
	h.Helper()

	for i, e := range endings {
		if e.Err != nil || !e.Done || e.Kind != kinds[i] {
			h.Errorf("key %d: got %+v, want %s", i, e, kinds[i])
		}
	}
}

// allCommitted are the kinds of three endings.
var allCommitted = []idemddb.Kind{idemddb.KindCompleted, idemddb.KindCompleted, idemddb.KindCompleted}

// items are how many items each transaction had.
func (e *interceptor) items() (all []int) {
	for _, t := range e.sent() {
		all = append(all, len(t.items))
	}

	return all
}

// addCases say that an addition happens with the completion of its key, also where it travels as a part of a sum.
var addCases = []testCase{
	{name: "Adds: numbers are added together with the completion, and a missing item is made", check: func(h *harness) {
		s := h.store()
		h.committed(s, "a", adds(h.add("x", "1250"), h.add("y", "-0.5")))
		h.happened("x", "1250")
		h.happened("y", "-0.5")

		c := h.claim(s, "b")
		h.stage(c, adds(h.add("x", "-250")))
		h.must(c.CompleteWith(h.Context(), nil, idemddb.Effects{Items: []types.TransactWriteItem{h.once("z")}, Adds: []idemddb.Add{h.add("y", "1e2")}}))
		h.happened("x", "1000")
		h.happened("y", "99.5")
		h.happened("z", "1")

		ok, _, err := h.commit(s, "a", adds(h.add("x", "7")))
		h.must(err)
		h.equal("committed again", ok, false)
		h.happened("x", "1000")
	}},
	{name: "Adds: those of one message to one item are summed", check: func(h *harness) {
		e := h.intercepted(nil)
		two := h.add("x", "2")
		two.Values["other"] = num(7)
		h.committed(h.storeOn(e), "a", adds(h.add("x", "1"), h.add("y", "1"), two))
		h.happened("x", "3")
		h.happened("y", "1")
		h.equal("other", h.item("effect x")["other"], num(7))
		h.equal("items", e.items(), []int{3})
	}},
	{name: "Adds: those of several messages to one item are one update with the exact sum", check: func(h *harness) {
		e := h.intercepted(nil)
		h.done(h.settleTogether(h.storeOn(e), "",
			adds(h.add("x", "0.1")), adds(h.add("x", "0.2"), h.add("y", "5")), adds(h.add("x", "-1e-3"))), allCommitted...)
		h.happened("x", "0.299")
		h.happened("y", "5")
		h.equal("items", e.items(), []int{5})
	}},
	{name: "Adds: a duplicate adds nothing, and the sum is built anew from the others", check: func(h *harness) {
		h.committed(h.store(), "1", adds(h.add("x", "2")))

		e := h.intercepted(nil)
		h.done(h.settleTogether(h.storeOn(e), "", adds(h.add("x", "1")), adds(h.add("x", "2")), adds(h.add("x", "4"))),
			idemddb.KindCompleted, idemddb.KindReplayed, idemddb.KindCompleted)
		h.happened("x", "7")
		h.equal("items", e.items(), []int{4, 3})
	}},
	{name: "Adds: those under another condition, and another write of the item, have their own transactions", check: func(h *harness) {
		open := h.add("x", "2")
		open.Unless = []string{"closed"}

		e := h.intercepted(nil)
		h.done(h.settleTogether(h.storeOn(e), "", adds(h.add("x", "1")), adds(open), effects(h.count("x"))), allCommitted...)
		h.happened("x", "4")
		h.equal("items", e.items(), []int{2, 2, 2})
	}},
	{name: "Adds: a number that would make the sum inexact is added by itself", check: func(h *harness) {
		h.committed(h.store(), "before", adds(h.add("x", "-1e37")))
		h.done(h.settleTogether(h.store(), "", adds(h.add("x", "1e37")), adds(h.add("x", "0.1")), adds(h.add("x", "-1e37"))), allCommitted...)
		h.committed(h.store(), "after", adds(h.add("x", "1e37")))
		h.happened("x", "0.1")
	}},
	{name: "Adds: where the sum is refused, each message has its own answer, and the others are done", check: func(h *harness) {
		unless, requires := h.add("x", "1"), h.add("y", "1")
		unless.Unless, requires.Requires = []string{"closed"}, []string{"open"}
		h.made("x", attributes{"closed": str("today")})
		h.made("y", nil)
		h.made("text", attributes{"n": str("none")})

		for name, refused := range map[string]idemddb.Add{"x": unless, "y": requires, "text": h.add("text", "1")} {
			endings := h.settleTogether(h.store(), name, effects(h.count(name+" a")), adds(h.add(name+" b", "2"), refused),
				idemddb.Effects{Items: []types.TransactWriteItem{h.count(name + " c")}, Adds: []idemddb.Add{h.add(name+" d", "1"), refused}})

			h.done(endings[:1], idemddb.KindCompleted)
			h.happened(name+" a", "1")

			for i, index := range map[int]int{1: 1, 2: 2} {
				e := as[*idemddb.EffectError](h, endings[i].Err)
				if name != "text" { // of which some engines say only that the whole is wrong
					h.equal(name+": Index", e.Index, index)
				}

				h.equal(name+": released", endings[i].Kind, idemddb.KindReleased)
			}

			for _, nothing := range []string{" b", " c", " d"} {
				h.happened(name+nothing, "0")
			}
		}

		h.happened("x", "0")
		h.happened("y", "0")
	}},
	{name: "Adds: an item that has what they require, and nothing that they exclude, is added to", check: func(h *harness) {
		a := h.add("x", "1")
		a.Requires, a.Unless = []string{"open", "owner"}, []string{"closed", "locked"}
		h.made("x", attributes{"open": num(1), "owner": str("ann")})
		h.done(h.settleTogether(h.store(), "", adds(a), adds(a), adds(a)), allCommitted...)
		h.happened("x", "3")
	}},
	{name: "Adds: whatever becomes of the transaction of a sum, each number is added once", check: func(h *harness) {
		for name, fault := range unanswered {
			for _, withoutTokens := range []bool{false, true} {
				for _, n := range []int64{1, 2} {
					x := fmt.Sprint(name, withoutTokens, n)
					e := h.intercepted(func(at int64, send func() error) error {
						if at <= n {
							return fault(send)
						}

						return send()
					})
					e.withoutTokens = withoutTokens
					h.done(h.settleTogether(h.storeOn(e), x, adds(h.add(x, "1")), adds(h.add(x, "2")), adds(h.add(x, "4"))), allCommitted...)
					h.happened(x, "7")
				}
			}
		}
	}},
	{name: "Adds: a late try of a sum adds nothing that was added, and nothing beside its records", check: func(h *harness) {
		h.committed(h.store(), "1", adds(h.add("x", "2"))) // so that the first sum is never applied

		var late lateRequest

		e := h.intercepted(nth(1, late.hold))
		e.withoutTokens = true
		h.done(h.settleTogether(h.storeOn(e), "", adds(h.add("x", "1")), adds(h.add("x", "2")), adds(h.add("x", "4"))),
			idemddb.KindCompleted, idemddb.KindReplayed, idemddb.KindCompleted)
		late.arrive(h)
		h.happened("x", "7")
	}},
	{name: "Adds: a late try of a sum that is applied before the next one proves all of its keys", check: func(h *harness) {
		var late lateRequest

		e := h.intercepted(func(n int64, send func() error) error {
			switch n {
			case 1:
				return late.hold(send)
			case 2: // the same transaction once more
				return errReset
			case 3:
				late.arrive(h)
			}

			return send()
		})
		e.withoutTokens = true
		h.done(h.settleTogether(h.storeOn(e), "", adds(h.add("x", "1")), adds(h.add("x", "2")), adds(h.add("x", "4"))), allCommitted...)
		h.happened("x", "7")
	}},
	{name: "Adds: an addition that is refused is one of nothing else, and the claim is still held", check: func(h *harness) {
		a := h.add("x", "1")
		a.Unless = []string{"closed"}
		h.made("x", attributes{"closed": num(1)})

		c := h.claim(h.store(), "k")
		effects := idemddb.Effects{Items: []types.TransactWriteItem{h.count("y")}, Adds: []idemddb.Add{a}}
		e := as[*idemddb.EffectError](h, c.CompleteWith(h.Context(), nil, effects))
		h.equal("Index", e.Index, 1)
		h.equal("item", e.Item["closed"], num(1))
		h.equal("unknown", e.Unknown, false)
		h.must(c.Release(h.Context(), errors.New("closed")))
		h.happened("y", "0")
	}},
}
