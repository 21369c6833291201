package lambdawrap_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestHTTPKeepsTheAnswersThatAreFinal(t *testing.T) {
	t.Parallel()

	released := map[int]bool{401: true, 403: true, 407: true, 408: true, 409: true, 421: true, 425: true, 429: true}

	for status := http.StatusSwitchingProtocols; status < 600; status++ {
		if isInformational := status == 102 || status == 103; isInformational || http.StatusText(status) == "" {
			continue
		}

		w := newWeb(t, nil)
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{Items: []types.TransactWriteItem{entry("p-1")}}), nil)
			rw.WriteHeader(status)
		}

		isKept := 200 <= status && status < 500 && !released[status]
		w.answered(w.post("k", "{}"), status, "false", "")
		w.equal(fmt.Sprint(status, " is kept"), w.recordState("k"), map[bool]string{true: "COMPLETED", false: "INPROGRESS released"}[isKept])
		w.equal(fmt.Sprint(status, " commits what was staged"), len(w.db.Items("ledger")) == 1, isKept)
		w.answered(w.post("k", "{}"), status, strconv.FormatBool(isKept), "")
		w.equal("the log", w.log.String(), "")
	}
}

func TestHTTPKeepDecidesOtherwise(t *testing.T) {
	w := parallelWeb(t)
	w.opts.Keep = func(status int) bool { return status == http.StatusInternalServerError }
	w.work = answering(http.StatusInternalServerError)
	w.answered(w.post("k-1", "{}"), 500, "false", "")
	w.answered(w.post("k-1", "{}"), 500, "true", "")

	w.work = created
	w.answered(w.post("k-2", "{}"), 201, "false", `{"id":"p-1"}`)
	w.answered(w.post("k-2", "{}"), 201, "false", `{"id":"p-1"}`)
	w.runs(3)
}

func TestHTTPReplaysStatusBodyAndTheHeadersThatALaterCallerMayHave(t *testing.T) {
	t.Parallel()

	const binary = "\x00\xff\r\n\r\nHTTP/1.1 200 OK\r\n"

	kept := http.Header{
		"Content-Type": {"application/octet-stream"}, "Content-Language": {"de", "en"}, "Content-Disposition": {"attachment; filename=\"\xe4\""},
		"Location": {"/payments/p-1"}, "Etag": {`"1"`}, "Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "Link": {"</a>", "</b>"},
		"Cache-Control": {"no-store"}, "Vary": {"Accept", "Origin"},
	}
	first := http.Header{
		"Set-Cookie": {"a=1", "b=2"}, "Www-Authenticate": {"Basic"}, "Date": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "X-Request-Id": {"r-1"},
		"Ratelimit": {"limit=10"}, "Authorization": {"x"}, "Access-Control-Allow-Origin": {"https://a.example"}, "Idempotent-Replayed": {"true"},
	}

	w := newWeb(t, nil)
	w.work = func(rw http.ResponseWriter, _ *http.Request) {
		maps.Copy(rw.Header(), kept)
		maps.Copy(rw.Header(), first)
		rw.Header().Set("Content-Length", "1")
		rw.WriteHeader(http.StatusAccepted)
		rw.Header().Set("Location", "too late")

		for _, part := range []string{binary[:3], binary[3:]} {
			n, err := io.WriteString(rw, part)
			w.equal("written", []any{n, err}, []any{len(part), nil})
		}
	}

	for _, replayed := range []string{"false", "true"} {
		got := w.post("k", "{}")
		w.answered(got, http.StatusAccepted, replayed, binary)

		want := http.Header{}
		if replayed == "false" {
			maps.Copy(want, first)
		}

		maps.Copy(want, kept)
		maps.Copy(want, http.Header{"Content-Length": {strconv.Itoa(len(binary))}, "Idempotent-Replayed": {replayed}})

		same(t, fmt.Sprintf("headers, replayed %s", replayed), got.Header, want)
	}
}

func TestHTTPAnswersWithoutABody(t *testing.T) {
	t.Parallel()

	for _, status := range []int{http.StatusNoContent, http.StatusNotModified} {
		w := newWeb(t, nil)
		w.work = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "1")
			rw.WriteHeader(status)
			_, err := rw.Write([]byte("x"))
			w.equal("a body is refused", errors.Is(err, http.ErrBodyNotAllowed), true)
		}

		for _, replayed := range []string{"false", "true"} {
			got := w.post("k", "{}")
			w.answered(got, status, replayed, "")
			w.equal("Content-Length", got.Header.Values("Content-Length"), []string(nil))
		}
	}
}

