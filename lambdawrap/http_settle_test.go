package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// elsewhere claims the key of the caller c-1 as another worker does.
func (w *web) elsewhere(key string) *idemddb.Claim {
	w.Helper()

	return w.heldElsewhere(`#["c-1","`+key+`"]`, 0)
}

func TestHTTPWhatATakenOverHandlerAnswers(t *testing.T) {
	t.Parallel()

	answer := "HTTP/1.1 202 Accepted\r\nIdempotent-Replayed: true\r\n\r\nthe other's"
	completes := func(c *idemddb.Claim) error { return c.Complete(context.Background(), []byte(answer)) }
	fails := func(c *idemddb.Claim) error { return c.Fail(context.Background(), errBank) }
	runs := func(*idemddb.Claim) error { return nil }
	stagesWrongly := func(rw http.ResponseWriter, r *http.Request) {
		item := entry("p-1")
		item.Put.TableName = aws.String("missing")
		_ = idemddb.Stage(r.Context(), idemddb.Effects{Items: []types.TransactWriteItem{item}})

		created(rw, r)
	}

	for name, test := range map[string]struct {
		other    func(*idemddb.Claim) error
		work     http.HandlerFunc
		isOthers bool // the answer is that of the other
	}{
		"the other completed":                                              {completes, created, true},
		"the other completed, and this one staged":                         {completes, stagingHandler(nil), true},
		"the other completed, and this one failed":                         {completes, answering(500), true},
		"the other still runs":                                             {runs, created, false},
		"the other still runs, and this one staged":                        {runs, stagingHandler(nil), false},
		"the other still runs, and this one staged what cannot be written": {runs, stagesWrongly, false},
		"the other failed for good":                                        {fails, created, false},
	} {
		each(t, name, inWebBubble(&idemddb.Options{Now: behind()}), func(w *web) {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				test.work(rw, r)
				w.equal("the other", test.other(w.elsewhere("k")), nil) // the clock of this worker says that the lease is over
			}

			if got := w.post("k", "{}"); test.isOthers {
				w.answered(got, http.StatusAccepted, "true", "the other's")
			} else {
				w.refused(got, http.StatusServiceUnavailable, "unavailable")
			}

			w.equal("entries", len(w.db.Items("ledger")), 0)
			w.logs("outcome=fenced")
		})
	}
}

// Another worker finds the lease over and gives the key up for good, or the record is deleted.
func TestHTTPAKeyThatAnotherWorkerGaveUp(t *testing.T) {
	t.Parallel()

	givenUp := func(w *web) {
		_, _, err := w.open(w.db, &idemddb.Options{NoTakeover: true}).Claim(w.Context(), `#["c-1","k"]`, nil)
		w.equal("it is given up", errors.Is(err, idemddb.ErrFailed), true)
	}
	deleted := func(w *web) { w.drop(`#["c-1","k"]`) }

	for name, test := range map[string]struct {
		meanwhile func(*web)
		work      http.HandlerFunc
		status    int
		state     string
	}{
		"given up, nothing staged: the success is the proof": {givenUp, created, 201, "FAILED"},
		"given up, staged: nothing was written":              {givenUp, stagingHandler(nil), 422, "FAILED"},
		"deleted, nothing staged: the success is the proof":  {deleted, created, 201, "none"},
		"deleted, staged: nothing was written":               {deleted, stagingHandler(nil), 503, "none"},
	} {
		each(t, name, inWebBubble(&idemddb.Options{Now: behind()}), func(w *web) {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				test.work(rw, r)
				test.meanwhile(w)
			}

			w.equal("status", w.post("k", "{}").StatusCode, test.status)
			w.equal("entries", len(w.db.Items("ledger")), 0)
			w.equal("state", w.recordState("k"), test.state)

			if test.state == "none" {
				w.logs("outcome=fenced", "level=ERROR")

				return
			}

			w.refused(w.post("k", "{}"), http.StatusUnprocessableEntity, "key-failed")
			w.runs(1)
		})
	}
}

// behind returns a clock that is a minute behind those of other workers.
func behind() func() time.Time { return func() time.Time { return time.Now().Add(-time.Minute) } }

