package lambdawrap_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestHTTPKeyIsOneHeaderOfVisibleCharacters(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		values []string
		want   string // the problem; "" for none
	}{
		"one character":             {[]string{"k"}, ""},
		"255 characters":            {[]string{strings.Repeat("k", 255)}, ""},
		"255 characters in quotes":  {[]string{`"` + strings.Repeat("k", 255) + `"`}, ""},
		"every visible character":   {[]string{`!"#$%&'()*+-./09:;<=>?@AZ[\]^_az{|}~`}, ""},
		"256 characters":            {[]string{strings.Repeat("k", 256)}, "key-invalid"},
		"256 characters in quotes":  {[]string{`"` + strings.Repeat("k", 256) + `"`}, "key-invalid"},
		"empty":                     {[]string{""}, "key-invalid"},
		"nothing in quotes":         {[]string{`""`}, "key-invalid"},
		"a quote alone":             {[]string{`"`}, "key-invalid"},
		"a quote at one end":        {[]string{`"k`}, "key-invalid"},
		"a quote at the other end":  {[]string{`k"`}, "key-invalid"},
		"twice":                     {[]string{"k", "k"}, "key-invalid"},
		"two that a gateway joined": {[]string{"k,k"}, "key-invalid"},
		"a space":                   {[]string{"k 1"}, "key-invalid"},
		"a control character":       {[]string{"k\x7f"}, "key-invalid"},
		"other letters than ASCII":  {[]string{"schlüssel"}, "key-invalid"},
	} {
		each(t, name, oneWeb, func(w *web) {
			w.opts.Required = true
			got := w.post("", "{}", func(r *http.Request) { r.Header["Idempotency-Key"] = test.values })
			key, err := lambdawrap.HTTPKey("c-1", &http.Request{Header: http.Header{"Idempotency-Key": test.values}})

			if test.want == "" {
				w.answered(got, http.StatusCreated, "false", `{"id":"p-1"}`)
				w.equal("error of HTTPKey", err, nil)
				w.equal("the key of HTTPKey is that of the record", w.state(key), "COMPLETED")

				return
			}

			w.equal("HTTPKey says that there is no key", errors.Is(err, lambdawrap.ErrNoKey) && key == "", true)

			w.refused(got, http.StatusBadRequest, test.want)
			w.runs(0)
			w.equal("requests", len(w.db.Requests()), 0)
		})
	}
}

