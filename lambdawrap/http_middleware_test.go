package lambdawrap_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A compressor sets Content-Encoding and Vary before it calls the next handler, for the client of this one exchange.
func TestHTTPReplaysNoHeaderOfTheMiddlewareAroundAnEarlierExchange(t *testing.T) {
	t.Parallel()

	w := newWeb(t, nil)
	handler := w.handler()

	for _, test := range []struct {
		replayed string
		before   http.Header
	}{
		{"false", http.Header{
			"Content-Encoding": {"gzip"}, "Content-Security-Policy": {"nonce-1"}, "Vary": {"Accept-Encoding"}, "Trailer": {"Server-Timing"},
		}},
		{"true", http.Header{"Content-Security-Policy": {"nonce-2"}, "Trailer": {"Server-Timing"}}},
	} {
		recorder := httptest.NewRecorder()
		maps.Copy(recorder.Header(), test.before)
		handler.ServeHTTP(recorder, request("k", "{}"))
		w.answered(recorder.Result(), http.StatusCreated, test.replayed, `{"id":"p-1"}`)

		for _, name := range []string{"Content-Encoding", "Content-Security-Policy", "Vary", "Trailer"} {
			w.equal(name, recorder.Header()[name], test.before[name])
		}

		w.equal("Content-Type", recorder.Header().Get("Content-Type"), "application/json")
	}
}

// Middleware that finds the method in a form leaves no body, but the handler has the form.
func TestHTTPAnotherFormUnderAKeyIsRefusedAlsoIfItWasReadBefore(t *testing.T) {
	t.Parallel()

	for name, parse := range map[string]func(*web) func(*http.Request){
		"by middleware": func(*web) func(*http.Request) { return func(r *http.Request) { r.FormValue("_method") } },
		"by Caller": func(w *web) func(*http.Request) {
			w.opts.Caller = func(r *http.Request) (string, error) { return r.FormValue("who"), nil }

			return func(*http.Request) {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
			w.work = func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, r.FormValue("amount")) }
			outer := parse(w)
			post := func(form string) *http.Response {
				r := request("k", form, header("Content-Type", "application/x-www-form-urlencoded"))
				outer(r)

				return w.send(r)
			}

			w.answered(post("who=c-1&amount=1"), http.StatusOK, "false", "1")
			w.answered(post("who=c-1&amount=1"), http.StatusOK, "true", "1")
			w.refused(post("who=c-1&amount=2"), http.StatusUnprocessableEntity, "key-reused")
			w.runs(1)
		})
	}
}