func TestHTTPWriterHoldsTheAnswerBack(t *testing.T) {
	w := parallelWeb(t)
	recorder := httptest.NewRecorder()

	w.work = func(rw http.ResponseWriter, _ *http.Request) {
		_, hijacks := rw.(http.Hijacker)
		_, unwraps := rw.(interface{ Unwrap() http.ResponseWriter })
		w.equal("it can be gone past", hijacks || unwraps, false)

		_, _ = io.WriteString(rw, "half")
		w.equal("Flush", http.NewResponseController(rw).Flush(), nil)
		w.equal("sent", []any{recorder.Flushed, recorder.Body.Len()}, []any{false, 0})
		rw.WriteHeader(http.StatusTeapot) // this comes too late, as with any server
	}
	w.handler().ServeHTTP(recorder, request("k", "{}"))
	w.answered(recorder.Result(), http.StatusOK, "false", "half")
	w.answered(w.post("k", "{}"), http.StatusOK, "true", "half")
}

func TestHTTPRefusesTrailers(t *testing.T) {
	t.Parallel()

	for name, work := range map[string]http.HandlerFunc{
		"announced":     func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Trailer", "Digest") },
		"not announced": func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set(http.TrailerPrefix+"Digest", "x") },
	} {
		each(t, name, oneWeb, func(w *web) {
			w.work = work
			w.refused(w.post("k", "{}"), http.StatusInternalServerError, "server-error")
			w.logs("trailers", "level=ERROR")
			w.equal("state", w.recordState("k"), "INPROGRESS released")
		})
	}
}

// onlyWriter is a client that lacks GetItem, so that every result stays in its record.
type onlyWriter struct {
	idemddb.DynamoDB
	idemddb.Batcher
	idemddb.Transactor
}

// What does not fit into the record is kept beside it.
func TestHTTPALargeAnswerIsReplayedWhole(t *testing.T) {
	bothWebs(t, func(w *web) {
		body := strings.Repeat("b", 500_000)
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{Messages: []idemddb.Message{{To: "nobody", Body: body[:400_000]}}}), nil)
			rw.Header().Set("Location", "/1")
			_, _ = io.WriteString(rw, body)
		}

		for _, replayed := range []string{"false", "true"} {
			got := w.post("k", "{}")
			w.equal("headers", []string{got.Header.Get("Idempotent-Replayed"), got.Header.Get("Location")}, []string{replayed, "/1"})
			w.equal("body", read(got) == body, true)
		}
	})
}

func TestHTTPAnswersThatDoNotFitIntoTheRecord(t *testing.T) {
	t.Parallel()

	big := strings.Repeat("b", 500_000)

	for name, test := range map[string]struct {
		header   http.Header
		messages int    // bytes of them
		body     string // of the first answer
		replayed string
		kept     string // of the body
		want     http.Header
	}{
		"a body that fits": {http.Header{"Location": {"/1"}}, 0, big[:390_000], "true", big[:390_000], http.Header{"Location": {"/1"}}},
		"a body over the limit": {
			http.Header{"Location": {"/1"}, "Etag": {"1"}}, 0, big, "body-omitted", "", http.Header{"Location": {"/1"}, "Etag": {"1"}},
		},
		"a body beside messages": {http.Header{"Etag": {"1"}}, 300_000, big[:200_000], "body-omitted", "", http.Header{"Etag": {"1"}}},
		"headers over 8 KB": {
			http.Header{"Location": {"/1"}, "Link": {big[:8167]}}, 0, "b", "true", "b", http.Header{"Location": {"/1"}},
		},
		"headers below 8 KB": {http.Header{"Link": {big[:8166]}}, 0, "b", "true", "b", http.Header{"Link": {big[:8166]}}},
		"headers and a body beside messages": {
			http.Header{"Location": {"/1"}, "Link": {big[:8000]}}, 400_800, big[:8000], "body-omitted", "", http.Header{"Location": {"/1"}},
		},
	} {
		each(t, name, oneWeb, func(w *web) {
			w.store = w.open(onlyWriter{w.db, w.db, w.db}, nil)
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				if test.messages > 0 {
					message := idemddb.Message{To: "nobody", Body: big[:test.messages]}
					w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{Messages: []idemddb.Message{message}}), nil)
				}

				rw.Header().Set("Content-Type", "text/plain")
				maps.Copy(rw.Header(), test.header)
				_, _ = io.WriteString(rw, test.body)
			}

			got := w.post("k", "{}")
			w.equal("status", got.StatusCode, http.StatusOK)
			w.equal("the first has its body", read(got) == test.body, true)

			got = w.post("k", "{}")
			w.equal("status and replay", []any{got.StatusCode, got.Header.Get("Idempotent-Replayed")}, []any{http.StatusOK, test.replayed})
			w.equal("the replay has the body that is kept", read(got) == test.kept, true)
			w.equal("it is logged", strings.Contains(w.log.String(), "does not fit"), test.replayed == "body-omitted")

			for _, name := range []string{"Content-Length", "Content-Type", "Idempotent-Replayed"} {
				got.Header.Del(name)
			}

			w.equal("headers", got.Header, test.want)

			w.runs(1)
		})
	}
}

