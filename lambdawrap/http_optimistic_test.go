package lambdawrap_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The table of docs/http.md is what the engine in memory counts.
func TestHTTPCostsOfARequest(t *testing.T) {
	t.Parallel()

	page := readText(t, "../docs/http.md")

	for name, test := range map[string]struct {
		work       http.HandlerFunc
		optimistic bool
		cache      int
	}{
		"nothing":                               {created, false, 0},
		"one item":                              {stagingHandler(nil), false, 0},
		"one item, with `Optimistic`":           {stagingHandler(nil), true, 0},
		"one item, with a `Cache` in the Store": {stagingHandler(nil), false, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, &idemddb.Options{Cache: test.cache})
			w.opts.Optimistic = test.optimistic
			w.work = test.work

			w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
			requests, units := w.costs()
			w.answered(w.post("k", "{}"), http.StatusCreated, "true", `{"id":"p-1"}`)
			requestsAgain, unitsAgain := w.costs()

			if row := fmt.Sprintf("| %s | %d | %d | %d | %d |", name, requests, units, requestsAgain, unitsAgain); !strings.Contains(page, row) {
				t.Errorf("docs/http.md lacks the row %s", row)
			}
		})
	}
}

func TestHTTPOptimisticAsksTheCacheFirst(t *testing.T) {
	t.Parallel()

	w := newWeb(t, &idemddb.Options{Cache: 10})
	w.opts.Optimistic = true
	w.work = stagingHandler(nil)

	for _, replayed := range []string{"false", "true", "true"} {
		w.answered(w.post("k", "{}"), http.StatusCreated, replayed, `{"id":"p-1"}`)
	}

	w.runs(2) // the replay of a committed record fills the cache
	w.refused(w.post("k", "[]"), http.StatusUnprocessableEntity, "key-reused")
	w.runs(2)
}

func TestHTTPOptimisticAnotherRequestUnderAKeyIsRefused(t *testing.T) {
	t.Parallel()

	w := newWeb(t, nil)
	w.opts.Optimistic = true
	w.work = stagingHandler(nil)
	w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	w.refused(w.post("k", "[]"), http.StatusUnprocessableEntity, "key-reused")

	w.work = answering(http.StatusInternalServerError)
	w.refused(w.post("k", "[]"), http.StatusUnprocessableEntity, "key-reused")
}

func TestHTTPOptimisticDemandsThatSomethingIsStaged(t *testing.T) {
	t.Parallel()

	for _, status := range []int{200, 303} {
		w := newWeb(t, nil)
		w.opts.Optimistic = true
		w.work = answering(status)
		w.refused(w.post("k", "{}"), http.StatusInternalServerError, "server-error")
		w.logs("level=ERROR", idemddb.ErrNotStaged.Error())
		w.equal("state", w.recordState("k"), "INPROGRESS released")
	}

	w := newWeb(t, nil)
	w.opts.Optimistic = true
	w.work = func(rw http.ResponseWriter, r *http.Request) {
		w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{}), nil)

		_, ok := idemddb.FromContext(r.Context())
		w.equal("there is a claim", ok, false)
		created(rw, r)
	}
	w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	w.answered(w.post("k", "{}"), http.StatusCreated, "true", `{"id":"p-1"}`)
}

func TestHTTPOptimisticKeepsARefusalOfTheHandlerWithoutStage(t *testing.T) {
	t.Parallel()

	w := newWeb(t, nil)
	w.opts.Optimistic = true
	w.work = answering(http.StatusUnprocessableEntity)
	w.answered(w.post("k", "{}"), http.StatusUnprocessableEntity, "false", "")
	w.equal("state", w.recordState("k"), "COMPLETED")

	w.work = stagingHandler(nil) // the handler would now answer otherwise
	w.answered(w.post("k", "{}"), http.StatusUnprocessableEntity, "true", "")
	w.equal("entries", len(w.db.Items("ledger")), 0)
}

func TestHTTPOptimisticAnswersThatAreNotKept(t *testing.T) {
	t.Parallel()

	w := newWeb(t, &idemddb.Options{MaxAttempts: 2})
	w.opts.Optimistic = true
	w.work = func(rw http.ResponseWriter, r *http.Request) {
		w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{}), nil)
		rw.WriteHeader(http.StatusBadGateway)
	}

	for range 2 {
		w.answered(w.post("k", "{}"), http.StatusBadGateway, "false", "")
		w.equal("state", w.recordState("k"), "INPROGRESS released")
	}

	w.refused(w.post("k", "{}"), http.StatusUnprocessableEntity, "key-failed")
	w.equal("state", w.recordState("k"), "FAILED")
}