func TestHTTPWithoutAKeyIsRefusedOrRunsUnderARandomOne(t *testing.T) {
	w := parallelWeb(t)
	w.work = func(rw http.ResponseWriter, r *http.Request) {
		w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{}), nil)
		created(rw, r)
	}

	w.answered(w.post("", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	w.answered(w.post("", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	w.runs(2)

	w.opts.Required = true
	w.refused(w.post("", "{}"), http.StatusBadRequest, "key-missing")
	w.runs(2)
}

func TestHTTPPassesWhatNeedsNoKey(t *testing.T) {
	t.Parallel()

	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
		w := newWeb(t, nil)
		w.opts.Required = true
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			_, canRead := rw.(io.ReaderFrom)
			_, isKept := rw.(interface{ Unwrap() http.ResponseWriter })
			w.equal("the writer is another one", canRead || isKept, false)
			w.equal("Upgrade", r.Header.Get("Upgrade"), "websocket")
			rw.Header().Set("Set-Cookie", "a=b")
		}

		for range 2 {
			got := w.post("not, a key", "{}", header("Upgrade", "websocket"), func(r *http.Request) { r.Method = method })
			w.answered(got, http.StatusOK, "", "")
		}

		w.runs(2)
		w.equal("requests", len(w.db.Requests()), 0)
	}
}

func TestHTTPCallersDoNotShareKeys(t *testing.T) {
	w := parallelWeb(t)
	w.work = func(rw http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		_, _ = io.WriteString(rw, user)
	}

	for range 2 {
		w.equal("c-1", read(w.post("k", "{}")), "c-1")
		w.equal("c-2", read(w.post("k", "{}", as("c-2"))), "c-2")
	}

	w.runs(2)

	// A caller cannot make the key of another one.
	w.equal("c-1 again", read(w.post("2", "{}")), "c-1")
	w.equal("joined", read(w.post("", "{}", as(`c-1","2`))), `c-1","2`)
	w.equal("joined", read(w.post("k", "{}", as(`c-1","2`))), `c-1","2`)
	w.runs(5)
}

func TestHTTPWithoutACallerStoresNothing(t *testing.T) {
	t.Parallel()

	for name, caller := range map[string]func(*http.Request) (string, error){
		"nobody":        func(*http.Request) (string, error) { return "", nil },
		"an error":      func(*http.Request) (string, error) { return "c-1", errors.New("the token is over") },
		"no valid text": func(*http.Request) (string, error) { return "c\xff", nil },
	} {
		each(t, name, oneWeb, func(w *web) {
			w.opts.Caller = caller
			w.refused(w.post("k", "{}"), http.StatusUnauthorized, "caller-unknown")
			w.refused(w.post("", "{}"), http.StatusUnauthorized, "caller-unknown")
			w.runs(0)
			w.equal("requests", len(w.db.Requests()), 0)
			w.equal("the error is logged", strings.Contains(w.log.String(), "HTTPOptions.Caller"), name != "nobody")
		})
	}
}

func TestHTTPAnotherRequestUnderAKeyIsRefused(t *testing.T) {
	t.Parallel()

	path := func(to string) func(*http.Request) {
		return func(r *http.Request) { r.URL.RawPath, r.URL.Path = to, strings.ReplaceAll(to, "%2F", "/") }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	query := func(q string) func(*http.Request) { return func(r *http.Request) { r.URL.RawQuery = q } }
	offer := func(r *http.Request) { // as Java's HttpClient and curl --http2 send it with each first request
		r.Header.Set("Connection", "Upgrade, HTTP2-Settings")
		r.Header.Set("Upgrade", "h2c")
		r.Header.Set("HTTP2-Settings", "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA")
	}

	for name, test := range map[string]struct {
		first, second func(*http.Request)
		isSame        bool
	}{
		"another method":                     {header("A", "1"), func(r *http.Request) { r.Method = http.MethodPut }, false},
		"another path":                       {path("/payments"), path("/refunds"), false},
		"another path, when it is decoded":   {path("/a/b"), path("/a%2Fb"), false},
		"another query":                      {query("a=1"), query("a=2"), false},
		"another order of the query's names": {query("a=1&b=2"), query("b=2&a=1"), true},
		"another order of one name's values": {query("a=1&a=2"), query("a=2&a=1"), false},
		"a query that cannot be read":        {query("a=1;b=2"), query("a=1;b=3"), false},
		"another content type":               {header("Content-Type", "text/plain"), header("Content-Type", "text/html"), false},
		"another body": {header("A", "1"), func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader("{ }"))
		}, false},
		"another header":                    {header("A", "1"), header("A", "2"), true},
		"quotes around the key":             {header("Idempotency-Key", `"k"`), header("Idempotency-Key", "k"), true},
		"an offer to upgrade":               {offer, offer, true},
		"another host":                      {host("a.example.com"), host("b.example.com"), false},
		"another port":                      {host("a.example.com"), host("a.example.com:8080"), false},
		"the host in other letters":         {host("a.example.com"), host("A.Example.COM"), true},
		"the host with the port of HTTP":    {host("a.example.com"), host("a.example.com:80"), true},
		"the host with the port of HTTPS":   {host("[::1]"), host("[::1]:443"), true},
		"two hosts that are one":            {host("one.example.com"), host("two.example.com"), true},
		"two hosts that are one, and ports": {host("ONE.example.com:443"), host("two.example.com:80"), true},
		"a host beside two that are one":    {host("one.example.com"), host("three.example.com"), false},
	} {
		each(t, name, oneWeb, func(w *web) {
			w.opts.Hosts = []string{"one.example.com", "Two.example.com:443"}
			w.answered(w.post("k", "{}", test.first), http.StatusCreated, "false", `{"id":"p-1"}`)

			got := w.post("k", "{}", test.second)
			if test.isSame {
				w.answered(got, http.StatusCreated, "true", `{"id":"p-1"}`)
			} else {
				w.refused(got, http.StatusUnprocessableEntity, "key-reused")
			}

			w.runs(1)
		})
	}
}

func TestHTTPAnotherRequestIsRefusedAlsoWhileTheFirstRuns(t *testing.T) {
	inWebBubble(nil)(t, func(w *web) {
		w.opts.Wait = time.Minute
		begun := time.Now()
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			if w.ran.Load() == 1 {
				w.refused(w.post("k", "[]"), http.StatusUnprocessableEntity, "key-reused")
				w.equal("it waited", time.Since(begun), time.Duration(0))
			}

			created(rw, r)
		}

		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
		w.runs(1)
	})
}

