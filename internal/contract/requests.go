package contract

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
)

// errInvalid is an answer after which no write is sent again: DynamoDB would never accept it.
var errInvalid = &smithy.GenericAPIError{Code: "ValidationException", Message: "not valid"}

// requestCases say how many requests there are, and which answers are asked for again.
var requestCases = []testCase{
	{name: "requests: first run 2, duplicate 1, takeover 1, retry after a release 1, a record past its retention 2", check: func(h *harness) {
		e := h.intercepted(nil)
		s := h.storeOn(e)
		counted := func(what string, want int64, f func()) {
			e.requests.Store(0)
			f()
			h.equal(what, e.requests.Load(), want)
		}

		counted("first run", 2, func() { h.must(h.claim(s, "k").Complete(h.Context(), nil)) })
		counted("duplicate", 1, func() { h.replay(s, "k") })
		counted("release", 2, func() { h.must(h.claim(s, "r").Release(h.Context(), nil)) })
		counted("retry after a release", 1, func() { h.claim(s, "r") })
		h.endLease()
		counted("takeover", 1, func() { h.claim(s, "r") })
		h.endRetention()
		counted("a record past its retention", 2, func() { h.claim(s, "k") })
	}},
	{name: "a completion that gets seven errors and then works is one completion", check: func(h *harness) {
		errs := map[int64]error{
			2: errReset,
			3: &types.ProvisionedThroughputExceededException{},
			4: &types.TransactionConflictException{},
			5: &types.ReplicatedWriteConflictException{},
			6: &types.InternalServerError{},
			7: &smithy.GenericAPIError{Code: "AccessDeniedException"},
			8: &types.ResourceNotFoundException{},
		}
		e := h.intercepted(func(n int64, send func() error) error {
			if errs[n] != nil {
				return errs[n]
			}

			return send()
		})
		h.must(h.claim(h.storeOn(e), "k").Complete(h.Context(), []byte("done")))
		h.equal("requests", e.requests.Load(), int64(9))
		h.replay(h.store(), "k")
	}},
	{name: "a refusal without its record, and then with it, is a replay", check: func(h *harness) {
		h.must(h.claim(h.store(), "k").Complete(h.Context(), nil))

		refuse := func(func() error) error { return &types.ConditionalCheckFailedException{} }
		h.replay(h.storeOn(h.intercepted(nth(1, refuse))), "k")
	}},
	{name: "a context that ends while there is no answer ends the call with both errors", check: func(h *harness) {
		ctx, cancel := context.WithCancel(h.Context())
		defer cancel()

		e := h.intercepted(func(int64, func() error) error {
			cancel()

			return errReset
		})
		_, _, err := h.storeOn(e).Claim(ctx, "k", nil)
		h.is(err, errReset)
		h.is(err, context.Canceled)
	}},
	{name: "a record without a result stays below 1 KB, so that a write costs 1 WCU", check: func(h *harness) {
		s := h.store()
		key := longKey(200)
		opts := &idemddb.ClaimOptions{Fingerprint: "f"}
		h.claimWith(s, key, opts)
		h.endLease()
		h.must(h.claimWith(s, key, opts).Release(h.Context(), errors.New(longKey(300))))
		h.equal("WCU", h.writeUnits(key), 1.0)
	}},
}
