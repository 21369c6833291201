package lambdawrap

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problem is an answer of the wrapper itself: problem details of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	retryAfter int32 // seconds; 0 for none
}

// problemTypes is the beginning of each type. Types are part of the interface and do not change. docs/http.md has a heading for each.
const problemTypes = "https://github.com/idemddb/go-idemddb/blob/main/docs/http.md#"

// soon is the pause, in seconds, after which a request whose outcome is not known may be sent again.
const soon = 1

var (
	problemKeyMissing = problem{
		Type: problemTypes + "key-missing", Status: http.StatusBadRequest, Title: "Idempotency-Key is missing",
		Detail: "Send the header Idempotency-Key: a new value for each operation, and the same value whenever you repeat the operation.",
	}
	problemKeyInvalid = problem{
		Type: problemTypes + "key-invalid", Status: http.StatusBadRequest, Title: "Idempotency-Key is not valid",
		Detail: "Send the header Idempotency-Key once, with 1 to 255 visible ASCII characters and no comma. Double quotes around it do not count.",
	}
	problemBody = problem{
		Type: problemTypes + "body-unreadable", Status: http.StatusBadRequest, Title: "The body could not be read",
		Detail: "The connection ended before the body did, or the body is not encoded as its headers say. Nothing was done; send the request again.",
	}
	problemCaller = problem{
		Type: problemTypes + "caller-unknown", Status: http.StatusUnauthorized, Title: "The caller is not known",
		Detail: "Send the request with valid credentials.",
	}
	problemInProgress = problem{
		Type: problemTypes + "key-in-progress", Status: http.StatusConflict, Title: "A request with this Idempotency-Key is being worked on",
		Detail: "Send the same request again after the time in Retry-After; it then gets the answer of the other one.",
	}
	problemEffect = problem{
		Type: problemTypes + "condition-failed", Status: http.StatusConflict, Title: "The request does not fit the present state",
		Detail: "Nothing was written. The same request may be sent again.",
	}
	problemAnswerLost = problem{
		Type: problemTypes + "answer-lost", Status: http.StatusGone, Title: "The answer to this request is lost",
		Detail: "The request was worked on before, once, and its answer is not kept any more. Do not send it again under a new " +
			"Idempotency-Key; look up what it did.",
	}
	problemBodyTooLarge = problem{
		Type: problemTypes + "body-too-large", Status: http.StatusRequestEntityTooLarge, Title: "The body is too large",
	}
	problemKeyReused = problem{
		Type: problemTypes + "key-reused", Status: http.StatusUnprocessableEntity, Title: "Idempotency-Key was used for another request",
		Detail: "Method, path, query, Content-Type or body differ from those of the first request with this key. " +
			"Send the first request again as it was, or another one with a new key.",
	}
	problemFailed = problem{
		Type: problemTypes + "key-failed", Status: http.StatusUnprocessableEntity, Title: "The request has failed for good",
		Detail: "It will not be run again under this Idempotency-Key.",
	}
	problemServer = problem{
		Type: problemTypes + "server-error", Status: http.StatusInternalServerError, Title: "The server has a mistake",
		Detail: "Its log says which. What the request asked for is not known to be done.",
	}
	problemUpgrade = problem{
		Type: problemTypes + "upgrade-unsupported", Status: http.StatusNotImplemented, Title: "The connection cannot be upgraded",
		Detail: "Only GET, HEAD and OPTIONS may have the header Upgrade.",
	}
	problemUnavailable = problem{
		Type: problemTypes + "unavailable", Status: http.StatusServiceUnavailable, Title: "The request is not known to be done",
		Detail: "Send the same request again, with the same Idempotency-Key, after the time in Retry-After.", retryAfter: soon,
	}
)

// with returns the problem with another detail.
func (p problem) with(detail string) *problem {
	p.Detail = detail

	return &p
}

// after returns the problem with a time to wait.
func (p problem) after(seconds int32) *problem {
	p.retryAfter = seconds

	return &p
}

func (p *problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // never: texts and a number
	}

	w.Header().Set("Content-Type", "application/problem+json")

	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(p.retryAfter)))
	}

	sendBody(w, p.Status, body)
}
