package contract

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
)

// reasonCases say how the answers to a transaction are read. The answers are the test's own, so that every engine gives all of
// them.
var reasonCases = []testCase{
	{name: "reasons: a transaction is sent again after what says nothing about its items", check: func(h *harness) {
		for name, c := range map[string]struct {
			fault     fault
			sameToken bool
		}{
			"the record is in conflict":                   {cancelled("TransactionConflict", "None", "None"), false},
			"the record is in conflict, an item refused":  {cancelled("TransactionConflict", "ConditionalCheckFailed", "None"), false},
			"the record is throttled, an item not valid":  {cancelled("ThrottlingError", "ValidationError", "None"), false},
			"an item is in conflict":                      {cancelled("None", "None", "TransactionConflict"), false},
			"an item is in conflict, another refused":     {cancelled("None", "ConditionalCheckFailed", "TransactionConflict"), false},
			"an item is throttled":                        {cancelled("None", "ThrottlingError", "None"), false},
			"an item is throttled, another refused":       {cancelled("None", "ProvisionedThroughputExceeded", "ConditionalCheckFailed"), false},
			"a reason that nobody knows":                  {cancelled("None", "None", "SomethingNew"), false},
			"reasons are missing":                         {cancelled(), false},
			"a reason is missing":                         {cancelled("None", "ConditionalCheckFailed"), false},
			"the token belongs to another transaction":    {answers("IdempotentParameterMismatchException"), false},
			"a transaction with the token is in progress": {answers("TransactionInProgressException"), true},
			"throttled":                 {answers("ThrottlingException"), true},
			"over the table's capacity": {answers("ProvisionedThroughputExceededException"), true},
			"a server error":            {answers("InternalServerError"), true},
			"no answer":                 {loseRequest, true},
		} {
			e := h.intercepted(nth(2, c.fault))
			h.must(h.claim(h.storeOn(e), name).CompleteWith(h.Context(), nil, effects(h.count(name), h.count(name+" 2"))))
			h.happened(name, "1")
			h.equal(name+": the same token", e.token(1) == e.token(0), c.sameToken)
			h.equal(name+": tx is the first token", h.item(name)["tx"], str(e.token(0)))
		}
	}},
	{name: "reasons: what is wrong with an item is final, and says which and why", check: func(h *harness) {
		for code, codes := range map[string][]string{
			"ConditionalCheckFailed":          {"None", "None", "ConditionalCheckFailed"},
			"ValidationError":                 {"None", "None", "ValidationError"},
			"ItemCollectionSizeLimitExceeded": {"", "", "ItemCollectionSizeLimitExceeded"},
		} {
			e := h.intercepted(nth(2, cancelled(codes...)))
			c := h.claim(h.storeOn(e), code)

			h.unchanged(code, func() {
				effect := as[*idemddb.EffectError](h, c.CompleteWith(h.Context(), nil, effects(h.count(code), h.count(code+" 2"))))
				h.equal("Index", effect.Index, 1)
				h.equal("Code", effect.Code, code)
				h.equal("Unknown", effect.Unknown, false)
				h.equal("Unwrap", effect.Unwrap(), []error{idemddb.ErrEffectRefused})
				h.equal("transactions", len(e.sent()), 1)
			})
		}
	}},
	{name: "reasons: what is wrong with the record is final, unless another reason may pass", check: func(h *harness) {
		for code, codes := range map[string][]string{
			"ValidationError":                 {"ValidationError", "None"},
			"ItemCollectionSizeLimitExceeded": {"ItemCollectionSizeLimitExceeded", "ConditionalCheckFailed"},
		} {
			e := h.intercepted(nth(2, cancelled(codes...)))
			c := h.claim(h.storeOn(e), code)

			h.unchanged(code, func() {
				effect := as[*idemddb.EffectError](h, c.CompleteWith(h.Context(), nil, effects(h.count(code))))
				h.equal("Index", effect.Index, -1)
				h.equal("Code", effect.Code, code)
				h.equal("transactions", len(e.sent()), 1)
			})
			h.must(c.Complete(h.Context(), nil))
		}

		e := h.intercepted(nth(2, cancelled("ValidationError", "TransactionConflict")))
		h.must(h.claim(h.storeOn(e), "passes").CompleteWith(h.Context(), nil, effects(h.count("passes"))))
		h.happened("passes", "1")
	}},
	{name: "reasons: a record that cannot be written as it would be is not sent again", check: func(h *harness) {
		foreign := attributes{"foreign": str(strings.Repeat("a", 400_000))} // the record would outgrow an item
		result := make([]byte, 20_000)

		e := h.intercepted(nil)
		s := h.storeOn(e)

		c := h.claim(s, "claimed")
		h.edit("claimed", foreign)
		h.unchanged("claimed", func() {
			effect := as[*idemddb.EffectError](h, c.CompleteWith(h.Context(), result, effects(h.count("claimed"))))
			h.equal("Index", effect.Index, -1)
		})

		h.must(h.claim(s, "unclaimed").Release(h.Context(), nil))
		h.edit("unclaimed", foreign)
		h.unchanged("unclaimed", func() {
			_, err := s.Commit(h.Context(), "unclaimed", nil, result, effects(h.count("unclaimed")))
			h.equal("Index", as[*idemddb.EffectError](h, err).Index, -1)
		})
		h.equal("transactions", len(e.sent()), 2)
	}},
	{name: "reasons: a refused effect after a try whose outcome is unknown says so", check: func(h *harness) {
		for name, f := range map[string]fault{
			"no answer": loseRequest, "reasons are missing": cancelled(), "a server error": answers("InternalServerError"),
			"the token belongs to another transaction": answers("IdempotentParameterMismatchException"),
			"an empty answer":                          func(func() error) error { return errEmptyAnswer },
		} {
			e := h.intercepted(nth(2, f))
			refused := h.taken(name)
			effect := as[*idemddb.EffectError](h, h.claim(h.storeOn(e), name).CompleteWith(h.Context(), nil, effects(refused)))
			h.equal(name+": Unknown", effect.Unknown, true)
		}
	}},
	{name: "reasons: the record comes first: what it says is the answer, whatever stands beside it", check: func(h *harness) {
		s := h.store()
		lost := h.claim(s, "k")
		h.endLease()
		h.must(h.claim(s, "k").Complete(h.Context(), []byte("theirs")))

		err := lost.CompleteWith(h.Context(), nil, effects(h.taken("a"), h.count("b")))
		fenced := as[*idemddb.FencedError](h, err)
		h.equal("Record", resultOf(fenced.Record), "theirs")
		h.happened("b", "0")
	}},
	{name: "reasons: a request that DynamoDB refuses as a whole is not done, and the claim is still held", check: func(h *harness) {
		e := h.intercepted(nil)
		c := h.claim(h.storeOn(e), "k")
		broken := h.count("a")
		broken.Update.UpdateExpression = new("ADD n :one,")

		h.unchanged("k", func() {
			err := c.CompleteWith(h.Context(), nil, effects(h.count("b"), broken))
			effect := as[*idemddb.EffectError](h, err)
			h.equal("Index", effect.Index, -1)
			h.equal("Code", effect.Code, "ValidationException")
			h.equal("code of the SDK's error", as[smithy.APIError](h, err).ErrorCode(), effect.Code)
			h.equal("IsDone", isDone(err), false)
			h.equal("transactions", len(e.sent()), 1)
		})
		h.must(c.CompleteWith(h.Context(), nil, effects(h.count("b"))))
		h.happened("b", "1")
	}},
	{name: "reasons: without an answer that proves it nothing is done", check: func(h *harness) {
		e := h.intercepted(from(2, cancelled("None", "TransactionConflict"), func() bool { return false }))
		c := h.claim(h.storeOn(e), "k")
		err := c.CompleteWith(h.shortly(), nil, effects(h.count("a")))
		h.is(err, idemddb.ErrUncommitted)
		h.equal("IsDone", isDone(err), false)
		h.happened("a", "0")
	}},
	{name: "reasons: answers without content are never a commit; the record that an earlier try wrote is", check: func(h *harness) {
		for name, applied := range map[string]bool{"applied": true, "not applied": false} {
			e := h.intercepted(func(n int64, send func() error) error {
				if n == 1 {
					return send()
				}

				if applied {
					if err := send(); err != nil {
						return err
					}
				}

				return errEmptyAnswer
			})
			err := h.claim(h.storeOn(e, func(o *idemddb.Options) { o.Single = true }), name).CompleteWith(h.shortly(), nil, effects(h.count(name)))

			if applied {
				h.must(err)
				h.happened(name, "1")
			} else {
				h.is(err, idemddb.ErrUncommitted)
				h.happened(name, "0")
			}
		}
	}},
	{name: "reasons: a plain write that meets a transaction is sent again", check: func(h *harness) {
		conflict := func(func() error) error { return &types.TransactionConflictException{Message: new("as the test says")} }

		c := h.claim(h.storeOn(h.intercepted(nth(1, conflict))), "claim")
		h.must(c.Release(h.Context(), nil))

		for verb, settle := range h.settlements() {
			h.must(settle(h.claim(h.storeOn(h.intercepted(nth(2, conflict))), verb)))
		}
	}},
}
