package lambdawrap_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestHTTPAKeyInProgressIsAnsweredWithTheRestOfItsLease(t *testing.T) {
	inWebBubble(nil)(t, func(w *web) {
		w.elsewhere("k")
		time.Sleep(10*time.Second + time.Millisecond)

		got := w.post("k", "{}")
		w.equal("Retry-After", got.Header.Get("Retry-After"), "22") // this is the rest of 30 s, and twice the difference of the clocks
		w.refused(got, http.StatusConflict, "key-in-progress")

		time.Sleep(22 * time.Second)
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.runs(1)
		w.logs("outcome=in_progress", "outcome=takeover", `look="idem show --hash sha256:`)
	})
}

func TestHTTPWaitsForAnotherRequestUntilItsEndOrTheReserve(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		wait, limit time.Duration
		want        time.Duration // until the answer
	}{
		"the other is quick":      {10 * time.Second, time.Minute, 2 * time.Second},
		"the wait is too short":   {time.Second, time.Minute, time.Second},
		"the reserve begins":      {10 * time.Second, 2500 * time.Millisecond, 1500 * time.Millisecond},
		"there is no deadline":    {10 * time.Second, 0, 2 * time.Second},
		"it is not to wait":       {0, time.Minute, 0},
		"the other is as quick":   {1999 * time.Millisecond, time.Minute, 1999 * time.Millisecond},
		"the deadline is too far": {10 * time.Second, 24 * time.Hour, 2 * time.Second},
	} {
		each(t, name, inWebBubble(nil), func(w *web) {
			w.opts.Wait = test.wait
			begun := time.Now()
			first := make(chan struct{})
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				close(first)
				time.Sleep(2 * time.Second)
				created(rw, r)
			}

			var running sync.WaitGroup

			running.Go(func() { w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`) })
			<-first

			got := w.post("k", "{}", deadline(test.limit))
			took := time.Since(begun)

			if test.want < 2*time.Second {
				w.refused(got, http.StatusConflict, "key-in-progress")
				w.equal("Retry-After", got.Header.Get("Retry-After") > "2", true)
			} else {
				w.answered(got, http.StatusCreated, "true", `{"id":"p-1"}`)
			}
			w.lasts(took, test.want, test.want+time.Second)

			running.Wait()
			w.runs(1)
		})
	}
}

func TestHTTPAPanicGoesOnAndReleasesTheKey(t *testing.T) {
	bothWebs(t, func(w *web) {
		for _, value := range []any{errBank, http.ErrAbortHandler, "text"} {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				stagingHandler(nil)(rw, r)
				panic(value)
			}
			w.equal("the panic goes on", panicOf(func() { w.post("k", "{}") }) == value, true)
			w.equal("state", w.recordState("k"), "INPROGRESS released")
			w.equal("what was staged is dropped", len(w.db.Items("ledger")), 0)
		}

		w.work = func(http.ResponseWriter, *http.Request) { goexit() }

		var running sync.WaitGroup

		running.Go(func() { w.post("k", "{}") })
		running.Wait()
		w.equal("state", w.recordState("k"), "INPROGRESS released")

		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("attempts", w.attempts(`#["c-1","k"]`), "5")
	})
}

// Nothing of the answer is stored before that.
func TestHTTPAnAnswerThatPanicsReleasesTheKey(t *testing.T) {
	t.Parallel()

	for want, set := range map[string]func(*web){
		"invalid WriteHeader code 0": func(w *web) { w.work = answering(0) },
		"text":                       func(w *web) { w.opts.Keep = func(int) bool { panic("text") } },
	} {
		w := newWeb(t, nil)
		set(w)
		w.equal("the panic goes on", panicOf(func() { w.post("k", "{}") }), any(want))
		w.equal("state", w.recordState("k"), "INPROGRESS released")
	}
}

// The server recovers, and on one without deadlines the claim would be renewed for ever.
func TestHTTPAPanicOfTheLoggerLeavesNoKeyClaimed(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		body  string
		since time.Duration // another worker died
		state string
	}{
		"when the answer does not fit": {strings.Repeat("b", 6_500_000), 0, "COMPLETED"},
		"at a takeover":                {"", time.Minute, "INPROGRESS released"},
	} {
		each(t, name, inWebBubble(nil), func(w *web) {
			w.work = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, test.body) }
			w.opts.Logger = panicking()

			if test.since > 0 {
				w.elsewhere("k")
				time.Sleep(test.since)
			}

			w.equal("the panic goes on", panicOf(func() { w.post("k", "{}") }), any("logger"))
			w.equal("state", w.recordState("k"), test.state)
		})
	}
}

func TestHTTPAClientThatLeavesCancelsNothing(t *testing.T) {
	bothWebs(t, func(w *web) {
		ctx, leave := context.WithCancel(w.Context())
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			leave()
			time.Sleep(time.Minute) // the handler takes longer than its lease
			w.equal("the context", r.Context().Err(), nil)
			stagingHandler(nil)(rw, r)
		}

		w.post("k", "{}", func(r *http.Request) { *r = *r.WithContext(ctx) })

		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "true", `{"id":"p-1"}`)
		w.equal("entries", len(w.db.Items("ledger")), 1)
	})
}

