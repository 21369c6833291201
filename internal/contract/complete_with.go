package contract

import (
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// completeWithCases say that effects happen together with the completion of their claim, and at no other time.
var completeWithCases = []testCase{
	{name: "CompleteWith: the effects happen with the completion", check: func(h *harness) {
		s := h.store()
		c := h.claim(s, "k")
		h.Advance(5 * time.Second)
		h.must(c.CompleteWith(h.Context(), []byte("paid"), effects(h.count("a"), h.once("b"))))
		h.happened("a", "1")
		h.happened("b", "1")

		record := h.replay(s, "k")
		h.equal("Result", string(record.Result), "paid")
		h.equal("Fence", record.Fence, c.Fence())
		h.equal("CompletedAt", record.CompletedAt.UnixMilli(), h.Now().UnixMilli())
		h.equal("exp", h.number("k", "exp"), h.Now().Add(retention+time.Second).Unix())
		h.equal("length of tx", len(h.text("tx")), 26)
	}},
	{name: "CompleteWith: what was staged is written by the completion, without a result or with one", check: func(h *harness) {
		for _, result := range [][]byte{nil, []byte("paid")} {
			key := "k" + string(result)
			c := h.claim(h.store(), key)
			h.stage(c, effects(h.count(key)))
			h.happened(key, "0")
			h.must(c.Complete(h.Context(), result))
			h.happened(key, "1")
			h.equal("Result", h.replay(h.store(), key).Result, result)
			h.is(idemddb.Stage(h.work(c), idemddb.Effects{}), idemddb.ErrFenced)
		}
	}},
	{name: "CompleteWith: a completion removes the cause of the failure before it", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Release(h.Context(), errors.New("bank closed")))
		h.must(h.claim(h.store(), "k").CompleteWith(h.Context(), nil, effects(h.count("a"))))
		h.equal("err", h.text("err"), "")
	}},
	{name: "CompleteWith: a refused effect writes nothing, and the claim is still held", check: func(h *harness) {
		c := h.claim(h.store(), "k")
		refused := h.taken("a")

		h.unchanged("k", func() {
			e := as[*idemddb.EffectError](h, c.CompleteWith(h.Context(), nil, effects(h.count("b"), refused)))
			h.equal("Index", e.Index, 1)
			h.equal("Code", e.Code, "ConditionalCheckFailed")
			h.equal("n of the item", e.Item["n"], num(1))
			h.equal("Unknown", e.Unknown, false)
			h.equal("IsDone", isDone(e), false)
		})
		h.happened("b", "0")
		h.must(c.CompleteWith(h.Context(), nil, effects(h.count("c"))))
		h.happened("b", "0")
		h.happened("c", "1")
	}},
	{name: "CompleteWith: no effect of a worker that lost its claim happens", check: func(h *harness) {
		for state, end := range map[string]func(c *idemddb.Claim) error{
			"held":      func(*idemddb.Claim) error { return nil },
			"completed": func(c *idemddb.Claim) error { return c.Complete(h.Context(), []byte("theirs")) },
			"failed":    func(c *idemddb.Claim) error { return c.Fail(h.Context(), nil) },
			"released":  func(c *idemddb.Claim) error { return c.Release(h.Context(), nil) },
		} {
			s := h.store()
			lost := h.claim(s, state)
			h.endLease()
			h.must(end(h.claim(s, state)))
			h.unchanged(state, func() {
				err := lost.CompleteWith(h.Context(), nil, effects(h.count(state)))
				fenced := as[*idemddb.FencedError](h, err)
				h.equal(state+": Current", fenced.Current, lost.Fence()+1)
				h.equal(state+": the other's record", fenced.Record != nil, state == "completed")
				h.equal(state+": IsDone", isDone(err), state == "completed")
			})
			h.happened(state, "0")
		}
	}},
	{name: "CompleteWith: a claim that was settled, ended by another, or deleted writes nothing", check: func(h *harness) {
		for state, end := range map[string]func(c *idemddb.Claim){
			"completed": func(c *idemddb.Claim) { h.must(c.Complete(h.Context(), nil)) }, // as the call below, but for its effects
			"failed":    func(c *idemddb.Claim) { h.must(c.Fail(h.Context(), nil)) },
			"released":  func(c *idemddb.Claim) { h.must(c.Release(h.Context(), nil)) },
			"deleted":   func(c *idemddb.Claim) { h.drop(c.Key()) },
			"another owner token": func(c *idemddb.Claim) {
				h.edit(c.Key(), attributes{"own": str("another")})
			},
			"another fencing token": func(c *idemddb.Claim) { h.edit(c.Key(), attributes{"fence": num(1)}) },
		} {
			c := h.claim(h.store(), state)
			end(c)
			h.unchanged(state, func() {
				err := c.CompleteWith(h.Context(), nil, effects(h.count(state)))
				fenced := as[*idemddb.FencedError](h, err)
				h.equal(state+": a record", fenced.Record != nil, state == "completed")
				h.equal(state+": ended as failed", strings.Contains(err.Error(), "was ended as failed"), state == "failed")
				h.equal(state+": IsDone", isDone(err), state == "completed")
			})
			h.happened(state, "0")
		}
	}},
	{name: "CompleteWith: a completion that is not answered is a success, and its effects happen once", check: func(h *harness) {
		for name, f := range unanswered {
			for _, forgotten := range []bool{false, true} {
				key := name + map[bool]string{true: ", token forgotten"}[forgotten]
				e := h.intercepted(nth(2, f))
				e.withoutTokens = forgotten
				h.must(h.claim(h.storeOn(e), key).CompleteWith(h.Context(), []byte(key), effects(h.once(key), h.count(key+" 2"))))
				h.happened(key, "1")
				h.happened(key+" 2", "1")
				h.equal("Result", string(h.replay(h.store(), key).Result), key)
				h.equal(key+": tx", h.item(key)["tx"], str(e.token(0)))
				h.equal(key+": the second token is the first", e.token(1) == e.token(0), !strings.Contains(name, "empty"))
			}
		}
	}},
	{name: "CompleteWith: all tries send the same items, whatever the clock says meanwhile", check: func(h *harness) {
		e := h.intercepted(func(n int64, send func() error) error {
			if n >= 2 && n <= 4 {
				h.Advance(time.Second)

				return cancelled("TransactionConflict", "None")(send)
			}

			return send()
		})
		h.must(h.claim(h.storeOn(e), "k").CompleteWith(h.Context(), nil, effects(h.count("a"))))

		tokens := map[string]bool{}
		for _, sent := range e.sent() {
			tokens[sent.token] = true
			h.equal("the items are the same", reflect.DeepEqual(sent.items, e.sent()[0].items), true)
		}

		h.equal("tokens", len(tokens), 4)
		h.equal("done", h.number("k", "done"), epoch.UnixMilli())
	}},
	{name: "CompleteWith: a record that is gone after a try without an answer does not say that nothing was written", check: func(h *harness) {
		e := h.intercepted(nth(2, func(send func() error) error {
			h.must(send())
			h.drop("k")

			return errReset
		}))
		e.withoutTokens = true
		c := h.claim(h.storeOn(e), "k")
		err := c.CompleteWith(h.Context(), nil, effects(h.count("a")))
		h.is(err, idemddb.ErrUncommitted)
		h.equal("fenced", errors.Is(err, idemddb.ErrFenced), false)
		h.happened("a", "1")
	}},
	{name: "CompleteWith: an earlier one with other effects is ErrFenced, with its record", check: func(h *harness) {
		for _, applied := range []bool{true, false} {
			key := map[bool]string{true: "applied", false: "lost"}[applied]
			over := &atomic.Bool{}
			f := map[bool]fault{true: loseReply, false: loseRequest}[applied]
			c := h.claim(h.storeOn(h.intercepted(from(2, f, over.Load))), key)

			first := c.CompleteWith(h.shortly(), []byte("first"), effects(h.count(key+" first")))
			h.is(first, idemddb.ErrUncommitted)
			h.equal("IsDone", isDone(first), false)
			over.Store(true)

			err := c.CompleteWith(h.Context(), []byte("second"), effects(h.count(key+" second")))
			if applied {
				fenced := as[*idemddb.FencedError](h, err)
				h.equal("the record's result", resultOf(fenced.Record), "first")
				h.equal("IsDone", isDone(err), true)
			} else {
				h.must(err)
			}

			h.happened(key+" first", map[bool]string{true: "1", false: "0"}[applied])
			h.happened(key+" second", map[bool]string{true: "0", false: "1"}[applied])
		}
	}},
	{name: "CompleteWith: a completion after an unknown outcome writes the same effects", check: func(h *harness) {
		over := &atomic.Bool{}
		c := h.claim(h.storeOn(h.intercepted(from(2, loseRequest, over.Load))), "k")
		h.is(c.CompleteWith(h.shortly(), nil, effects(h.count("a"))), idemddb.ErrUncommitted)
		over.Store(true)
		h.must(c.Complete(h.Context(), nil))
		h.happened("a", "1")
	}},
	{name: "CompleteWith: Refused says what a refused effect means, for each of several calls of Stage", check: func(h *harness) {
		for name, want := range map[string]error{"retry": errReset, "final": permanent{errReset}, "none": nil} {
			work := h.begin(h.store(), name)
			c := work.Claim()
			h.stage(c, effects(h.count(name)))
			h.stage(c, idemddb.Effects{
				Items:   []types.TransactWriteItem{h.count(name + " 2"), h.taken(name + " 3")},
				Refused: func(e *idemddb.EffectError) error { h.equal("Index", e.Index, 2); return want },
			})
			h.stage(c, idemddb.Effects{Items: []types.TransactWriteItem{h.count(name + " 4")}, Refused: func(*idemddb.EffectError) error {
				h.Error("another item's Refused is asked")

				return nil
			}})

			e := work.Settle(h.Context(), nil, nil)
			h.equal(name+": Unknown", e.Unknown, false)

			if want == nil {
				want = as[*idemddb.EffectError](h, e.Err)
			}

			h.equal(name+": Err", e.Err, want)
			h.equal(name+": st", h.item(name)["st"], str(map[string]string{"final": "FAILED"}[name]+map[bool]string{true: "INPROGRESS"}[name != "final"]))
			h.happened(name, "0")
		}
	}},
	{name: "CompleteWith: after a refused effect with an unknown try the settlement decides", check: func(h *harness) {
		for _, final := range []bool{false, true} {
			for _, arrives := range []string{"before the settlement", "after it"} {
				key := arrives + map[bool]string{true: ", final"}[final]
				late := &lateRequest{}
				e := h.intercepted(func(n int64, send func() error) error {
					switch n {
					case 2:
						return late.hold(send)
					case 3:
						return cancelled("None", "ConditionalCheckFailed")(send)
					default:
						return send()
					}
				})
				e.withoutTokens = true
				work := h.begin(h.storeOn(e), key)
				h.stage(work.Claim(), idemddb.Effects{Items: []types.TransactWriteItem{h.count(key)}, Refused: func(effect *idemddb.EffectError) error {
					h.equal("Unknown", effect.Unknown, true)

					if arrives == "before the settlement" {
						late.arrive(h)
					}

					return map[bool]error{true: permanent{errReset}, false: errReset}[final]
				}})

				ending := work.Settle(h.Context(), nil, nil)
				h.equal(key+": Unknown", ending.Unknown, false)
				h.unchanged(key, func() { late.arrive(h) })

				h.equal(key+": done", ending.Err == nil, arrives == "before the settlement")
				h.happened(key, map[bool]string{true: "1", false: "0"}[ending.Err == nil])
			}
		}
	}},
	{name: "CompleteWith: a result over the limit is committed without it", check: func(h *harness) {
		c := h.claim(h.store(), "k")
		h.is(c.CompleteWith(h.Context(), []byte(strings.Repeat("x", 6_500_000)), effects(h.count("a"))), idemddb.ErrTooLarge)
		h.happened("a", "1")
		h.isOmitted(h.replay(h.store(), "k"))
	}},
	{name: "CompleteWith: a transaction that arrives late changes nothing", check: func(h *harness) {
		for after, then := range map[string]func(c *idemddb.Claim){
			"the release":          func(c *idemddb.Claim) { h.edit(c.Key(), attributes{"lease": num(0)}) },
			"the takeover":         func(c *idemddb.Claim) { h.endLease(); h.claim(h.store(), c.Key()) },
			"a takeover's release": func(c *idemddb.Claim) { h.endLease(); released(h, h.claim(h.store(), c.Key())) },
			"another's completion": func(c *idemddb.Claim) { h.endLease(); completed(h, h.claim(h.store(), c.Key())) },
			"Fail":                 func(c *idemddb.Claim) { h.must(c.Fail(h.Context(), nil)) },
			"another CompleteWith": func(c *idemddb.Claim) { h.must(c.CompleteWith(h.Context(), nil, effects(h.count("x")))) },
			"its deletion":         func(c *idemddb.Claim) { h.drop(c.Key()) },
			"a give-up by NoTakeover": func(c *idemddb.Claim) {
				h.endLease()

				_, _, err := h.store(noTakeover).Claim(h.Context(), c.Key(), nil)
				h.is(err, idemddb.ErrFailed)
			},
		} {
			late, outage := &lateRequest{}, &atomic.Bool{}
			e := h.intercepted(late.neverAnswered(outage))
			e.withoutTokens = true
			c := h.claim(h.storeOn(e), after)

			outage.Store(true)
			h.is(c.CompleteWith(h.shortly(), nil, effects(h.count(after))), idemddb.ErrUncommitted)
			outage.Store(false)
			then(c)
			h.unchanged(after, func() { late.arrive(h) })
			h.happened(after, "0")
		}
	}},
	{name: "CompleteWith: a transaction that arrives late before all else is what happened", check: func(h *harness) {
		late, outage := &lateRequest{}, &atomic.Bool{}
		c := h.claim(h.storeOn(h.intercepted(late.neverAnswered(outage))), "k")

		outage.Store(true)
		h.is(c.CompleteWith(h.shortly(), []byte("paid"), effects(h.count("a"))), idemddb.ErrUncommitted)
		outage.Store(false)
		late.arrive(h)
		h.happened("a", "1")
		h.equal("Result", string(h.replay(h.store(), "k").Result), "paid")
		h.endLease()
		h.unchanged("k", func() { h.replay(h.store(), "k") })
	}},
}
