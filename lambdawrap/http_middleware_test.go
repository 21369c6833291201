package lambdawrap_test

import (
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
		for name, values := range test.before {
			recorder.Header()[name] = values
		}

		handler.ServeHTTP(recorder, request("k", "{}"))
		w.answered(recorder.Result(), http.StatusCreated, test.replayed, `{"id":"p-1"}`)

		for _, name := range []string{"Content-Encoding", "Content-Security-Policy", "Vary", "Trailer"} {
			w.equal(name, recorder.Header()[name], test.before[name])
		}

		w.equal("Content-Type", recorder.Header().Get("Content-Type"), "application/json")
	}
}
