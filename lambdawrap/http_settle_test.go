package lambdawrap_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// elsewhere claims the key of the caller c-1 as another worker does.
func (w *web) elsewhere(key string) *idemddb.Claim {
	w.Helper()

	return w.heldElsewhere(`#["c-1","`+key+`"]`, 0)
}

func TestHTTPAKeyInProgressIsAnsweredWithTheRestOfItsLease(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.elsewhere("k")
		time.Sleep(10*time.Second + time.Millisecond)

		got := w.post("k", "{}")
		w.equal("Retry-After", got.Header.Get("Retry-After"), "22") // the rest of 30 s, and twice the difference of the clocks
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webBubble(t, nil, func(w *web) {
				w.opts.Wait = test.wait
				begun := time.Now()
				first := make(chan struct{})
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					close(first)
					time.Sleep(2 * time.Second)
					created(rw, r)
				}

				done := make(chan struct{})

				go func() {
					defer close(done)
					w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
				}()

				<-first

				change := header("A", "1")
				if test.limit > 0 {
					change = deadline(test.limit)
				}

				got := w.post("k", "{}", change)
				took := time.Since(begun)

				if test.want < 2*time.Second {
					w.refused(got, http.StatusConflict, "key-in-progress")
					w.equal("Retry-After", got.Header.Get("Retry-After") > "2", true)
				} else {
					w.answered(got, http.StatusCreated, "true", `{"id":"p-1"}`)
				}

				if took < test.want || took > test.want+time.Second {
					w.Errorf("it took %v, want %v", took, test.want)
				}

				<-done
				w.runs(1)
			})
		})
	}
}

func TestHTTPAPanicGoesOnAndReleasesTheKey(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
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
		ended := make(chan struct{})

		go func() {
			defer close(ended)
			w.post("k", "{}")
		}()

		<-ended
		w.equal("state", w.recordState("k"), "INPROGRESS released")

		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("attempts", w.attempts(`#["c-1","k"]`), "5")
	})
}

func TestHTTPAPanicOfKeepReleasesTheKey(t *testing.T) {
	t.Parallel()

	w := newWeb(t, nil)
	w.opts.Keep = func(int) bool { panic("text") }
	w.equal("the panic goes on", panicOf(func() { w.post("k", "{}") }), any("text"))
	w.equal("state", w.recordState("k"), "INPROGRESS released")
}

func TestHTTPAClientThatLeavesCancelsNothing(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
		ctx, leave := context.WithCancel(w.Context())
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			leave()
			time.Sleep(time.Minute) // longer than its lease
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWebs(t, nil, func(w *web) {
				w.opts.Reserve, w.opts.Timeout = test.opts.Reserve, test.opts.Timeout
				begun := time.Now()
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					w.equal("the context ends after", time.Since(begun), test.want)
					stagingHandler(nil)(rw, r)
				}

				change := header("A", "1")
				if test.limit > 0 {
					change = deadline(test.limit)
				}

				w.answered(w.post("k", "{}", change), http.StatusCreated, "false", `{"id":"p-1"}`)
				w.equal("state", w.recordState("k"), "COMPLETED")
			})
		})
	}
}

func TestHTTPWithoutTimeNothingRuns(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
		got := w.post("k", "{}", deadline(999*time.Millisecond))
		w.equal("Retry-After", got.Header.Get("Retry-After"), "1")
		w.refused(got, http.StatusServiceUnavailable, "unavailable")
		w.runs(0)
		w.equal("held", w.held(), 0)
	})
}

