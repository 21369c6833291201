package main

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A script that takes 1 for "there is no record" would do the work of a key again that nobody could read.
func TestAKeyWithoutAnAnswerDoesNotHideBehindOneWithoutARecord(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil).Handler()
	n := newNight(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}

		if bytes.Contains(body, []byte("payments#denied")) {
			answer(w, http.StatusBadRequest, map[string]string{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "not authorized"})

			return
		}

		r.Body = io.NopCloser(bytes.NewReader(body))
		db.ServeHTTP(w, r)
	}))

	n.complete("p-9")

	for _, command := range [][]string{{"show"}, {"reopen", "--why", "x", "--yes"}} {
		n.idem(append(command, "p-9", "missing")...)
		n.expect(exitNothing, "no record in namespace")
		n.idem(append(command, "missing", "denied", "p-9")...)
		n.expect(exitError, "AccessDeniedException")
	}
}

// Of several changes one is refused, and of another the answer is lost: that one may be made.
func TestAChangeThatMayBeMadeDoesNotHideBehindOneThatIsRefused(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.complete("done")
	n.fail("failed", "no")
	n.idem("reopen", "done", "--why", "x", "--yes")
	n.expect(exitRefused)
	n.aws.set(func(c *cloud) { c.denied = "UpdateItem" })
	n.idem("reopen", "done", "failed", "--why", "x", "--yes")
	n.expect(exitError, "payments#done: not changed", "payments#failed: perhaps changed, look again")
}
