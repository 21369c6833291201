package idemhttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Problem is an answer of the wrapper itself: the problem details of RFC 9457.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	retryAfter time.Duration // 0 for none
	own        *Own          // in place of the problem details; nil for none
}

// Own is an answer of the program's own in the place of problem details.
type Own struct {
	Status      int
	ContentType string
	Body        []byte
}

// As returns the problem as an answer of the program's own; unchanged if there is none.
func (p Problem) As(own *Own) *Problem {
	p.own = own

	return &p
}

// types is the beginning of each type. Types are part of the interface and do not change. docs/http.md has a heading for each.
const types = "https://github.com/idemddb/go-idemddb/blob/main/docs/http.md#"

// The problems. Each has the name of its type.
var (
	KeyMissing = &Problem{
		Type: types + "key-missing", Status: http.StatusBadRequest, Title: "Idempotency-Key is missing",
		Detail: "Send the header Idempotency-Key: a new value for each operation, and the same value whenever you repeat the operation.",
	}
	KeyInvalid = &Problem{
		Type: types + "key-invalid", Status: http.StatusBadRequest, Title: "Idempotency-Key is not valid",
		Detail: "Send the header Idempotency-Key once, with 1 to 255 visible ASCII characters and no comma. Double quotes around it do not count.",
	}
	BodyUnreadable = &Problem{
		Type: types + "body-unreadable", Status: http.StatusBadRequest, Title: "The body could not be read",
		Detail: "The connection ended before the body did, or the body is not encoded as its headers say. Nothing was done; send the request again.",
	}
	CallerUnknown = &Problem{
		Type: types + "caller-unknown", Status: http.StatusUnauthorized, Title: "The caller is not known",
		Detail: "Send the request with valid credentials.",
	}
	KeyInProgress = &Problem{
		Type: types + "key-in-progress", Status: http.StatusConflict, Title: "A request with this Idempotency-Key is being worked on",
		Detail: "Send the same request again after the time in Retry-After; it then gets the answer of the other one.",
	}
	ConditionFailed = &Problem{
		Type: types + "condition-failed", Status: http.StatusConflict, Title: "The request does not fit the present state",
		Detail: "Nothing was written. The same request may be sent again.",
	}
	AnswerLost = &Problem{
		Type: types + "answer-lost", Status: http.StatusGone, Title: "The answer to this request is lost",
		Detail: "The request was worked on before, once, and its answer is not kept any more. Do not send it again under a new " +
			"Idempotency-Key; look up what it did.",
	}
	BodyTooLarge = &Problem{
		Type: types + "body-too-large", Status: http.StatusRequestEntityTooLarge, Title: "The body is too large",
	}
	KeyReused = &Problem{
		Type: types + "key-reused", Status: http.StatusUnprocessableEntity, Title: "Idempotency-Key was used for another request",
		Detail: "Host, method, path, query, Content-Type or body differ from those of the first request with this key. " +
			"Send the first request again as it was, or another one with a new key.",
	}
	KeyFailed = &Problem{
		Type: types + "key-failed", Status: http.StatusUnprocessableEntity, Title: "The request has failed for good",
		Detail: "It will not be run again under this Idempotency-Key.",
	}
	ServerError = &Problem{
		Type: types + "server-error", Status: http.StatusInternalServerError, Title: "The server has a mistake",
		Detail: "Its log says which. What the request asked for is not known to be done.",
	}
	UpgradeUnsupported = &Problem{
		Type: types + "upgrade-unsupported", Status: http.StatusNotImplemented, Title: "The connection cannot be upgraded",
		Detail: "The method CONNECT is not served.",
	}
	Unavailable = &Problem{
		Type: types + "unavailable", Status: http.StatusServiceUnavailable, Title: "The request is not known to be done",
		Detail: "Send the same request again, with the same Idempotency-Key, after the time in Retry-After.", retryAfter: time.Second,
	}
)

// With returns the problem with another detail.
func (p Problem) With(detail string) *Problem {
	p.Detail = detail

	return &p
}

// After returns the problem with a time to wait, which the client gets in whole seconds, rounded up.
func (p Problem) After(wait time.Duration) *Problem {
	p.retryAfter = wait

	return &p
}

// Write sends the problem as the answer.
func (p *Problem) Write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and a number can always be encoded
	}

	status, kind := p.Status, "application/problem+json"
	if p.own != nil {
		status, kind, body = p.own.Status, p.own.ContentType, p.own.Body
	}

	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))

	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((p.retryAfter-1)/time.Second)+1, 10))
	}

	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone asks again
}
