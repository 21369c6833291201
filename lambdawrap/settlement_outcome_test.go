package lambdawrap_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The handler's answer is not one to keep, and its release is fenced by another worker's completion, whose messages are not sent. Without a
// sweep, that worker's answer must not be given before they are.
func TestHTTPWithoutASweepAReleaseThatIsFencedByUnsentMessagesIsNotDone(t *testing.T) {
	t.Parallel()
	webBubble(t, &idemddb.Options{RedeliverUnsent: true, Now: behind()}, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			message := idemddb.Effects{Messages: []idemddb.Message{{To: "nobody", Body: "b"}}}
			w.equal("the other", w.elsewhere("k").CompleteWith(r.Context(), nil, message), nil)
			rw.WriteHeader(http.StatusInternalServerError)
		}

		w.refused(w.post("k", "{}"), http.StatusServiceUnavailable, "unavailable")
	})
}

// The handler has completed its claim itself, and the answer to that was lost. Its own answer needs no result of the record.
func TestHTTPAnAnswerNeedsNoResultOfItsOwnRecord(t *testing.T) {
	t.Parallel()
	webBubble(t, &idemddb.Options{Results: &unreadable{}}, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			c, _ := idemddb.FromContext(r.Context())

			w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostReply })
			w.equal("unrecorded", errors.Is(c.Complete(r.Context(), make([]byte, 40<<10)), idemddb.ErrUnrecorded), true)
			w.db.Intercept(nil)
			created(rw, r)
		}

		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	})
}

func TestAnInvocationWithAnInvalidKeyIsCountedAsOneWithoutAKey(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	m := lambdawrap.NewMetrics(&out, "payments")
	h := newHarness(t, &idemddb.Options{Observe: m.Observe})
	f := lambdawrap.Func(h.store, func(context.Context, string) (string, error) { return "", nil }, &lambdawrap.FuncOptions[string]{
		Key: func(context.Context, string) (string, error) { return "a\xff", nil },
	})

	if _, err := lambdawrap.Measure(m, f)(t.Context(), "x"); !errors.Is(err, idemddb.ErrBadKey) || !strings.Contains(out.String(), `"Permanent":1`) {
		t.Errorf("got error %v and the line %s", err, out.String())
	}
}

// The key is another worker's, so that it could not be ended: the message comes back, and is not one that failed for good.
func TestAPermanentFailureThatIsNotWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		end := &theEnd{}
		h.opts.OnMessage, h.opts.Optimistic = end.hook, true

		function := h.handle(func(context.Context, events.SQSMessage) error {
			h.heldElsewhere("k0", 0)

			return lambdawrap.Permanent(errBank)
		})
		h.expect(function, batch("m0 k0"), []string{"m0"}, []string{"m0"})
		h.equal("outcomes", end.words["m0"], []lambdawrap.Outcome{lambdawrap.OutcomeReleased})
	})
}
