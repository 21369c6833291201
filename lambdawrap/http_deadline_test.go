package lambdawrap_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// slow returns a handler that ignores its context and creates a payment after 8 s.
func slow(rw http.ResponseWriter, r *http.Request) {
	time.Sleep(8 * time.Second)
	stagingHandler(nil)(rw, r)
}

// On a server, a handler outlives the deadline of a middleware in front, such as http.TimeoutHandler: nothing kills it. Its
// answer is written down all the same.
func TestHTTPAnAnswerAfterTheDeadlineOfAServerIsWrittenDown(t *testing.T) {
	bothWebs(t, func(w *web) {
		w.work = slow
		w.answered(w.post("k", "{}", deadline(5*time.Second)), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("state", w.recordState("k"), "COMPLETED")

		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "true", `{"id":"p-1"}`)
		w.equal("entries", len(w.db.Items("ledger")), 1)
	})
}

// Such a handler keeps its key, so a client that repeats its request after the deadline does not run the work beside it.
func TestHTTPAHandlerKeepsItsKeyBeyondTheDeadlineOfAServer(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.work = slow

		var first sync.WaitGroup

		first.Go(func() {
			w.answered(w.post("k", "{}", deadline(5*time.Second)), http.StatusCreated, "false", `{"id":"p-1"}`)
		})
		time.Sleep(7 * time.Second)
		w.refused(w.post("k", "{}", deadline(5*time.Second)), http.StatusConflict, "key-in-progress")
		first.Wait()
		w.runs(1)
	})
}

// Lambda kills a handler at the deadline of its invocation, so its key is free then.
func TestHTTPALeaseEndsWithTheInvocationOfLambda(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.refused(w.post("k", "{}"), http.StatusConflict, "key-in-progress")
			w.equal("Retry-After", w.post("k", "{}").Header.Get("Retry-After"), "8") // 5 s, with what clocks may differ by
			stagingHandler(nil)(rw, r)
		}

		invoked := func(r *http.Request) {
			*r = *r.WithContext(lambdacontext.NewContext(r.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"}))
		}
		w.answered(w.post("k", "{}", invoked, deadline(5*time.Second)), http.StatusCreated, "false", `{"id":"p-1"}`)
	})
}
