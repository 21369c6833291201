package lambdawrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/idemhttp"
)

// HTTPOptions shape [HTTP]. Caller is required. Zero means the default of each other field.
type HTTPOptions struct {
	// Caller returns who sends a request. It must come from what was verified, such as the subject of a token, and never from a
	// header that the client chooses: two callers with one Idempotency-Key are two pieces of work, and neither gets the other's
	// answer. "" and an error are answered with 401, and nothing is stored; an error is logged. It gets a copy of the request, whose
	// body has at most MaxBody bytes; whatever it does to the body, the handler gets it as it was sent. It is called concurrently,
	// and not at all with IDEMDDB_DISABLED, so it replaces no authentication. Required: without it, each request is answered with
	// 500.
	Caller func(*http.Request) (string, error)

	// Conflict, Mismatch and KeyMissing are answers of your own in the place of the 409 for a key that is being worked on (which
	// keeps its Retry-After), of the 422 for a key that was used for another request, and of the 400 for a missing key. Default to
	// nil: problem details.
	Conflict, Mismatch, KeyMissing *HTTPAnswer

	// EndHeader is the name of a header of replays that says when their record ends, as a date of HTTP. After that time the key is
	// new. Defaults to "": none.
	EndHeader string

	// FingerprintHeaders are names of headers that belong to what a request asks for, as one that chooses a tenant or a version of
	// the API: a request that is repeated with other values is answered with 422. Adding one makes the repetition of an earlier
	// request a mismatch, whether it has the header or not. Defaults to none but Content-Type.
	FingerprintHeaders []string

	// Hosts are names of one and the same service, such as a domain of your own and that of the function URL behind it: a request
	// that is repeated at another of them is the same request. A name may have a port. Defaults to none: the host that a client
	// names, in lower case and without the ports 80 and 443, is compared, so that no virtual host answers for another one behind the
	// same handler.
	Hosts []string

	// Keep reports whether an answer with this status is final: then it is stored, and later requests with the key get it. Any other
	// answer releases the key and drops what was staged, so that the next request runs the handler again. Defaults to: 2xx, 3xx, and
	// 4xx except 401, 403, 407, 408, 409, 421, 425 and 429.
	Keep func(status int) bool

	// Logger gets one line for each request that does not end well, with the hash of its key, never its body. It also gets a warning
	// for each takeover, and a line for each staged message that is not sent. Defaults to slog.Default() at the time of the call.
	Logger *slog.Logger

	// MaxBody is how many bytes the body of a request may have; it is read into memory. A longer one is answered with 413, and not
	// read at all if its length is announced. Negative makes each request be answered with 500. Defaults to 1 MiB.
	MaxBody int64

	// OnReplay is called before a stored answer is sent. record.Result is that answer as an HTTP/1.1 message, which http.ReadResponse
	// reads; the hook may replace it. If it returns an error or panics, the request is answered with 500, the error is logged, and
	// the key stays completed. Defaults to nil.
	OnReplay func(ctx context.Context, record *idemddb.Record) error

	// Optimistic is for handlers that have no effect but what they stage ([idemddb.Stage]). The key is not claimed beforehand: the
	// handler runs, and one transaction commits the record, the answer and the effects together. Two requests at the same time may
	// both run; one is committed, and the other gets its answer, so 409 for a key in progress does not occur. A later request runs
	// the handler again, too, before it gets the stored answer, unless Options.Cache of the Store has it. [idemddb.FromContext] has
	// no claim. The Store must have a Retention of at least 1 hour and a client with TransactWriteItems; otherwise each request is
	// answered with 500, and the log says why. A 2xx or 3xx of a handler that did not call Stage, not even as
	// Stage(ctx, Effects{}), becomes a 500, with an ERROR in the log. Defaults to false.
	Optimistic bool

	// Required answers a request without an Idempotency-Key with 400. Defaults to false: it runs under a random key, so that Stage
	// works.
	Required bool

	// Reserve is the part of the time until the context's deadline, as that of a Lambda invocation, that is kept back for storing
	// and sending the answer. When it begins, the handler's context ends; an answer that the handler then still gives is stored as
	// it is. On a server, where nothing kills a handler at a deadline, as that of http.TimeoutHandler, one that goes on keeps its
	// key, and its answer is stored, too. Without a deadline there is no reserve. Negative makes each request be answered with 500.
	// Defaults to 1 s.
	Reserve time.Duration

	// Timeout is when the handler's context ends. A client that leaves does not end it, so on a server without deadlines a handler
	// that may hang needs one. Negative makes each request be answered with 500. Defaults to 0: no limit.
	Timeout time.Duration

	// Wait is how long a request waits for another one with its key, before it is answered with 409. It costs 1 request and 1 WCU for
	// each look, after pauses of 50 ms to 1 s. It ends before the Reserve. With Optimistic the commit waits. Negative makes each
	// request be answered with 500. Defaults to 0: it does not wait.
	Wait time.Duration
}

