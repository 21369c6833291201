package lambdawrap_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
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
	w := parallelWeb(t)
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
		each(t, name, oneWeb, func(w *web) {
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
		each(t, name, oneWeb, func(w *web) {
			w.opts.Optimistic = true
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				if w.ran.Load() > 1 {
					end()
				}

				stagingHandler(nil)(rw, r)
			}

			for _, replayed := range []string{"false", "true"} {
				got := w.served(request("k", "{}"))
				w.answered(got, http.StatusCreated, replayed, `{"id":"p-1"}`)
				w.equal("end of the body", got.Body.Close(), nil)
			}

			w.opts.OnReplay = refuses
			w.refused(w.served(request("k", "{}")), http.StatusInternalServerError, "server-error")
			w.runs(3)
			w.equal("entries", len(w.db.Items("ledger")), 1)
		})
	}
}