func TestHTTPAKeyIsNewAfterItsRetention(t *testing.T) {
	bothWebsWith(&idemddb.Options{Retention: 2 * time.Hour})(t, func(w *web) {
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
		each(t, name, bothWebs, func(w *web) {
			w.book("p-1")

			w.work = stagingHandler(test.refused)
			got := w.post("k", "{}")
			w.equal("Set", got.Header.Get("Location"), "")
			w.refused(got, test.status, test.problem)
			w.equal("state", w.recordState("k"), test.state)
			w.refused(w.post("k", "{}"), test.status, test.problem)
		})
	}
}

// No client can mend what is wrong with the request that writes the staged items.
func TestHTTPAStagedItemThatDynamoDBRefusesForAnotherReasonIsTheServersMistake(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(*types.Put){
		"access is denied":   nil,
		"no such table":      func(p *types.Put) { p.TableName = aws.String("missing") },
		"a wrong expression": func(p *types.Put) { p.ConditionExpression = aws.String("attribute_not_exists(") },
		"a wrong key":        func(p *types.Put) { p.Item["pk"] = &types.AttributeValueMemberN{Value: "1"} },
	} {
		each(t, name, bothWebs, func(w *web) {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				item := entry("p-1")
				if change != nil {
					change(item.Put)
				} else {
					w.db.Intercept(faultFor(isTransaction, idemddbtest.AccessDenied))
				}

				w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{Items: []types.TransactWriteItem{item}}), nil)
				created(rw, r)
			}

			w.refused(w.post("k", "{}"), http.StatusInternalServerError, "server-error")
			w.logs("outcome=released", "level=ERROR")
			w.equal("state", w.recordState("k"), "INPROGRESS released")
		})
	}
}

// It is the server's mistake if the handler ignores that. An answer of 4xx may say why, and is kept as any other: the client
// reads a no, so it must not find the half that was staged before.
func TestHTTPWhatCannotBeStagedIsLoggedOnceWhateverTheHandlerAnswers(t *testing.T) {
	t.Parallel()

	toNobody := func(ctx context.Context) error {
		return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "nobody knows", Body: "b"}}})
	}

	stages := map[string]func(context.Context) error{ // by what the log says
		`message 0: Message.To: \"nobody knows\"`: toNobody, "item 1: it has 512023 bytes": stageTooMuch,
	}

	for status, want := range map[int]int{201: 500, 400: 400, 422: 422, 500: 500} {
		for text, stage := range stages {
			each(t, fmt.Sprint(status, " after ", text), bothWebs, func(w *web) {
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{Items: []types.TransactWriteItem{entry("debit")}}), nil)
					w.equal("Stage refuses it", errors.Is(stage(r.Context()), idemddb.ErrBadEffects), true)
					rw.WriteHeader(status)
				}

				w.equal("status", w.post("k", "{}").StatusCode, want)
				w.equal("entries", len(w.db.Items("ledger")), 0)
				w.equal("record", w.recordState("k"), map[bool]string{true: "COMPLETED", false: "INPROGRESS released"}[want < 500])
				w.equal("lines", strings.Count(w.log.String(), "\n"), 1)
				w.logs("level=ERROR", text)

				if last := w.observed[len(w.observed)-1]; status == http.StatusCreated {
					w.logs(idemddb.ErrNotStaged.Error())
					w.equal("event", last.Kind, idemddb.KindReleased)
					w.equal("its error", errors.Is(last.Err, idemddb.ErrBadEffects), true)
				}
			})
		}
	}
}

