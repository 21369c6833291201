package contract

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
)

// This file holds what the cases of effects share.

// count is an effect that shows how often it has happened.
func (h *harness) count(name string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &h.table, Key: h.key("effect " + name), UpdateExpression: new("ADD n :one"),
		ExpressionAttributeValues: attributes{":one": num(1)},
	}}
}

// once is an effect whose condition is false if it has happened.
func (h *harness) once(name string) types.TransactWriteItem {
	it := h.count(name)
	it.Update.ConditionExpression = new("attribute_not_exists(n)")

	return it
}

// taken makes the condition of once false.
func (h *harness) taken(name string) types.TransactWriteItem {
	h.Helper()

	_, _, err := h.commit(h.store(), "taken "+name, idemddb.Effects{Items: []types.TransactWriteItem{h.count(name)}})
	h.must(err)

	return h.once(name)
}

// effects are items without messages.
func effects(items ...types.TransactWriteItem) idemddb.Effects { return idemddb.Effects{Items: items} }

// happened demands how often an effect has happened. It can be called on any goroutine.
func (h *harness) happened(name string, want string) {
	h.Helper()

	got := "0"
	if n, ok := h.item("effect " + name)["n"].(*types.AttributeValueMemberN); ok {
		got = n.Value
	}

	if got != want {
		h.Errorf("effect %s happened %s times, want %s", name, got, want)
	}
}

// commit commits a key without a fingerprint. isOwn reports whether this call completed it.
func (h *harness) commit(s *idemddb.Store, key string, e idemddb.Effects) (isOwn bool, rec *idemddb.Record, err error) {
	rec, err = s.Commit(h.Context(), key, nil, []byte("paid"), e)

	return rec == nil && err == nil, rec, err
}

// committed demands that a commit is accepted.
func (h *harness) committed(s *idemddb.Store, key string, e idemddb.Effects) {
	h.Helper()

	if ok, rec, err := h.commit(s, key, e); !ok {
		h.Fatalf("commit: got record %v, error %v", rec, err)
	}
}

// stage stages effects for a claim.
func (h *harness) stage(c *idemddb.Claim, e idemddb.Effects) {
	h.Helper()
	h.must(idemddb.Stage(h.work(c), e))
}

// begin claims a key for its work.
func (h *harness) begin(s *idemddb.Store, key string) *idemddb.Work {
	h.Helper()

	work, e := s.Begin(h.Context(), key, nil)
	if work == nil {
		h.Fatalf("got %+v, want work", e)
	}

	return work
}

// work is the context of a claim's work.
func (h *harness) work(c *idemddb.Claim) context.Context {
	h.Helper()

	work, stop := c.Keep(h.Context())
	h.Cleanup(stop)

	return work
}

// cancelled is the answer to a transaction that is cancelled for these reasons.
func cancelled(codes ...string) fault {
	return func(func() error) error {
		reasons := make([]types.CancellationReason, len(codes))
		for i, code := range codes {
			reasons[i] = types.CancellationReason{Code: new(code), Message: new("as the test says")}
		}

		return &types.TransactionCanceledException{Message: new("as the test says"), CancellationReasons: reasons}
	}
}

// answers returns a fault: the error of the service with this code, for a request that is not sent.
func answers(code string) fault {
	return func(func() error) error { return &smithy.GenericAPIError{Code: code, Message: "as the test says"} }
}

// from has the fault happen to the nth request and all later ones, until it is over.
func from(n int64, f fault, isOver func() bool) onRequest {
	return func(at int64, send func() error) error {
		if at >= n && !isOver() {
			return f(send)
		}

		return send()
	}
}

// permanent is an error that no retry mends.
type permanent struct{ error }

func (permanent) Permanent() bool { return true }

const aDay = 24 * time.Hour

// resultOf is the result of a record; "" also for none.
func resultOf(rec *idemddb.Record) string {
	if rec == nil {
		return ""
	}

	return string(rec.Result)
}

// textOf returns an attribute of a record, "" if it has no such string.
func (h *harness) textOf(key, name string) string {
	h.Helper()

	if s, ok := h.item(key)[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}

	return ""
}

// token is the client request token of the transaction with this index; "" if there is none.
func (e *interceptor) token(i int) string {
	if sent := e.sent(); i < len(sent) {
		return sent[i].token
	}

	return ""
}
