package lambdawrap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The header that tells a replay from a first answer, and its values.
const (
	replayedHeader = "Idempotent-Replayed"
	firstRun       = "false"
	wholeReplay    = "true"
	bodyOmitted    = "body-omitted" // a replay; the body did not fit into the record
)

// httpAnswer is the answer of a handler. It is held back until it is stored. It is the handler's ResponseWriter, without Hijacker and
// Unwrap, because what goes past it could not be stored.
type httpAnswer struct {
	w http.ResponseWriter // for informational answers

	header http.Header // the handler's to change
	sent   http.Header // as they were when the status was written
	status int         // 0 until then
	body   bytes.Buffer
}

// newHTTPAnswer returns an empty answer. It begins with the headers that were set before, as the handler would find them.
func newHTTPAnswer(w http.ResponseWriter) *httpAnswer {
	header := w.Header().Clone()
	if header == nil {
		header = http.Header{}
	}

	return &httpAnswer{w: w, header: header}
}

func (a *httpAnswer) Header() http.Header { return a.header }

// Flush has no effect: half an answer is never sent.
func (*httpAnswer) Flush() {}

func (a *httpAnswer) Write(b []byte) (int, error) {
	a.finish()

	if !hasBody(a.status) {
		return 0, http.ErrBodyNotAllowed
	}

	return a.body.Write(b) //nolint:wrapcheck // it never fails
}

// WriteHeader takes the status. An informational one passes at once and is not kept.
func (a *httpAnswer) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999: // as net/http does, but before anything is stored
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

// finish ends an answer to which the handler has given no status.
func (a *httpAnswer) finish() {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
}

// hasTrailers reports whether the handler has announced or set trailers.
func (a *httpAnswer) hasTrailers() bool {
	for name := range a.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}

	return len(a.sent["Trailer"]) > 0
}

// send sends the answer as that of a first run.
func (a *httpAnswer) send() {
	header := a.w.Header()
	replaceHeader(header, a.sent)
	header.Set(replayedHeader, firstRun)
	sendBody(a.w, a.status, a.body.Bytes())
}

// stored returns the answer as it is kept in the record. If it does not fit, it is stored without its body, then without headers but
// Location.
func (a *httpAnswer) stored(fits func([]byte) bool) (result []byte, isWhole bool) {
	whole := storedAnswer{a.status, keptHeader(a.sent), a.body.Bytes()}
	whole.header.Set(replayedHeader, wholeReplay)

	if result = whole.encode(); fits(result) {
		return result, true
	}

	small := storedAnswer{status: a.status, header: whole.header}
	small.header.Set(replayedHeader, bodyOmitted)

	if result = small.encode(); fits(result) {
		return result, false
	}

	maps.DeleteFunc(small.header, func(name string, _ []string) bool { return name != "Location" && name != replayedHeader })

	return small.encode(), false
}

// keptHeaders are stored and replayed, and so is each Content-* except Content-Length. All others belong to the first exchange alone: a
// cookie or an authentication challenge of one caller's session, a date, a limit.
var keptHeaders = []string{"Location", "Etag", "Last-Modified", "Link", "Cache-Control", "Vary"}

const maxKeptHeader = 8 << 10 // bytes

// keptHeader returns the headers that a replay has.
func keptHeader(all http.Header) http.Header {
	kept, size := http.Header{}, 0

	for name, values := range all {
		canonical := http.CanonicalHeaderKey(name)
		isContent := strings.HasPrefix(canonical, "Content-") && canonical != "Content-Length"

		if isContent || slices.Contains(keptHeaders, canonical) {
			values = slices.DeleteFunc(slices.Clone(values), isUnreadable)
			kept[canonical] = append(kept[canonical], values...)

			for _, value := range values {
				size += len(canonical) + len(value)
			}
		}
	}

	if size > maxKeptHeader {
		maps.DeleteFunc(kept, func(name string, _ []string) bool { return name != "Location" })
	}

	return kept
}

// isUnreadable reports whether a header's value has control characters, so that no HTTP message with it can be read. Line breaks are written as
// spaces.
func isUnreadable(value string) bool {
	return strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\r\n", c) || c == 0x7f })
}

// storedAnswer is an answer in a record: an HTTP/1.1 message, which keeps each byte.
type storedAnswer struct {
	status int
	header http.Header // with Idempotent-Replayed as a replay has it
	body   []byte
}

func (a storedAnswer) encode() []byte {
	var b bytes.Buffer

	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	_ = a.header.Write(&b) // a buffer takes it
	b.WriteString("\r\n")
	b.Write(a.body)

	return b.Bytes()
}

// decodeAnswer reads the result of a record. An empty one says no more than that the work is done.
func decodeAnswer(result []byte) (storedAnswer, error) {
	if len(result) == 0 {
		return storedAnswer{http.StatusOK, http.Header{replayedHeader: {bodyOmitted}}, nil}, nil
	}

	message, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(result)), nil)
	if err != nil {
		return storedAnswer{}, fmt.Errorf("%w: %w", errForeign, err)
	}

	body, err := io.ReadAll(message.Body)
	if err = errors.Join(err, message.Body.Close()); err != nil || message.Header.Get(replayedHeader) == "" {
		return storedAnswer{}, errors.Join(errForeign, err)
	}

	return storedAnswer{message.StatusCode, message.Header, body}, nil
}

var errForeign = errors.New("lambdawrap: the record holds a result that is no answer of HTTP: " +
	"its handler completed the claim itself, or another program shares the namespace")

// send sends the answer as a replay.
func (a storedAnswer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	sendBody(w, a.status, a.body)
}

// sendBody sends the status and the body, with the body's length.
func sendBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Del("Content-Length")

	if hasBody(status) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}

	w.WriteHeader(status)

	if hasBody(status) && len(body) > 0 {
		_, _ = w.Write(body) //nolint:gosec // the handler's own answer, as it gave it; a client that is gone asks again
	}
}

func hasBody(status int) bool {
	return status >= http.StatusOK && status != http.StatusNoContent && status != http.StatusNotModified
}

func replaceHeader(header, with http.Header) {
	clear(header)
	maps.Copy(header, with)
}