func TestHTTPWhatATakenOverHandlerAnswers(t *testing.T) {
	t.Parallel()

	other := "HTTP/1.1 202 Accepted\r\nIdempotent-Replayed: true\r\n\r\nthe other's"

	for name, test := range map[string]struct {
		settle       func(w *web, other *idemddb.Claim) error
		work         http.HandlerFunc
		status       int
		replayed     string
		body, refuse string
	}{
		"the other completed": {func(w *web, c *idemddb.Claim) error { return c.Complete(w.Context(), []byte(other)) }, created, 202, "true", "the other's", ""},
		"the other completed, and this one staged": {
			func(w *web, c *idemddb.Claim) error { return c.Complete(w.Context(), []byte(other)) }, stagingHandler(nil), 202, "true", "the other's", "",
		},
		"the other completed, and this one failed": {
			func(w *web, c *idemddb.Claim) error { return c.Complete(w.Context(), []byte(other)) }, answering(500), 202, "true", "the other's", "",
		},
		"the other still runs":                      {func(*web, *idemddb.Claim) error { return nil }, created, 503, "", "", "unavailable"},
		"the other still runs, and this one staged": {func(*web, *idemddb.Claim) error { return nil }, stagingHandler(nil), 503, "", "", "unavailable"},
		"the other failed for good":                 {func(w *web, c *idemddb.Claim) error { return c.Fail(w.Context(), errBank) }, created, 503, "", "", "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webBubble(t, &idemddb.Options{Now: behind()}, func(w *web) {
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					test.work(rw, r)

					claim := w.elsewhere("k") // its clock says that the lease is over
					w.equal("the other", test.settle(w, claim), nil)
				}

				got := w.post("k", "{}")
				if test.refuse != "" {
					w.refused(got, test.status, test.refuse)
				} else {
					w.answered(got, test.status, test.replayed, test.body)
				}

				w.equal("entries", len(w.db.Items("ledger")), 0)
				w.logs("outcome=fenced")
			})
		})
	}
}

// Another worker finds the lease over, and gives the key up for good.
func TestHTTPAKeyThatAnotherWorkerGaveUp(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		work   http.HandlerFunc
		status int
	}{"nothing staged: the success is the proof": {created, 201}, "staged: nothing was written": {stagingHandler(nil), 422}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webBubble(t, &idemddb.Options{Now: behind()}, func(w *web) {
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					test.work(rw, r)
					_, _, err := w.open(w.db, &idemddb.Options{NoTakeover: true}).Claim(r.Context(), `#["c-1","k"]`, nil)
					w.equal("it is given up", errors.Is(err, idemddb.ErrFailed), true)
				}

				w.equal("status", w.post("k", "{}").StatusCode, test.status)
				w.equal("entries", len(w.db.Items("ledger")), 0)
				w.equal("state", w.recordState("k"), "FAILED")
				w.refused(w.post("k", "{}"), http.StatusUnprocessableEntity, "key-failed")
				w.runs(1)
			})
		})
	}
}

// behind returns a clock that is a minute behind those of other workers.
func behind() func() time.Time { return func() time.Time { return time.Now().Add(-time.Minute) } }

func TestHTTPARecordThatWasDeletedMeanwhile(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		work   http.HandlerFunc
		status int
	}{"nothing staged: the success is the proof": {created, 201}, "staged: nothing was written": {stagingHandler(nil), 503}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webBubble(t, nil, func(w *web) {
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					test.work(rw, r)
					_, err := w.db.DeleteItem(r.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("records"), Key: recordKey(`#["c-1","k"]`)})
					w.equal("DeleteItem", err, nil)
				}

				w.equal("status", w.post("k", "{}").StatusCode, test.status)
				w.equal("entries", len(w.db.Items("ledger")), 0)
				w.logs("outcome=fenced", "level=ERROR")
			})
		})
	}
}

func TestHTTPAKeyIsNewAfterItsRetention(t *testing.T) {
	t.Parallel()
	bothWebs(t, &idemddb.Options{Retention: 2 * time.Hour}, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{}), nil)
			created(rw, r)
		}

		for _, want := range []string{"false", "true", "false", "true"} { // nothing has deleted the record
			w.answered(w.post("k", "{}"), http.StatusCreated, want, `{"id":"p-1"}`)

			if want == "true" {
				time.Sleep(2*time.Hour + time.Second)
			}
		}
	})
}

