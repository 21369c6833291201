package idemhttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Encode returns the answer as it is kept in the record. If it does not fit, it is stored without its body, then without headers
// but Location.
func (a *HeldAnswer) Encode(fits func([]byte) bool) (result []byte, isWhole bool) {
	whole := StoredAnswer{a.status, keptHeader(a.sent, a.w.Header()), a.body.Bytes()}
	whole.header.Set(replayedHeader, wholeReplay)

	if result = whole.encode(); fits(result) {
		return result, true
	}

	small := StoredAnswer{status: a.status, header: whole.header}
	small.header.Set(replayedHeader, bodyOmitted)

	if result = small.encode(); fits(result) {
		return result, false
	}

	maps.DeleteFunc(small.header, func(name string, _ []string) bool { return name != "Location" && name != replayedHeader })

	return small.encode(), false
}

// keptHeaders are stored and replayed, and so is each Content-* except Content-Length. All others belong to the first exchange
// alone: a cookie or an authentication challenge of one caller's session, a date, a limit.
var keptHeaders = []string{"Location", "Etag", "Last-Modified", "Link", "Cache-Control", "Vary"}

const maxKeptHeader = 8 << 10 // bytes

// neededHeaders are kept also beside others that are too large: without them a client cannot read the body of a replay, or find
// what was made.
var neededHeaders = []string{"Location", contentType, "Content-Encoding"}

// keptHeader returns the headers that a replay has. One that the handler left as it was before belongs to the first exchange
// alone: the encoding of a compressor outside of the handler would be that of another client. A Content-Type without a value, by
// which a handler keeps net/http from guessing one, is kept as an empty one.
func keptHeader(all, before http.Header) http.Header {
	kept, size := http.Header{}, 0

	for name, values := range all {
		canonical := http.CanonicalHeaderKey(name)
		isContent := strings.HasPrefix(canonical, "Content-") && canonical != "Content-Length"

		if outer, isThere := before[name]; isThere && slices.Equal(values, outer) {
			continue
		}

		if canonical == contentType && len(values) == 0 {
			values = []string{""}
		}

		if isContent || slices.Contains(keptHeaders, canonical) {
			values = slices.DeleteFunc(slices.Clone(values), isUnreadable)
			kept[canonical] = append(kept[canonical], values...)

			for _, value := range values {
				size += len(canonical) + len(value)
			}
		}
	}

	if size > maxKeptHeader {
		maps.DeleteFunc(kept, func(name string, _ []string) bool { return !slices.Contains(neededHeaders, name) })
	}

	return kept
}

// isUnreadable reports whether a header's value has control characters, so that no HTTP message with it can be read. Line breaks
// are written as spaces.
func isUnreadable(value string) bool {
	return strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\r\n", c) || c == 0x7f })
}

// StoredAnswer is an answer in a record: an HTTP/1.1 message, which keeps each byte.
type StoredAnswer struct {
	status int
	header http.Header // with Idempotent-Replayed as a replay has it
	body   []byte
}

// DecodeAnswer reads the result of a record. An empty one says no more than that the work is done, and so does the answer beside
// an error.
func DecodeAnswer(result []byte) (StoredAnswer, error) {
	done := StoredAnswer{http.StatusOK, http.Header{replayedHeader: {bodyOmitted}}, nil}
	if len(result) == 0 {
		return done, nil
	}

	message, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(result)), nil)
	if err != nil {
		return done, errForeign // the cause would show some of the result
	}

	body, err := io.ReadAll(message.Body)
	if err = errors.Join(err, message.Body.Close()); err != nil || message.Header.Get(replayedHeader) == "" {
		return done, errForeign
	}

	return StoredAnswer{message.StatusCode, message.Header, body}, nil
}

var errForeign = errors.New("the record holds a result that is no answer of HTTP: " +
	"its handler completed the claim itself, or another program shares the namespace")

// Send sends the answer as a replay.
func (a StoredAnswer) Send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	sendBody(w, a.status, a.body)
}

func (a StoredAnswer) encode() []byte {
	var b bytes.Buffer

	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	_ = a.header.Write(&b) // a write into a buffer never fails
	b.WriteString("\r\n")
	b.Write(a.body)

	return b.Bytes()
}