// The format of a stored answer outlives a deployment.
func TestHTTPStoredAnswerKeepsItsFormat(t *testing.T) {
	w := parallelWeb(t)
	w.post("k", "{}")

	result, _ := w.db.Item("records", recordKey(`#["c-1","k"]`))["res"].(*types.AttributeValueMemberB)
	if result == nil {
		t.Fatal("no result")
	}

	w.equal("result", string(result.Value), "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nIdempotent-Replayed: true\r\n"+
		"Location: /payments/p-1\r\n\r\n{\"id\":\"p-1\"}")
}

// lostResults keeps nothing, or keeps results and loses them.
type lostResults struct{ refused error }

func (l lostResults) Put(context.Context, string, []byte) error { return l.refused }

func (lostResults) Get(context.Context, string) ([]byte, error) { return nil, idemddb.ErrResultOmitted }

// The status is lost with the body, and it may have been one of a refusal.
func TestHTTPAnswersThatAreLostAreNotReplayedAsSuccess(t *testing.T) {
	t.Parallel()

	for name, results := range map[string]lostResults{"refused": {errors.New("no bucket")}, "lost": {nil}} {
		each(t, name, bothWebsWith(&idemddb.Options{Results: results}), func(w *web) {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{}), nil)
				rw.WriteHeader(http.StatusPaymentRequired)
				_, _ = io.WriteString(rw, strings.Repeat("x", 40_000))
			}

			w.equal("first status", w.post("k", "{}").StatusCode, http.StatusPaymentRequired)
			w.refused(w.post("k", "{}"), http.StatusGone, "answer-lost")
			w.equal("record", w.recordState("k"), "COMPLETED")
			w.logs("its answer is lost")
		})
	}
}

func TestHTTPAnswersAgainWhatItsHandlerCompletedItself(t *testing.T) {
	t.Parallel()

	for result, wantLog := range map[string]bool{"": false, "something else": true, "HTTP/1.1 200 OK\r\n\r\n": true} {
		w := newWeb(t, nil)
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			claim, _ := idemddb.FromContext(r.Context())
			w.equal("Complete", claim.Complete(r.Context(), []byte(result)), nil)
			created(rw, r)
		}

		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.equal("log", w.log.String(), "")
		w.answered(w.post("k", "{}"), http.StatusOK, "body-omitted", "")
		w.equal("log", strings.Contains(w.log.String(), "no answer of HTTP"), wantLog)
		w.runs(1)
	}
}

func FuzzHTTPStoredAnswersAreReplayedAsTheyWere(f *testing.F) {
	f.Add(200, "text/plain", "body")
	f.Add(201, "\xff\x80", "\x00\xff\r\n\r\n")
	f.Add(304, "", "")
	f.Add(304, "\x10", "")
	f.Add(201, "a\x00b", "0")
	f.Add(999, "a\tb", "HTTP/1.1 200 OK\r\n\r\n")
	f.Fuzz(func(t *testing.T, status int, value, body string) {
		if status < 200 || status > 999 {
			t.Skip("a server refuses it")
		}

		w := newWeb(t, nil)
		w.opts.Keep = func(int) bool { return true }
		w.work = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", value)
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, body)
		}

		ask := func(replayed string) []any {
			answer := w.post("k", "")
			w.equal("Idempotent-Replayed", answer.Header.Get("Idempotent-Replayed"), replayed)

			var wire bytes.Buffer // a server writes the answer, and a client reads it
			if err := answer.Write(&wire); err != nil {
				t.Fatal(err)
			}

			got, err := http.ReadResponse(bufio.NewReader(&wire), nil)
			if err != nil {
				return []any{"a client refuses it"}
			}

			return []any{got.StatusCode, got.Header.Values("Content-Type"), read(got)}
		}

		first, again := ask("false"), ask("true")
		if diff := cmp.Diff(first, again); diff != "" && len(first) > 1 {
			t.Errorf("the replay is another answer (-first +replay):\n%s", diff)
		}

		w.runs(1)
	})
}

// panicOf returns what a function panics with.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()

	f()

	return nil
}