func TestHTTPTheHandlersContextEndsBeforeTheDeadlineAndItsAnswerCounts(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		opts  lambdawrap.HTTPOptions
		limit time.Duration
		want  time.Duration // when the handler's context ends
	}{
		"the reserve by default": {lambdawrap.HTTPOptions{}, 10 * time.Second, 9 * time.Second},
		"a reserve":              {lambdawrap.HTTPOptions{Reserve: 4 * time.Second}, 10 * time.Second, 6 * time.Second},
		"a time-out":             {lambdawrap.HTTPOptions{Timeout: 2 * time.Second}, 10 * time.Second, 2 * time.Second},
		"no deadline":            {lambdawrap.HTTPOptions{Timeout: 2 * time.Second, Reserve: time.Minute}, 0, 2 * time.Second},
	} {
		each(t, name, bothWebs, func(w *web) {
			w.opts.Reserve, w.opts.Timeout = test.opts.Reserve, test.opts.Timeout
			begun := time.Now()
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				w.equal("the context ends after", time.Since(begun), test.want)
				stagingHandler(nil)(rw, r)
			}

			w.answered(w.post("k", "{}", deadline(test.limit)), http.StatusCreated, "false", `{"id":"p-1"}`)
			w.equal("state", w.recordState("k"), "COMPLETED")
		})
	}
}

func TestHTTPWithoutTimeNothingRuns(t *testing.T) {
	bothWebs(t, func(w *web) {
		got := w.post("k", "{}", deadline(999*time.Millisecond))
		w.equal("Retry-After", got.Header.Get("Retry-After"), "1")
		w.refused(got, http.StatusServiceUnavailable, "unavailable")
		w.runs(0)
		w.equal("held", w.held(), 0)
		w.logs("outcome=no_time")
		w.equal("requests and claims that DynamoDB did not answer", []int{len(w.db.Requests()), w.count(idemddb.KindUnanswered)}, []int{0, 0})
	})
}

func TestHTTPAClaimThatComesTooLateIsGivenBackUnused(t *testing.T) {
	slow := func(context.Context, idemddb.Event) { time.Sleep(10 * time.Millisecond) }

	inWebBubble(&idemddb.Options{Observe: slow})(t, func(w *web) {
		w.refused(w.post("k", "{}", deadline(1005*time.Millisecond)), http.StatusServiceUnavailable, "unavailable")
		w.runs(0)
		w.equal("held", w.held(), 0)
		w.equal("attempts", w.attempts(`#["c-1","k"]`), "0")

		w.db.Intercept(faultFor(w.isSettlement, idemddbtest.AccessDenied))
		w.refused(w.post("k", "{}", deadline(1005*time.Millisecond)), http.StatusServiceUnavailable, "unavailable")
		w.logs("outcome=no_time", "release of key")
	})
}

// TestHTTPSwitchedOff sets the environment, so it does not run in parallel.
func TestHTTPSwitchedOff(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	for _, optimistic := range []bool{false, true} {
		w := newWeb(t, nil)
		w.opts.Optimistic = optimistic
		w.opts.Required, w.opts.MaxBody = true, 1
		w.opts.Caller = func(*http.Request) (string, error) { panic("asked for a caller") }

		handler, keys := w.handler, map[string]bool{"": true}
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			claim, _ := idemddb.FromContext(r.Context())
			w.equal("another request has the key, too", keys[claim.Key()], false)
			keys[claim.Key()] = true

			body, err := io.ReadAll(r.Body)
			w.equal("body", []any{string(body), err}, []any{"{}", nil})
			created(rw, r)
		}

		for _, key := range []string{"k", "k", "", "a, b"} {
			w.answered(w.post(key, "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		}

		w.runs(4)
		w.equal("requests", len(w.db.Requests()), 0)

		w.log.Reset()
		handler()
		w.equal("warnings", strings.Count(w.log.String(), "IDEMDDB_DISABLED"), 1)

		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.refused(w.post("k", "{}"), http.StatusConflict, "condition-failed")
		w.equal("entries, records", []int{len(w.db.Items("ledger")), len(w.db.Items("records"))}, []int{1, 0})
	}
}

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
		each(t, name, inWebBubble(nil), func(w *web) {
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
	}
}

// DynamoDB does not answer for a while after the claim has ended.
func TestHTTPOptimisticACommitHasItsTimeBesideTheWaitForAClaim(t *testing.T) {
	inWebBubble(nil)(t, func(w *web) {
		w.opts.Optimistic, w.opts.Wait = true, 20*time.Second
		w.work = stagingHandler(nil)
		claim := w.elsewhere("k")
		isLost := atomic.Bool{}

		w.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return isLost.Load() && isTransaction(r) }, idemddbtest.LostRequest))

		time.AfterFunc(10*time.Second, func() {
			isLost.Store(true)
			claim.Release(w.Context(), nil)
		})
		time.AfterFunc(14*time.Second, func() { isLost.Store(false) })
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

		w.db.Intercept(faultFor(func(idemddbtest.Request) bool { return time.Since(begun) <= 20*time.Second }, idemddbtest.LostRequest))
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("entries", len(w.db.Items("ledger")), 1)
	})
}

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
	inWebBubble(nil)(t, func(w *web) {
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
	inWebBubble(nil)(t, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.refused(w.post("k", "{}"), http.StatusConflict, "key-in-progress")
			w.equal("Retry-After", w.post("k", "{}").Header.Get("Retry-After"), "8") // 5 s, with what clocks may differ by
			stagingHandler(nil)(rw, r)
		}

		invoked := func(r *http.Request) {
			*r = *r.WithContext(inLambda(r.Context(), "r-1"))
		}
		w.answered(w.post("k", "{}", invoked, deadline(5*time.Second)), http.StatusCreated, "false", `{"id":"p-1"}`)
	})
}