func TestHTTPHandlersReadTheBodyThatWasSent(t *testing.T) {
	t.Parallel()

	binary := string(bytes.Repeat([]byte{0, 0xff, '\n'}, 1000))

	for name, body := range map[string]string{"none": "", "binary": binary, "as long as it may be": strings.Repeat("b", 1<<20)} {
		each(t, name, oneWeb, func(w *web) {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				w.equal("error", err, nil)
				w.equal("the body is as it was sent", string(got) == body, true)
				w.equal("its length", r.ContentLength, int64(len(body)))
				w.equal("there is none", r.Body == http.NoBody, body == "")
				rw.WriteHeader(http.StatusAccepted)
			}

			w.answered(w.post("k", body, func(r *http.Request) { r.ContentLength, r.TransferEncoding = -1, []string{"chunked"} }),
				http.StatusAccepted, "false", "")
			w.runs(1)
		})
	}
}

func TestHTTPWhatCannotBeTaken(t *testing.T) {
	w := parallelWeb(t)
	w.refused(w.post("k", strings.Repeat("b", 1<<20+1)), http.StatusRequestEntityTooLarge, "body-too-large")

	w.opts.MaxBody = 4
	w.refused(w.post("k", "12345"), http.StatusRequestEntityTooLarge, "body-too-large")
	w.refused(w.post("k", "", func(r *http.Request) {
		r.Body = io.NopCloser(iotest.ErrReader(errors.New("connection reset")))
	}), http.StatusBadRequest, "body-unreadable")
	w.refused(w.post("k", "{}", func(r *http.Request) { r.Method = http.MethodConnect }), http.StatusNotImplemented, "upgrade-unsupported")
	w.runs(0)
	w.equal("requests", len(w.db.Requests()), 0)

	w.answered(w.post("k", "1234"), http.StatusCreated, "false", `{"id":"p-1"}`)
}

func TestHTTPWithAWrongOptionServesNothing(t *testing.T) {
	t.Parallel()

	none := newWeb(t, nil)
	got := answerOf(lambdawrap.HTTP(none.store, http.HandlerFunc(created), nil), request("k", "{}"))
	none.refused(got, http.StatusInternalServerError, "server-error")

	for field, change := range map[string]func(*lambdawrap.HTTPOptions){
		"Caller":                func(o *lambdawrap.HTTPOptions) { o.Caller = nil },
		"MaxBody":               func(o *lambdawrap.HTTPOptions) { o.MaxBody = -1 },
		"Hosts":                 func(o *lambdawrap.HTTPOptions) { o.Hosts = []string{"a.example.com", "https://b.example.com"} },
		"Hosts[0]":              func(o *lambdawrap.HTTPOptions) { o.Hosts = []string{""} },
		"Wait":                  func(o *lambdawrap.HTTPOptions) { o.Wait = -1 },
		"Timeout":               func(o *lambdawrap.HTTPOptions) { o.Timeout = -1 },
		"Reserve":               func(o *lambdawrap.HTTPOptions) { o.Reserve = -1 },
		"Conflict.Status":       func(o *lambdawrap.HTTPOptions) { o.Conflict = &lambdawrap.HTTPAnswer{Status: 200} },
		"Mismatch.Status":       func(o *lambdawrap.HTTPOptions) { o.Mismatch = &lambdawrap.HTTPAnswer{Status: 600} },
		"KeyMissing.Status":     func(o *lambdawrap.HTTPOptions) { o.KeyMissing = &lambdawrap.HTTPAnswer{} },
		"EndHeader":             func(o *lambdawrap.HTTPOptions) { o.EndHeader = "a:b" },
		"FingerprintHeaders[0]": func(o *lambdawrap.HTTPOptions) { o.FingerprintHeaders = []string{"", "b"} },
		"FingerprintHeaders[1]": func(o *lambdawrap.HTTPOptions) { o.FingerprintHeaders = []string{"a", "b c"} },
		"FingerprintHeaders[2]": func(o *lambdawrap.HTTPOptions) { o.FingerprintHeaders = []string{"a", "~", "ü"} },
	} {
		w := newWeb(t, nil)
		change(&w.opts)

		for _, method := range []string{http.MethodPost, http.MethodGet} {
			got := w.post("k", "{}", func(r *http.Request) { r.Method = method })
			w.refused(got, http.StatusInternalServerError, "server-error")
		}

		w.equal("the answer says which", strings.Contains(read(w.post("k", "{}")), "HTTPOptions."+field), true)
		w.logs("HTTPOptions."+field, ": must ")
		w.runs(0)
	}
}
