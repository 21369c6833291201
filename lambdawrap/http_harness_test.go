package lambdawrap_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// web is a handler behind lambdawrap.HTTP, on the table of a harness. Its caller is the user of the request's basic
// authentication.
type web struct {
	*harness

	opts lambdawrap.HTTPOptions
	work http.HandlerFunc // what the handler does
	ran  atomic.Int64
}

// newWeb returns a web whose handler creates a payment.
func newWeb(t testing.TB, opts *idemddb.Options) *web {
	t.Helper()

	h := newHarness(t, opts)
	if _, err := h.db.CreateTable(t.Context(), idemddbtest.CreateTable("ledger", "")); err != nil {
		t.Fatal(err)
	}

	h.db.ResetRequests()

	w := &web{harness: h, work: created}
	w.opts = lambdawrap.HTTPOptions{Logger: h.opts.Logger, Caller: func(r *http.Request) (string, error) {
		user, _, _ := r.BasicAuth()

		return user, nil
	}}

	return w
}

// created answers as an API does that has created something.
func created(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/payments/p-1")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":"p-1"}`)
}

// answering returns a handler that answers with a status and nothing else.
func answering(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// webBubble runs a test in a synctest bubble.
func webBubble(t *testing.T, opts *idemddb.Options, test func(*web)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWeb(t, opts)) })
}

// inWebBubble is webBubble with these options, for each.
func inWebBubble(opts *idemddb.Options) func(*testing.T, func(*web)) {
	return func(t *testing.T, test func(*web)) {
		t.Helper()
		t.Parallel()
		webBubble(t, opts, test)
	}
}

// oneWeb runs a test outside of a bubble.
func oneWeb(t *testing.T, test func(*web)) {
	t.Helper()
	test(parallelWeb(t))
}

// parallelWeb is the web of a test that runs beside others, outside of a bubble.
func parallelWeb(t *testing.T) *web {
	t.Helper()
	t.Parallel()

	return newWeb(t, nil)
}

// bothWebs runs a test with a claim, and Optimistic. The handler's work must stage something.
func bothWebs(t *testing.T, test func(*web)) {
	t.Helper()
	bothWebsWith(nil)(t, test)
}

// bothWebsWith is bothWebs with these options.
func bothWebsWith(opts *idemddb.Options) func(*testing.T, func(*web)) {
	return func(t *testing.T, test func(*web)) {
		t.Helper()
		t.Parallel()

		for name, optimistic := range map[string]bool{"claimed": false, "optimistic": true} {
			each(t, name, inWebBubble(opts), func(w *web) {
				w.opts.Optimistic = optimistic
				test(w)
			})
		}
	}
}

// request is a POST of a payment, as the caller c-1.
func request(key, body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/payments", strings.NewReader(body))
	r.SetBasicAuth("c-1", "secret")

	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}

	for _, f := range change {
		f(r)
	}

	return r
}

// header returns a change of a request that sets a header.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// as returns a change of a request that sends it as another caller.
func as(caller string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(caller, "secret") }
}

// handler is the wrapped handler.
func (w *web) handler() http.Handler {
	return lambdawrap.HTTP(w.store, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.ran.Add(1)
		w.work(rw, r)
	}), &w.opts)
}

// answerOf returns the answer of a handler.
func answerOf(h http.Handler, r *http.Request) *http.Response {
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, r)

	return recorder.Result()
}

// send sends a request to a new process.
func (w *web) send(r *http.Request) *http.Response { return answerOf(w.handler(), r) }

// post sends a payment as the caller c-1.
func (w *web) post(key, body string, change ...func(*http.Request)) *http.Response {
	return w.send(request(key, body, change...))
}

// state returns the state of the record of the caller c-1 and this key.
func (w *web) recordState(key string) string { return w.state(`#["c-1","` + key + `"]`) }

// answered demands an answer, by its status, the value of Idempotent-Replayed, and its body.
func (w *web) answered(got *http.Response, status int, replayed, body string) {
	w.Helper()

	w.equal("status, Idempotent-Replayed and body", []any{got.StatusCode, got.Header.Get("Idempotent-Replayed"), read(got)}, []any{status, replayed, body})
}

// refused demands an answer of the wrapper itself.
func (w *web) refused(got *http.Response, status int, name string) {
	w.Helper()

	var problem struct {
		Type, Title, Detail string
		Status              int
	}

	body := read(got)
	if err := json.Unmarshal([]byte(body), &problem); err != nil {
		w.Errorf("status %d with the body %q, want a problem %s", got.StatusCode, body, name)

		return
	}

	w.equal("status, type and media type", []any{got.StatusCode, problem.Status, problem.Type, got.Header.Get("Content-Type")}, []any{
		status, status, "https://github.com/idemddb/go-idemddb/blob/main/docs/http.md#" + name, "application/problem+json",
	})

	if problem.Title == "" || problem.Detail == "" {
		w.Errorf("title %q, detail %q", problem.Title, problem.Detail)
	}
}

// runs demands that the handler ran so many times.
func (w *web) runs(want int64) {
	w.Helper()
	w.equal("runs", w.ran.Load(), want)
}

func read(r *http.Response) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}

	return string(body)
}

// entry is the item of a payment, which is there once.
func entry(id string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String("ledger"), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: id}},
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}}
}

// stagingHandler returns a handler that stages an item and creates a payment.
func stagingHandler(refused func(*idemddb.EffectError) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := idemddb.Stage(r.Context(), idemddb.Effects{Items: []types.TransactWriteItem{entry("p-1")}, Refused: refused})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)

			return
		}

		created(w, r)
	}
}

// book writes the item of a payment, as another program does.
func (w *web) book(id string) {
	w.Helper()

	store, err := idemddb.New(w.db, "records", "other", nil)
	if err != nil {
		w.Fatal(err)
	}

	if _, err := store.Commit(w.Context(), id, nil, nil, idemddb.Effects{Items: []types.TransactWriteItem{entry(id)}}); err != nil {
		w.Fatal(err)
	}
}

// deadline gives a request so much time; 0 for no deadline.
func deadline(limit time.Duration) func(*http.Request) {
	return func(r *http.Request) {
		if limit == 0 {
			return
		}

		ctx, cancel := context.WithTimeout(r.Context(), limit)
		context.AfterFunc(ctx, cancel)

		*r = *r.WithContext(ctx)
	}
}