func TestHTTPAKeyThatFailedForGood(t *testing.T) {
	t.Parallel()

	w := newWeb(t, &idemddb.Options{MaxAttempts: 2})
	w.work = answering(http.StatusBadGateway)

	for range 2 {
		w.answered(w.post("k", "{}"), http.StatusBadGateway, "false", "")
	}

	for range 2 {
		got := w.post("k", "{}")
		w.equal("Retry-After", got.Header.Get("Retry-After"), "")
		w.refused(got, http.StatusUnprocessableEntity, "key-failed")
	}

	w.runs(2)
}

func TestHTTPARefusedConditionIsAConflictOrFinal(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		refused func(*idemddb.EffectError) error
		status  int
		problem string
		state   string
	}{
		"no Refused":     {nil, 409, "condition-failed", "INPROGRESS released"},
		"another error":  {func(*idemddb.EffectError) error { return errBank }, 409, "condition-failed", "INPROGRESS released"},
		"permanent":      {func(e *idemddb.EffectError) error { return lambdawrap.Permanent(errors.Join(errBank, e)) }, 422, "key-failed", "FAILED"},
		"said to be nil": {func(*idemddb.EffectError) error { return nil }, 409, "condition-failed", "INPROGRESS released"},
	} {
		t.Run(name, func(t *testing.T) {
			bothWebs(t, nil, func(w *web) {
				w.book("p-1")

				w.work = stagingHandler(test.refused)
				got := w.post("k", "{}")
				w.equal("Set", got.Header.Get("Location"), "")
				w.refused(got, test.status, test.problem)
				w.equal("state", w.recordState("k"), test.state)
				w.refused(w.post("k", "{}"), test.status, test.problem)
			})
		})
	}
}

func TestHTTPWhenDynamoDBIsAwayNothingRunsUnguarded(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.Throttle, idemddbtest.ServerError, idemddbtest.LostRequest, idemddbtest.AccessDenied} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			webBubble(t, nil, func(w *web) {
				w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })

				got := w.post("k", "{}", deadline(20*time.Second))
				w.equal("Retry-After", got.Header.Get("Retry-After"), "1")
				w.refused(got, http.StatusServiceUnavailable, "unavailable")
				w.runs(0)
				w.logs("outcome=unanswered")
			})
		})
	}
}

func TestHTTPACompletionThatDoesNotGetThrough(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		work       http.HandlerFunc
		optimistic bool
		status     int
		outcome    string
	}{
		"nothing staged: the success is the proof": {created, false, 201, "unrecorded"},
		"staged":             {stagingHandler(nil), false, 503, "uncommitted"},
		"staged, optimistic": {stagingHandler(nil), true, 503, "uncommitted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webBubble(t, nil, func(w *web) {
				w.opts.Optimistic = test.optimistic
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })
					test.work(rw, r)
				}

				begun := time.Now()
				got := w.post("k", "{}", deadline(10*time.Second))
				w.equal("status", got.StatusCode, test.status)
				w.equal("within the time", time.Since(begun) < 10*time.Second, true)
				w.logs("outcome=" + test.outcome)

				// The record decides: the next request runs the handler, and what it stages is written once.
				w.db.Intercept(nil)
				time.Sleep(time.Minute)

				w.work = test.work
				w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
			})
		})
	}
}

// A transaction that arrives after its sender gave up is what the next request finds.
func TestHTTPALateTwinOfACommitAnswersTheNextRequest(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			faults := 0

			w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
				if faults++; faults == 1 {
					return idemddbtest.LateRequest
				}

				return idemddbtest.LostRequest
			})
			stagingHandler(nil)(rw, r)
		}

		w.refused(w.post("k", "{}", deadline(10*time.Second)), http.StatusServiceUnavailable, "unavailable")
		w.db.Intercept(nil)
		w.equal("late", len(w.db.Deliver()), 1)

		w.work = stagingHandler(nil)
		w.answered(w.post("k", "{}"), http.StatusCreated, "true", `{"id":"p-1"}`)
		w.equal("entries", len(w.db.Items("ledger")), 1)
	})
}