// HTTPAnswer is an answer of your own to a request that [HTTP] refuses.
type HTTPAnswer struct {
	Status      int    // 400 to 599, so that no client takes the refusal for a success
	ContentType string // of Body
	Body        []byte // sent as it is
}

const defaultMaxBody = 1 << 20

// HTTP makes a handler idempotent by the header Idempotency-Key: the handler runs once for each key of a caller, and all requests
// with that key get the same answer, which is stored in the record. What the handler stages ([idemddb.Stage]) is written in one
// transaction with its answer. GET, HEAD and OPTIONS are passed on untouched.
//
//	handler := lambdawrap.HTTP(store, mux, &lambdawrap.HTTPOptions{Caller: subject})
//	lambdaurl.Start(authenticate(handler))  // or http.ListenAndServe
//
// Authentication, and all else that must happen for each request, stands before it: a replay does not call the handler. The
// handler's answer is held back until it is stored, so there is nothing to stream, no Hijacker, and Flush has no effect. A client
// that leaves cancels nothing.
//
//	what happened                                          answer
//	first run, status kept                                 the handler's, with Idempotent-Replayed: false
//	completed before                                       the stored one, with Idempotent-Replayed: true, or body-omitted if the body did not fit
//	status not kept                                        the handler's; the key is released, and what was staged is dropped
//	no key, where HTTPOptions.Required; not a key          400
//	no caller                                              401
//	another request with the key is being worked on        409 with Retry-After: what the last requests took, at most the rest of its lease
//	the condition of a staged item was false               409, and the key is released; 422 if Effects.Refused says Permanent
//	completed before, and the large answer is lost         410
//	a staged item that DynamoDB refuses otherwise          500, and the key is released: a missing permission or table, a wrong expression
//	body over HTTPOptions.MaxBody                          413
//	key used for another request                           422; host, method, path, query, content type and body are compared
//	key failed for good, attempts used up                  422
//	CONNECT                                                501
//	DynamoDB away; staged effects not known to be committed  503 with Retry-After; the handler never runs unguarded
//	handler panics, or ends its goroutine                  500, and the key is released; then the panic goes on
//
// The 500 of a panic is written so that no adapter takes the missing answer for a success, as that of function URLs does. With
// [http.ErrAbortHandler] it is not flushed, so a server of net/http drops it and aborts the connection. A panic that nobody
// recovers ends a Lambda function with all of its requests in flight: put a handler that recovers around this one. If the key is
// completed already, as that of a repeated request with Optimistic can be, the client gets the stored answer in place of the 500.
//
// An offer to upgrade the connection (the header Upgrade) is ignored.
//
// Its own answers are problem details (RFC 9457), whose types do not change. docs/http.md describes each.
//
// If IDEMDDB_DISABLED turned the Store off, the handler runs for every request, whatever its key and caller, and one warning is
// logged. What it stages is written without a record.
//
// The returned handler is safe for concurrent use. With a wrong option it answers each request with 500, names the field in the
// answer and logs it. HTTP panics for a nil store or handler.
func HTTP(store *idemddb.Store, next http.Handler, opts *HTTPOptions) http.Handler {
	if next == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	if opts == nil {
		opts = &HTTPOptions{}
	}

	w := newWrapper(store, &Options{
		Logger: opts.Logger, Optimistic: opts.Optimistic, Reserve: opts.Reserve, Timeout: opts.Timeout, Wait: opts.Wait,
	}, "HTTPOptions")
	w.invalid = errors.Join(w.invalid, opts.validate())

	h := &httpHandler{wrapper: w, next: next, opts: *opts}
	h.rules = idemhttp.Rules{MaxBody: cmp.Or(opts.MaxBody, defaultMaxBody), Hosts: slices.Clone(opts.Hosts), Headers: canonical(opts.FingerprintHeaders)}

	if opts.Keep == nil {
		h.opts.Keep = isFinal
	}

	return h
}