// A client waits no longer for an optimistic commit than for a claim.
func TestHTTPWhenDynamoDBIsAwayNothingRunsUnguarded(t *testing.T) {
	t.Parallel()

	soon := deadline(20 * time.Second)

	for name, test := range map[string]struct {
		fault  idemddbtest.Fault
		change func(*http.Request)
		most   time.Duration // until the answer
	}{
		"throttled":                 {idemddbtest.Throttle, soon, 5 * time.Second},
		"errors of the server":      {idemddbtest.ServerError, soon, 5 * time.Second},
		"denied":                    {idemddbtest.AccessDenied, soon, 5 * time.Second},
		"no answer":                 {idemddbtest.LostRequest, soon, 5 * time.Second},
		"without a deadline":        {idemddbtest.LostRequest, func(*http.Request) {}, 5 * time.Second},
		"a deadline in a minute":    {idemddbtest.LostRequest, deadline(time.Minute), 5 * time.Second},
		"a deadline in two seconds": {idemddbtest.LostRequest, deadline(2 * time.Second), 1750 * time.Millisecond}, // a quarter of the reserve is left
	} {
		each(t, name, bothWebs, func(w *web) {
			if w.opts.Optimistic && test.fault == idemddbtest.AccessDenied {
				return // a commit that is refused is a mistake of the server
			}

			w.work = stagingHandler(nil)
			w.meets(test.fault)

			begun := time.Now()
			got := w.post("k", "{}", test.change)
			w.lasts(time.Since(begun), 0, test.most)
			w.equal("Retry-After", got.Header.Get("Retry-After"), "1")
			w.refused(got, http.StatusServiceUnavailable, "unavailable")

			if !w.opts.Optimistic {
				w.runs(0)
				w.logs("outcome=unanswered")
			}
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
		each(t, name, inWebBubble(nil), func(w *web) {
			w.opts.Optimistic = test.optimistic
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				w.meets(idemddbtest.LostRequest)
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
	}
}

// A transaction that arrives after its sender gave up is what the next request finds.
func TestHTTPALateTwinOfACommitAnswersTheNextRequest(t *testing.T) {
	bothWebs(t, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.meets(idemddbtest.LostRequest)
			w.db.Inject(idemddbtest.LateRequest)
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

func TestHTTPAReleaseThatDoesNotGetThroughIsLogged(t *testing.T) {
	inWebBubble(nil)(t, func(w *web) {
		w.work = func(rw http.ResponseWriter, _ *http.Request) {
			w.meets(idemddbtest.LostRequest)
			rw.WriteHeader(http.StatusTooManyRequests)
		}

		w.answered(w.post("k", "{}", deadline(10*time.Second)), http.StatusTooManyRequests, "false", "")
		w.logs("outcome=released")
	})
}

func TestHTTPARefusedConditionWhoseSettlementIsNotKnownIsNoVerdict(t *testing.T) {
	t.Parallel()

	for name, refused := range map[string]func(*idemddb.EffectError) error{
		"permanent": func(e *idemddb.EffectError) error { return lambdawrap.Permanent(e) }, "not permanent": nil,
	} {
		each(t, name, bothWebs, func(w *web) {
			w.book("p-1")
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				w.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return r.Operation == "UpdateItem" }, idemddbtest.LostRequest))
				stagingHandler(refused)(rw, r)
			}

			w.refused(w.post("k", "{}", deadline(10*time.Second)), http.StatusServiceUnavailable, "unavailable")
		})
	}
}

func TestHTTPARecordThatCannotBeReadIsNotReplaced(t *testing.T) {
	bothWebs(t, func(w *web) {
		w.put(recordKey(`#["c-1","k"]`))
		w.work = stagingHandler(nil)
		w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
		w.logs("outcome=corrupt", "level=ERROR")
	})
}

func TestHTTPWithoutASweepARequestIsNotDoneBeforeItsMessagesAreSent(t *testing.T) {
	bothWebsWith(&broken)(t, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("Stage", announceTwice(r.Context(), events.SQSMessage{}), nil)
			created(rw, r)
		}

		for range 2 {
			w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
		}

		w.logs("level=ERROR", "outcome=unsent", "the sender panicked: no topic", "stack=", "brokenSender.Send")
		w.equal("state", w.recordState("k"), "COMPLETED")
	})
}

// The other worker has completed the key and may have died before it sent its messages; only the next request would send them.
// This one's own answer may be one to keep or not.
func TestHTTPWithoutASweepTheOthersAnswerIsNotGivenBeforeItsMessagesAreSent(t *testing.T) {
	t.Parallel()

	for _, work := range []http.HandlerFunc{created, answering(http.StatusInternalServerError)} {
		webBubble(t, &idemddb.Options{RedeliverUnsent: true, Now: behind()}, func(w *web) {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				message := idemddb.Effects{Messages: []idemddb.Message{{To: "nobody", Body: "b"}}}
				w.equal("the other", w.elsewhere("k").CompleteWith(r.Context(), nil, message), nil)
				work(rw, r)
			}

			w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
		})
	}
}