// The answer to a transaction was lost, and the next try finds that the condition of an item is false: because the first one wrote it.
func TestHTTPACommitWhoseAnswerWasLostIsDone(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.db.Inject(idemddbtest.LostReply)
			stagingHandler(nil)(rw, r)
		}

		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("entries", len(w.db.Items("ledger")), 1)
	})
}

func TestHTTPAReleaseThatDoesNotGetThroughIsLogged(t *testing.T) {
	t.Parallel()
	webBubble(t, nil, func(w *web) {
		w.work = func(rw http.ResponseWriter, _ *http.Request) {
			w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })
			rw.WriteHeader(http.StatusTooManyRequests)
		}

		w.answered(w.post("k", "{}", deadline(10*time.Second)), http.StatusTooManyRequests, "false", "")
		w.logs("outcome=failed")
	})
}

func TestHTTPARefusedConditionWhoseSettlementIsNotKnownIsNoVerdict(t *testing.T) {
	t.Parallel()

	for name, refused := range map[string]func(*idemddb.EffectError) error{
		"permanent": func(e *idemddb.EffectError) error { return lambdawrap.Permanent(e) }, "not permanent": nil,
	} {
		t.Run(name, func(t *testing.T) {
			bothWebs(t, nil, func(w *web) {
				w.book("p-1")
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					w.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
						if r.Operation == "UpdateItem" {
							return idemddbtest.LostRequest
						}

						return idemddbtest.None
					})
					stagingHandler(refused)(rw, r)
				}

				w.refused(w.post("k", "{}", deadline(10*time.Second)), http.StatusServiceUnavailable, "unavailable")
			})
		})
	}
}

func TestHTTPARecordThatCannotBeReadIsNotReplaced(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
		key := recordKey(`#["c-1","k"]`)
		if _, err := w.db.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: aws.String("records"), Item: key}); err != nil {
			w.Fatal(err)
		}

		w.work = stagingHandler(nil)
		w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
		w.logs("outcome=corrupt", "level=ERROR")
	})
}

func TestHTTPAHandlerMaySettleItsClaimItself(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		settle func(context.Context, *idemddb.Claim) error
		state  string
	}{
		"Release": {func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }, "INPROGRESS released"},
		"Fail":    {func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errBank) }, "FAILED"},
	} {
		w := newWeb(t, nil)
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			claim, _ := idemddb.FromContext(r.Context())
			w.equal(name, test.settle(r.Context(), claim), nil)
			created(rw, r)
		}

		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("state", w.recordState("k"), test.state)
	}
}

func TestHTTPWithoutASweepARequestIsNotDoneBeforeItsMessagesAreSent(t *testing.T) {
	t.Parallel()
	bothWebs(t, &idemddb.Options{Unswept: true}, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{Messages: []idemddb.Message{{To: "nobody", Body: "b"}}}), nil)
			created(rw, r)
		}

		for range 2 {
			w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
		}

		w.logs("outcome=unsent")
		w.equal("state", w.recordState("k"), "COMPLETED")
	})
}

// The other worker has completed the key and may have died before it sent its messages; only the next request would send them.
func TestHTTPWithoutASweepTheOthersAnswerIsNotGivenBeforeItsMessagesAreSent(t *testing.T) {
	t.Parallel()
	webBubble(t, &idemddb.Options{Unswept: true, Now: behind()}, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			message := idemddb.Effects{Messages: []idemddb.Message{{To: "nobody", Body: "b"}}}
			w.equal("the other", w.elsewhere("k").CompleteWith(r.Context(), nil, message), nil)
			created(rw, r)
		}

		w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
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

		handler := w.handler
		w.work = func(rw http.ResponseWriter, r *http.Request) {
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