// A duplicate that stumbles over what its own first run has done is a replay.
func TestHTTPOptimisticADuplicateThatFailsGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()

	for name, work := range map[string]http.HandlerFunc{
		"it answers 500":                       answering(http.StatusInternalServerError),
		"it answers 409":                       answering(http.StatusConflict),
		"it stages nothing":                    created,
		"the condition of its item is refused": stagingHandler(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
			w.opts.Optimistic = true
			w.work = stagingHandler(nil)
			w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)

			w.work = work
			w.answered(w.post("k", "{}"), http.StatusCreated, "true", `{"id":"p-1"}`)
			w.equal("entries", len(w.db.Items("ledger")), 1)
		})
	}
}

// Its panic goes on, so the server closes the connection, but the client has the answer.
func TestHTTPOptimisticADuplicateThatPanicsGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func(){
		"it panics":           func() { panic("text") },
		"it ends its routine": goexit,
		"it aborts":           func() { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
			w.opts.Optimistic = true
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				if w.ran.Load() > 1 {
					end()
				}

				stagingHandler(nil)(rw, r)
			}

			for _, replayed := range []string{"false", "true"} {
				got, err := w.roundTrip(request("k", "{}"))
				if err != nil {
					t.Fatal(err)
				}

				w.answered(got, http.StatusCreated, replayed, `{"id":"p-1"}`)
				w.equal("end of the body", got.Body.Close(), nil)
			}

			w.runs(2)
			w.equal("entries", len(w.db.Items("ledger")), 1)
		})
	}
}

func TestHTTPOptimisticMeetsAClaim(t *testing.T) {
	t.Parallel()

	for name, work := range map[string]http.HandlerFunc{"success": stagingHandler(nil), "failure": answering(http.StatusInternalServerError)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webBubble(t, nil, func(w *web) {
				w.opts.Optimistic = true
				w.work = work
				w.elsewhere("k")

				got := w.post("k", "{}")
				w.equal("Retry-After", got.Header.Get("Retry-After"), "33")
				w.refused(got, http.StatusConflict, "key-in-progress")
				w.equal("entries", len(w.db.Items("ledger")), 0)
			})
		})
	}
}

func TestHTTPOptimisticWaitsForAClaim(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.opts.Optimistic, w.opts.Wait = true, 5*time.Second
		w.work = stagingHandler(nil)
		claim := w.elsewhere("k")

		time.AfterFunc(2*time.Second, func() { claim.Release(w.Context(), nil) })
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.runs(1)
	})
}

func TestHTTPOptimisticTwoAtATimeGetOneAnswer(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.opts.Optimistic = true
		answers := make(chan string, 2)
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			stagingHandler(nil)(rw, r)
		}

		for range 2 {
			go func() {
				got := w.post("k", "{}")
				answers <- got.Header.Get("Idempotent-Replayed") + " " + got.Status + " " + read(got)
			}()
		}

		got := map[string]int{<-answers: 1}
		got[<-answers]++
		w.equal("answers", got, map[string]int{`false 201 Created {"id":"p-1"}`: 1, `true 201 Created {"id":"p-1"}`: 1})
		w.runs(2)
		w.equal("entries", len(w.db.Items("ledger")), 1)
	})
}

func TestHTTPOptimisticDemandsALongRetention(t *testing.T) {
	t.Parallel()

	w := newWeb(t, &idemddb.Options{Retention: 10 * time.Minute})
	w.opts.Optimistic = true
	w.work = stagingHandler(nil)
	w.refused(w.post("k", "{}"), http.StatusInternalServerError, "server-error")
	w.logs("Options.Retention", "level=ERROR")
	w.runs(0)
}

func TestHTTPOptimisticATransactionThatNeverArrivesLeavesNothing(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.opts.Optimistic = true
		w.work = stagingHandler(nil)
		w.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return r.Operation == "TransactWriteItems" }, idemddbtest.LostRequest))
		w.refused(w.post("k", "{}", deadline(10*time.Second)), http.StatusServiceUnavailable, "unavailable")
		w.equal("records", len(w.db.Items("records")), 0)

		w.db.Intercept(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	})
}
