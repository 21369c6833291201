package lambdawrap_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestHTTPAKeyInProgressIsAnsweredWithTheTimeOfTheLastRequests(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		took       []time.Duration
		retryAfter string
	}{
		"the longest of the last counts":  {[]time.Duration{1200 * time.Millisecond, 300 * time.Millisecond}, "2"},
		"less than a second":              {[]time.Duration{300 * time.Millisecond}, "1"},
		"more than the rest of the lease": {[]time.Duration{time.Minute}, "33"},
		"an old one does not count":       {append([]time.Duration{10 * time.Second}, make([]time.Duration, 16)...), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webBubble(t, nil, func(w *web) {
				h := w.handler()

				for i, took := range test.took {
					w.work = func(rw http.ResponseWriter, r *http.Request) {
						time.Sleep(took)
						created(rw, r)
					}
					w.answered(answerOf(h, request(fmt.Sprint("other-", i), "{}")), http.StatusCreated, "false", `{"id":"p-1"}`)
				}

				w.elsewhere("k")

				got := answerOf(h, request("k", "{}"))
				w.equal("Retry-After", got.Header.Get("Retry-After"), test.retryAfter)
				w.refused(got, http.StatusConflict, "key-in-progress")
			})
		})
	}
}

// A client waits no longer for an optimistic commit than for a claim.
func TestHTTPTellsAClientAfterFiveSecondsThatDynamoDBIsAway(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		change func(*http.Request)
		most   time.Duration
	}{
		"without a deadline":        {func(*http.Request) {}, 5 * time.Second},
		"a deadline in a minute":    {deadline(time.Minute), 5 * time.Second},
		"a deadline in two seconds": {deadline(2 * time.Second), 1750 * time.Millisecond}, // a quarter of the reserve is left for the answer
	} {
		t.Run(name, func(t *testing.T) {
			bothWebs(t, nil, func(w *web) {
				w.work = stagingHandler(nil)
				w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

				begun := time.Now()

				w.refused(w.post("k", "{}", test.change), http.StatusServiceUnavailable, "unavailable")

				if took := time.Since(begun); took > test.most {
					w.Errorf("the answer came after %v, want %v", took, test.most)
				}
			})
		})
	}
}

func TestHTTPOptimisticACommitHasItsTimeBesideTheWaitForAClaim(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.opts.Optimistic, w.opts.Wait = true, 20*time.Second
		w.work = stagingHandler(nil)
		claim := w.elsewhere("k")

		time.AfterFunc(10*time.Second, func() { claim.Release(w.Context(), nil) })
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	})
}

// There is no record that could answer the next request, so giving up early could write the effect twice.
func TestHTTPSwitchedOffATransactionIsTriedForALease(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")
	webBubble(t, nil, func(w *web) {
		w.opts.Optimistic = true
		w.work = stagingHandler(nil)
		begun := time.Now()

		w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if time.Since(begun) > 20*time.Second {
				return idemddbtest.None
			}

			return idemddbtest.LostRequest
		})
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("entries", len(w.db.Items("ledger")), 1)
	})
}
