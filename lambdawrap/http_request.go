package lambdawrap

import (
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/httpanswer"
	"github.com/idemddb/go-idemddb/internal/httprequest"
	"github.com/idemddb/go-idemddb/internal/jsonkey"
	"github.com/idemddb/go-idemddb/internal/problem"
)

// accept reads a request: its key, its caller and its body. If there is a problem, that is the answer, and nothing was claimed. The header
// Upgrade only offers another protocol, and a server may ignore it (RFC 9110, section 7.8).
func (h *httpHandler) accept(w *reply, r *http.Request) (*exchange, *problem.Details) {
	if r.Method == http.MethodConnect {
		return nil, problem.UpgradeUnsupported
	}

	x := &exchange{httpHandler: h, w: w, r: r, answer: httpanswer.Hold(w)}

	if h.disabled {
		x.key = rand.Text()

		return x, nil
	}

	header, refusal := h.header(r)
	if refusal != nil {
		return nil, refusal
	}

	body, refusal := h.rules.Read(w.ResponseWriter, r) // which asks the server to close the connection of a long body
	if refusal != nil {
		return nil, refusal
	}

	if httprequest.IsReadBefore(r, body) {
		h.logger().ErrorContext(r.Context(), "no request is served whose body was read before; the middleware in front that reads it must put it back")

		return nil, problem.ServerError
	}

	if x.key, refusal = h.key(httprequest.WithBody(r, body), header); refusal != nil {
		return nil, refusal
	}

	x.r = httprequest.WithBody(r, body)
	x.with = idemddb.ClaimOptions{Wait: h.opts.Wait, Optimistic: h.opts.Optimistic, Fingerprint: h.rules.Fingerprint(r, body)}

	return x, nil
}

// HTTPKey returns the key under which [HTTP] keeps the record of a request: the list of its caller and of its header Idempotency-Key.
// caller is what HTTPOptions.Caller returns for the request. It is for programs that look at records, such as idem. It reads nothing of
// the request but its header, and is safe for concurrent use.
//
// The error wraps [ErrNoKey] and says what is missing: there is no caller, or the header is absent, stands twice, or is not valid. A
// request without the header that HTTP serves all the same has a random key, which nobody can compute.
func HTTPKey(caller string, r *http.Request) (string, error) {
	header, refusal := httprequest.Key(r.Header)

	switch {
	case refusal != nil:
		return "", noKey("header %s is not valid: %s", httprequest.KeyHeader, refusal.Detail)
	case header == "":
		return "", noKey("header %s is absent", httprequest.KeyHeader)
	default:
		return listKey("what does HTTPOptions.Caller return for this request?", field{"caller", caller}, field{httprequest.KeyHeader, header})
	}
}

// header returns the header Idempotency-Key of a request; "" if it is absent and need not be there.
func (h *httpHandler) header(r *http.Request) (string, *problem.Details) {
	header, refusal := httprequest.Key(r.Header)
	if refusal == nil && header == "" && h.opts.Required {
		return "", problem.KeyMissing
	}

	return header, refusal
}

// key returns the idempotency key of a request: the one that HTTPKey returns if the request has the header.
func (h *httpHandler) key(r *http.Request, header string) (string, *problem.Details) {
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
		h.logger().WarnContext(r.Context(), "HTTPOptions.Caller named no caller", errorAttr(err))

		return "", problem.CallerUnknown
	}

	return key, nil
}
