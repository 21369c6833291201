package lambdawrap_test

import (
	"io"
	"net/http"
	"testing"
)

// What a server of net/http makes of the headers of a handler is the same for a first answer and for a replay.
func TestHTTPServerAReplayHasTheHeadersOfTheFirstAnswer(t *testing.T) {
	t.Parallel()

	for name, set := range map[string]func(http.Header){
		"nothing is set":                      func(http.Header) {},
		"Content-Type is turned off":          func(h http.Header) { h["Content-Type"] = nil },
		"Content-Type is empty":               func(h http.Header) { h.Set("Content-Type", "") },
		"Etag is nil":                         func(h http.Header) { h["Etag"] = nil },
		"the handler says that it is chunked": func(h http.Header) { h.Set("Transfer-Encoding", "chunked") },
		"the handler says that it is not":     func(h http.Header) { h.Set("Transfer-Encoding", "identity") },
		"a length that is wrong":              func(h http.Header) { h.Set("Content-Length", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
			w.work = func(rw http.ResponseWriter, _ *http.Request) {
				set(rw.Header())
				_, _ = io.WriteString(rw, "4\r\n{}{}\r\n0\r\n\r\n")
			}

			var answers []http.Header

			for _, replayed := range []string{"false", "true"} {
				got, err := w.roundTrip(request("k", "{}"))
				if err != nil {
					t.Fatal(err)
				}

				w.answered(got, http.StatusOK, replayed, "4\r\n{}{}\r\n0\r\n\r\n")
				w.equal("end of the body", got.Body.Close(), nil)
				w.equal("length", got.ContentLength, int64(14))

				got.Header.Del("Idempotent-Replayed")
				got.Header.Del("Date")

				answers = append(answers, got.Header)
			}

			w.equal("headers of the replay", answers[1], answers[0])
			w.runs(1)
		})
	}
}
