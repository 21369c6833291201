package idemhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// KeyHeader is the header that has the idempotency key.
const KeyHeader = "Idempotency-Key"

const maxKey = 255 // characters, without quotes

// Key returns the idempotency key of a request; "" if the header is absent. Gateways join repeated headers with a comma, so a key
// with a comma is refused. Quotes around it, as the IETF's draft has them, do not count.
func Key(header http.Header) (string, *Problem) {
	values := header[KeyHeader]
	if len(values) == 0 {
		return "", nil
	}

	key, isOpened := strings.CutPrefix(values[0], `"`)
	key, isClosed := strings.CutSuffix(key, `"`)

	if len(values) > 1 || isOpened != isClosed || key == "" || len(key) > maxKey || strings.ContainsFunc(key, isForeign) {
		return "", KeyInvalid
	}

	return key, nil
}

// isForeign reports whether a character must not be in a key.
func isForeign(c rune) bool { return c <= ' ' || c > '~' || c == ',' }

// IsHeader reports whether a text is the name of a header.
func IsHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("()<>@,;:\\\"/[]?={}", c) })
}

// Rules say which requests are taken, and which are the same.
type Rules struct {
	MaxBody int64    // bytes
	Hosts   []string // names of one host
	Headers []string // canonical names of headers that belong to what a request asks for
}

// Read reads the whole body of a request. A body whose length is announced and too long is not read at all, so a client that
// waits for the status 100 need not send it.
func (rules Rules) Read(w http.ResponseWriter, r *http.Request) ([]byte, *Problem) {
	switch {
	case r.ContentLength > rules.MaxBody:
		return nil, tooLarge(rules.MaxBody)
	case r.Body == nil:
		return nil, nil
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, rules.MaxBody))
	if err != nil {
		return nil, refusalOf(err)
	}

	return body, nil
}

// WithBody returns a copy of a request whose body has been read, with a body of its own.
func WithBody(r *http.Request, body []byte) *http.Request {
	copied := r.WithContext(r.Context())
	copied.Body, copied.ContentLength, copied.TransferEncoding = http.NoBody, int64(len(body)), nil

	if len(body) > 0 {
		copied.Body = io.NopCloser(bytes.NewReader(body))
	}

	return copied
}

// IsReadBefore reports whether somebody else has read the body of a request, so that Read found none and nothing of it can be
// compared. If it was a form without files, its values can be.
func IsReadBefore(r *http.Request, body []byte) bool {
	hasFiles := r.MultipartForm != nil && len(r.MultipartForm.File) > 0
	hasBody := r.MultipartForm != nil || r.ContentLength > 0

	return len(body) == 0 && (hasFiles || hasBody && len(r.PostForm) == 0)
}

func refusalOf(err error) *Problem {
	if limit, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit.Limit)
	}

	return BodyUnreadable
}

func tooLarge(limit int64) *Problem {
	return BodyTooLarge.With(fmt.Sprintf("The body of a request may have at most %d bytes.", limit))
}

// Fingerprint identifies what a request with this body asks for. The order of the query's names does not count, that of the
// values of one name does. The body of a form that was parsed before has been read, so its values count instead. The record
// stores a digest of it.
func (rules Rules) Fingerprint(r *http.Request, body []byte) string {
	if len(body) == 0 {
		body = []byte(r.PostForm.Encode())
	}

	query := r.URL.RawQuery
	if values, err := url.ParseQuery(query); err == nil {
		query = values.Encode() // Encode sorts; a query that cannot be read counts as it is
	}

	return fmt.Sprintf("%q %q %q %q %q%s\n%s", rules.hostOf(r.Host), r.Method, r.URL.EscapedPath(), query, r.Header["Content-Type"],
		rules.headersOf(r.Header), body)
}

// headersOf returns the values of the headers that belong to what a request asks for, in the order of the rules.
func (rules Rules) headersOf(header http.Header) string {
	var text strings.Builder

	for _, name := range rules.Headers {
		fmt.Fprintf(&text, " %q=%q", name, header[name])
	}

	return text.String()
}

// hostOf returns the name under which a host is compared. A request does not say whether the client used HTTP or HTTPS, so the
// default port of either does not count.
func (rules Rules) hostOf(host string) string {
	host = nameOf(host)

	if slices.ContainsFunc(rules.Hosts, func(one string) bool { return nameOf(one) == host }) {
		return nameOf(rules.Hosts[0])
	}

	return host
}

// nameOf returns the name of a host in lower case, without the default port of HTTP and of HTTPS.
func nameOf(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), ":80"), ":443")
}
