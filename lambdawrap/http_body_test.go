package lambdawrap_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// form returns a change of a request that gives it a form with a file.
func form(t testing.TB, file string) func(*http.Request) {
	t.Helper()

	return func(r *http.Request) {
		var b bytes.Buffer

		w := multipart.NewWriter(&b)
		if err := w.SetBoundary("boundary"); err != nil {
			t.Fatal(err)
		}

		part, err := w.CreateFormFile("file", "a.txt")
		if err != nil {
			t.Fatal(err)
		}

		_, _ = io.WriteString(part, file)
		_ = w.WriteField("token", "c-1")
		_ = w.Close()

		r.Header.Set("Content-Type", w.FormDataContentType())
		r.Body, r.ContentLength = io.NopCloser(&b), int64(b.Len())
	}
}

// callerWays are ways in which a Caller reads the body of a request, as one does that checks its signature or finds a token in a
// form.
func callerWays() map[string]func(*http.Request) (string, error) {
	return map[string]func(*http.Request) (string, error){
		"it reads all of it": func(r *http.Request) (string, error) {
			_, err := io.Copy(io.Discard, r.Body)

			return "c-1", err
		},
		"it reads and closes it": func(r *http.Request) (string, error) {
			_, err := r.Body.Read(make([]byte, 1))

			return "c-1", errors.Join(err, r.Body.Close())
		},
		"it parses the form":             func(r *http.Request) (string, error) { return r.FormValue("token"), nil },
		"it reads the parts of the form": tokenOf,
		"it puts another body in its place": func(r *http.Request) (string, error) {
			r.Body = http.NoBody

			return "c-1", nil
		},
	}
}

// tokenOf reads a form part by part.
func tokenOf(r *http.Request) (string, error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return "", err
	}

	for {
		part, err := parts.NextPart()
		if err != nil {
			return "", err
		}

		if part.FormName() == "token" {
			token, err := io.ReadAll(part)

			return string(token), err
		}
	}
}

func TestHTTPWhateverCallerDoesToTheBodyTheHandlerGetsItAndItIsCompared(t *testing.T) {
	t.Parallel()

	for name, caller := range callerWays() {
		each(t, name, oneWeb, func(w *web) {
			w.opts.Caller = caller
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				w.equal("the body", []any{strings.Contains(string(body), "file A"), int64(len(body)), err}, []any{true, r.ContentLength, nil})
				w.equal("the form is not parsed", r.Form == nil && r.PostForm == nil && r.MultipartForm == nil, true)
				created(rw, r)
			}

			w.answered(w.post("k", "", form(w, "file A")), http.StatusCreated, "false", `{"id":"p-1"}`)
			w.answered(w.post("k", "", form(w, "file A")), http.StatusCreated, "true", `{"id":"p-1"}`)
			w.refused(w.post("k", "", form(w, "file B")), http.StatusUnprocessableEntity, "key-reused")
			w.runs(1)
		})
	}
}

func TestHTTPMaxBodyHoldsForWhatCallerReads(t *testing.T) {
	t.Parallel()

	for name, caller := range callerWays() {
		each(t, name, oneWeb, func(w *web) {
			w.opts.MaxBody = 1000
			w.opts.Caller = caller

			long := form(w, strings.Repeat("f", 1000))
			unannounced := func(r *http.Request) { r.ContentLength = -1 }

			w.refused(w.post("k", "", long, unannounced), http.StatusRequestEntityTooLarge, "body-too-large")
			w.refused(w.post("k", "", long), http.StatusRequestEntityTooLarge, "body-too-large")
			w.answered(w.post("k", "", form(w, "file A")), http.StatusCreated, "false", `{"id":"p-1"}`)
			w.runs(1)
		})
	}
}

// What middleware in front has read cannot be compared, so another body would get the first one's answer.
func TestHTTPABodyThatMiddlewareInFrontHasReadIsAMistakeOfTheServer(t *testing.T) {
	t.Parallel()

	for name, front := range map[string]func(*http.Request) error{
		"it reads all of it": drain,
		"it looks for a form and reads all of it": func(r *http.Request) error {
			r.Header.Del("Content-Type")

			return errors.Join(r.ParseForm(), drain(r))
		},
		"it reads the parts of a form": func(r *http.Request) error {
			_, err := tokenOf(r)

			return err
		},
		"it parses a form of files": func(r *http.Request) error { return r.ParseMultipartForm(1 << 20) },
	} {
		each(t, name, oneWeb, func(w *web) {
			r := request("k", "", form(w, "file A"))
			w.equal("error", front(r), nil)
			w.refused(w.send(r), http.StatusInternalServerError, "server-error")
			w.logs("level=ERROR", "must put it back")
			w.runs(0)
		})
	}
}

func drain(r *http.Request) error {
	_, err := io.Copy(io.Discard, r.Body)

	return err
}

// A client that waits for 100 Continue never sends such a body.
func TestHTTPABodyIsNotReadIfItsAnnouncedLengthIsTooLong(t *testing.T) {
	w := parallelWeb(t)
	w.opts.MaxBody = 4
	r := request("k", "12345")
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) { panic("the body is read") }))

	w.refused(w.send(r), http.StatusRequestEntityTooLarge, "body-too-large")
	w.runs(0)
}

// readerFunc is a reader made of a function.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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
		each(t, name, oneWeb, func(w *web) {
			w.work = func(rw http.ResponseWriter, _ *http.Request) {
				set(rw.Header())
				_, _ = io.WriteString(rw, "4\r\n{}{}\r\n0\r\n\r\n")
			}

			var answers []http.Header

			for _, replayed := range []string{"false", "true"} {
				got := w.served(request("k", "{}"))
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

// A compressor sets Content-Encoding and Vary before it calls the next handler, for the client of this one exchange.
func TestHTTPReplaysNoHeaderOfTheMiddlewareAroundAnEarlierExchange(t *testing.T) {
	w := parallelWeb(t)
	w.work = func(rw http.ResponseWriter, r *http.Request) {
		w.equal("the handler sees it", rw.Header().Get("Content-Security-Policy"), "nonce-1")
		rw.Header().Add("Link", "</b>")
		created(rw, r)
	}
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
		recorder.Header().Set("Link", "</a>")
		maps.Copy(recorder.Header(), test.before)
		handler.ServeHTTP(recorder, request("k", "{}"))
		w.answered(recorder.Result(), http.StatusCreated, test.replayed, `{"id":"p-1"}`)

		for _, name := range []string{"Content-Encoding", "Content-Security-Policy", "Vary", "Trailer"} {
			w.equal(name, recorder.Header()[name], test.before[name])
		}

		w.equal("Link", recorder.Header().Values("Link"), []string{"</a>", "</b>"})
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
		each(t, name, oneWeb, func(w *web) {
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
