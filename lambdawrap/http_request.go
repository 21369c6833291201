package lambdawrap

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/httpanswer"
	"github.com/idemddb/go-idemddb/internal/jsonkey"
	"github.com/idemddb/go-idemddb/internal/problem"
)

const (
	keyHeader    = "Idempotency-Key"
	maxKeyHeader = 255 // characters, without quotes
)

// accept reads a request: its key, its caller and its body. Without an exchange, the problem is the answer, and nothing was claimed.
func (h *httpHandler) accept(w http.ResponseWriter, r *http.Request) (*exchange, *problem.Details) {
	if r.Method == http.MethodConnect || r.Header.Get("Upgrade") != "" {
		return nil, problem.UpgradeUnsupported
	}

	x := &exchange{httpHandler: h, w: w, r: r, answer: httpanswer.Hold(w)}

	if h.disabled {
		x.key = rand.Text()

		return x, nil
	}

	key, refusal := h.key(r)
	if refusal != nil {
		return nil, refusal
	}

	body, refusal := h.body(w, r)
	if refusal != nil {
		return nil, refusal
	}

	x.key = key
	x.with = idemddb.ClaimOptions{Fingerprint: requestFingerprint(r, body), Wait: h.opts.Wait, Optimistic: h.opts.Optimistic}
	x.r = withBody(r, body)

	return x, nil
}

// HTTPKey returns the key under which [HTTP] keeps the record of a request: the list of its caller and of its header Idempotency-Key.
// caller is what HTTPOptions.Caller returns for the request. It is for programs that look at records, such as idem. It reads nothing of
// the request but its header, and is safe for concurrent use.
//
// The error wraps [ErrNoKey] and says what is missing: there is no caller, or the header is absent, stands twice, or is not valid. A
// request without the header that HTTP serves all the same has a random key, which nobody can compute.
func HTTPKey(caller string, r *http.Request) (string, error) {
	header, refusal := readKeyHeader(r.Header[keyHeader])

	switch {
	case refusal != nil:
		return "", noKey("header %s is not valid: %s", keyHeader, refusal.Detail)
	case header == "":
		return "", noKey("header %s is absent", keyHeader)
	default:
		return listKey("what does HTTPOptions.Caller return for this request?", field{"caller", caller}, field{keyHeader, header})
	}
}

// key returns the idempotency key of a request: the one that HTTPKey returns if the request has the header.
func (h *httpHandler) key(r *http.Request) (string, *problem.Details) {
	header, refusal := readKeyHeader(r.Header[keyHeader])

	switch {
	case refusal != nil:
		return "", refusal
	case header == "" && h.opts.Required:
		return "", problem.KeyMissing
	}

	caller, err := h.opts.Caller(r)
	if err == nil && caller == "" {
		return "", problem.CallerUnknown
	}

	parts := []string{caller, header}
	if header == "" {
		parts = append(parts, rand.Text()) // three parts, so no header makes this key
	}

	key, errKey := jsonkey.List(parts...)
	if err = errors.Join(err, errKey); err != nil {
		h.logger().WarnContext(r.Context(), "HTTPOptions.Caller named no caller", slog.String("error", err.Error()))

		return "", problem.CallerUnknown
	}

	return key, nil
}

// readKeyHeader reads the values of Idempotency-Key. Gateways join repeated headers with a comma, so a key has none. Quotes around it, as
// the IETF's draft has them, do not count.
func readKeyHeader(values []string) (string, *problem.Details) {
	if len(values) == 0 {
		return "", nil
	}

	key := values[0]
	if len(values) > 1 || len(key) > maxKeyHeader+len(`""`) {
		return "", problem.KeyInvalid
	}

	switch isQuoted := strings.HasPrefix(key, `"`); {
	case key == `"`, isQuoted != strings.HasSuffix(key, `"`):
		return "", problem.KeyInvalid
	case isQuoted:
		key = key[1 : len(key)-1]
	}

	if key == "" || len(key) > maxKeyHeader || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }) {
		return "", problem.KeyInvalid
	}

	return key, nil
}

// body reads the whole body.
func (h *httpHandler) body(w http.ResponseWriter, r *http.Request) ([]byte, *problem.Details) {
	if r.Body == nil {
		return nil, nil
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.opts.MaxBody))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, problem.BodyTooLarge.With(fmt.Sprintf("The body of a request may have at most %d bytes.", tooLarge.Limit))
	}

	if err != nil {
		return nil, problem.BodyUnreadable
	}

	return body, nil
}

// withBody returns a copy of the request with a body that was read before.
func withBody(r *http.Request, body []byte) *http.Request {
	r = r.WithContext(r.Context()) // a copy
	r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, int64(len(body)), nil

	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}

	return r
}

// requestFingerprint identifies what a request asks for. The order of the query's names does not count, that of the values of one name
// does. The record stores a digest of it.
func requestFingerprint(r *http.Request, body []byte) string {
	query := r.URL.RawQuery
	if values, err := url.ParseQuery(query); err == nil {
		query = values.Encode() // sorted; a query that cannot be read counts as it is
	}

	return fmt.Sprintf("%q %q %q %q\n%s", r.Method, r.URL.EscapedPath(), query, r.Header["Content-Type"], body)
}
