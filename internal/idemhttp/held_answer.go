package idemhttp

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// The header that distinguishes a replay from a first answer, and its values.
const (
	replayedHeader = "Idempotent-Replayed"
	firstRun       = "false"
	wholeReplay    = "true"
	bodyOmitted    = "body-omitted" // a replay; the body did not fit into the record
)

// HeldAnswer is the answer of a handler, which is held back until it is stored. It is the handler's ResponseWriter, without
// Hijacker and Unwrap, because what goes past it could not be stored.
type HeldAnswer struct {
	w http.ResponseWriter // for informational answers; until Send, its headers are as what stands around the handler set them

	header http.Header // the handler's to change
	sent   http.Header // as they were when the status was written
	status int         // 0 until then
	body   bytes.Buffer
}

// HoldAnswer returns an empty answer. It begins with the headers that were set before, as the handler would find them.
func HoldAnswer(w http.ResponseWriter) *HeldAnswer {
	return &HeldAnswer{w: w, header: w.Header().Clone()}
}

// Header returns the headers that the handler may change.
func (a *HeldAnswer) Header() http.Header { return a.header }

// Flush has no effect: half an answer is never sent.
func (*HeldAnswer) Flush() {}

func (a *HeldAnswer) Write(b []byte) (int, error) {
	a.Finish()

	if !hasBody(a.status) {
		return 0, http.ErrBodyNotAllowed
	}

	return a.body.Write(b) //nolint:wrapcheck // it never fails
}

// WriteHeader takes the status. An informational one passes at once and is not kept.
func (a *HeldAnswer) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999: // net/http panics, too; here nothing has been stored yet
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	case a.status != 0:
	case status < http.StatusOK && status != http.StatusSwitchingProtocols:
		before := a.w.Header().Clone()
		replaceHeader(a.w.Header(), a.header)
		a.w.WriteHeader(status)
		replaceHeader(a.w.Header(), before)
	default:
		a.status, a.sent = status, a.header.Clone()
	}
}

// Status returns the answer's status, 0 until the handler has given one.
func (a *HeldAnswer) Status() int { return a.status }

// Size returns how many bytes the body has.
func (a *HeldAnswer) Size() int { return a.body.Len() }

// Finish ends an answer to which the handler has given no status.
func (a *HeldAnswer) Finish() {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
}

// HasTrailers reports whether the handler has announced or set trailers.
func (a *HeldAnswer) HasTrailers() bool {
	for name := range a.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}

	return len(a.sent["Trailer"]) > len(a.w.Header()["Trailer"])
}

// Send sends the answer to the client, as that of a request whose work has run now.
func (a *HeldAnswer) Send() {
	header := a.w.Header()
	replaceHeader(header, a.sent)
	header.Set(replayedHeader, firstRun)
	sendBody(a.w, a.status, a.body.Bytes())
}

const contentType = "Content-Type"

// sendBody sends the status and the body, with the body's length: it is whole, so it is not sent in chunks. An empty Content-Type
// is none.
func sendBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Del("Content-Length")
	w.Header().Del("Transfer-Encoding")

	if values, isThere := w.Header()[contentType]; isThere && textproto.TrimString(strings.Join(values, "")) == "" {
		w.Header()[contentType] = nil
	}

	if hasBody(status) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}

	w.WriteHeader(status)

	if len(body) > 0 {
		_, _ = w.Write(body) // a client that is gone asks again
	}
}

func hasBody(status int) bool {
	return status >= http.StatusOK && status != http.StatusNoContent && status != http.StatusNotModified
}

func replaceHeader(header, with http.Header) {
	clear(header)
	maps.Copy(header, with)
}
