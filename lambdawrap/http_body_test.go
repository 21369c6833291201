package lambdawrap_test

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// form returns a change of a request that gives it a form with a file.
func form(t *testing.T, file string) func(*http.Request) {
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

// callerWays are ways in which a Caller reads the body of a request, as one does that checks its signature or finds a token in a form.
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
			w.opts.Caller = caller
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				w.equal("the body", []any{strings.Contains(string(body), "file A"), int64(len(body)), err}, []any{true, r.ContentLength, nil})
				w.equal("the form is not parsed", r.Form == nil && r.PostForm == nil && r.MultipartForm == nil, true)
				created(rw, r)
			}

			w.answered(w.post("k", "", form(t, "file A")), http.StatusCreated, "false", `{"id":"p-1"}`)
			w.answered(w.post("k", "", form(t, "file A")), http.StatusCreated, "true", `{"id":"p-1"}`)
			w.refused(w.post("k", "", form(t, "file B")), http.StatusUnprocessableEntity, "key-reused")
			w.runs(1)
		})
	}
}

func TestHTTPMaxBodyHoldsForWhatCallerReads(t *testing.T) {
	t.Parallel()

	for name, caller := range callerWays() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
			w.opts.MaxBody = 1000
			w.opts.Caller = caller

			long := form(t, strings.Repeat("f", 1000))
			unannounced := func(r *http.Request) { r.ContentLength = -1 }

			w.refused(w.post("k", "", long, unannounced), http.StatusRequestEntityTooLarge, "body-too-large")
			w.refused(w.post("k", "", long), http.StatusRequestEntityTooLarge, "body-too-large")
			w.answered(w.post("k", "", form(t, "file A")), http.StatusCreated, "false", `{"id":"p-1"}`)
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
			r := request("k", "", form(t, "file A"))
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
	t.Parallel()

	w := newWeb(t, nil)
	w.opts.MaxBody = 4
	r := request("k", "12345")
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) { panic("the body is read") }))

	w.refused(w.send(r), http.StatusRequestEntityTooLarge, "body-too-large")
	w.runs(0)
}

// readerFunc is a reader made of a function.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
