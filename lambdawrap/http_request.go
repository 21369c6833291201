package lambdawrap

import (
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/idemhttp"
	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// accept reads a request: its key, its caller and its body. If there is a problem, that is the answer, and nothing was claimed.
// The header Upgrade only offers another protocol, and a server may ignore it (RFC 9110, section 7.8).
func (h *httpHandler) accept(w *reply, r *http.Request) (*exchange, *idemhttp.Problem) {
	if r.Method == http.MethodConnect {
		return nil, idemhttp.UpgradeUnsupported
	}

	x := &exchange{httpHandler: h, w: w, r: r, answer: idemhttp.HoldAnswer(w)}

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

	if idemhttp.IsReadBefore(r, body) {
		h.logger().ErrorContext(r.Context(), "no request is served whose body was read before; the middleware in front that reads it must put it back")

		return nil, idemhttp.ServerError
	}

	if x.key, refusal = h.key(idemhttp.WithBody(r, body), header); refusal != nil {
		return nil, refusal
	}

	x.r = idemhttp.WithBody(r, body)
	x.with = idemddb.ClaimOptions{Wait: h.opts.Wait, Optimistic: h.opts.Optimistic, Fingerprint: h.rules.Fingerprint(r, body)}

	return x, nil
}

// HTTPKey returns the key under which [HTTP] keeps the record of a request: the list of its caller and of its header
// Idempotency-Key. caller is what HTTPOptions.Caller returns for the request. It is for programs that look at records, such as
// idem. It reads nothing of the request but its header, and is safe for concurrent use.
//
// The error wraps [ErrNoKey] and says what is missing: there is no caller, or the header is absent, stands twice, or is not
// valid. A request without the header that HTTP serves all the same has a random key, which nobody can compute.
func HTTPKey(caller string, r *http.Request) (string, error) {
	header, refusal := idemhttp.Key(r.Header)

	switch {
	case refusal != nil:
		return "", noKey("header %s is not valid: %s", idemhttp.KeyHeader, refusal.Detail)
	case header == "":
		return "", noKey("header %s is absent", idemhttp.KeyHeader)
	default:
		return listKey("what does HTTPOptions.Caller return for this request?", field{"caller", caller}, field{idemhttp.KeyHeader, header})
	}
}

// header returns the header Idempotency-Key of a request; "" if it is absent and need not be there.
func (h *httpHandler) header(r *http.Request) (string, *idemhttp.Problem) {
	header, refusal := idemhttp.Key(r.Header)
	if refusal == nil && header == "" && h.opts.Required {
		return "", idemhttp.KeyMissing.As((*idemhttp.Own)(h.opts.KeyMissing))
	}

	return header, refusal
}

// key returns the idempotency key of a request: the one that HTTPKey returns if the request has the header.
func (h *httpHandler) key(r *http.Request, header string) (string, *idemhttp.Problem) {
	caller, err := h.opts.Caller(r)
	if err == nil && caller == "" {
		return "", idemhttp.CallerUnknown
	}

	parts := []string{caller, header}
	if header == "" {
		parts = append(parts, rand.Text()) // three parts, so no header makes this key
	}

	key, errKey := strictjson.ListKey(parts...)
	if err = errors.Join(err, errKey); err != nil {
		h.logger().WarnContext(r.Context(), "HTTPOptions.Caller named no caller", errorAttr(err))

		return "", idemhttp.CallerUnknown
	}

	return key, nil
}