// httpHandler is a handler that HTTP wrapped.
type httpHandler struct {
	*wrapper

	next  http.Handler
	opts  HTTPOptions // with the default of Keep
	rules idemhttp.Rules
}

func (h *httpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.invalid != nil:
		h.logger().ErrorContext(r.Context(), "no request is served", errorAttr(h.invalid))
		idemhttp.ServerError.With(h.invalid.Error()).Write(w)
	case slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method):
		h.next.ServeHTTP(w, r)
	default:
		h.guard(w, r)
	}
}

// guard answers a request that has effects.
func (h *httpHandler) guard(w http.ResponseWriter, r *http.Request) {
	answer := &reply{ResponseWriter: w}
	defer answer.end()

	x, refusal := h.accept(answer, r)
	if refusal != nil {
		refusal.Write(answer)

		return
	}

	x.times = h.timesOf(r.Context())
	if engine.RequestID(r.Context()) == "" { // a server ends no handler at its deadline: the key is held for as long as it runs
		x.deadline = time.Time{}
	}

	ctx, cancel := x.workContext(context.WithoutCancel(r.Context())) // a client that leaves cancels nothing
	defer cancel()

	i := *engine.Of(ctx)
	i.Noted = func(kind, key string, err error) { h.logNote(ctx, note{kind, key, err}) }

	x.conclude(ctx, x.work(engine.With(ctx, &i)))
}

// canonical returns the names of headers in one spelling and order.
func canonical(names []string) (sorted []string) {
	for _, name := range names {
		sorted = append(sorted, http.CanonicalHeaderKey(name))
	}

	slices.Sort(sorted)

	return slices.Compact(sorted)
}

// isFinal is the default of HTTPOptions.Keep. The other answers say that the same request may succeed later.
func isFinal(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusMisdirectedRequest, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return status >= http.StatusOK && status < http.StatusInternalServerError
	}
}

func (o *HTTPOptions) validate() error {
	switch {
	case o.Caller == nil:
		return errors.New("lambdawrap: HTTPOptions.Caller: must not be nil; return who sends the request, from what was verified")
	case o.MaxBody < 0:
		return fmt.Errorf("lambdawrap: HTTPOptions.MaxBody: must not be negative, is %d", o.MaxBody)
	}

	if o.EndHeader != "" && !idemhttp.IsHeader(o.EndHeader) {
		return fmt.Errorf("lambdawrap: HTTPOptions.EndHeader: must be the name of a header, is %.100q", o.EndHeader)
	}

	for i, name := range o.FingerprintHeaders {
		if !idemhttp.IsHeader(name) {
			return fmt.Errorf("lambdawrap: HTTPOptions.FingerprintHeaders[%d]: must be the name of a header, is %.100q", i, name)
		}
	}

	for _, own := range []struct {
		name   string
		answer *HTTPAnswer
	}{{"Conflict", o.Conflict}, {"Mismatch", o.Mismatch}, {"KeyMissing", o.KeyMissing}} {
		if own.answer != nil && (own.answer.Status < 400 || own.answer.Status > 599) {
			return fmt.Errorf("lambdawrap: HTTPOptions.%s.Status: must be from 400 to 599, is %d", own.name, own.answer.Status)
		}
	}

	for i, host := range o.Hosts {
		if host == "" || strings.ContainsAny(host, "/ ") {
			return fmt.Errorf("lambdawrap: HTTPOptions.Hosts[%d]: must be the name of a host, as api.example.com, is %.100q", i, host)
		}
	}

	return nil
}
