package lambdawrap_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"
)

func TestHTTPServerRunsParallelDuplicatesOnceAndAnswersThemAlike(t *testing.T) {
	w := parallelWeb(t)
	w.opts.Wait = time.Minute
	w.work = stagingHandler(nil)

	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		answers = map[string]int{}
	)

	for range 20 {
		wg.Go(func() {
			got, err := w.roundTrip(request("k", "{}"))
			if err != nil {
				t.Error(err)

				return
			}

			defer got.Body.Close()

			mu.Lock()
			defer mu.Unlock()

			answers[got.Header.Get("Idempotent-Replayed")+" "+got.Status+" "+got.Header.Get("Location")+" "+read(got)]++
		})
	}

	wg.Wait()

	want := map[string]int{`false 201 Created /payments/p-1 {"id":"p-1"}`: 1, `true 201 Created /payments/p-1 {"id":"p-1"}`: 19}
	same(t, "answers", answers, want)

	w.runs(1)
	w.refused(w.post("k", "[]"), http.StatusUnprocessableEntity, "key-reused")
}

func TestHTTPServerPassesInformationalAnswersAndKeepsNone(t *testing.T) {
	w := parallelWeb(t)
	w.work = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Link", "</style.css>; rel=preload")
		rw.WriteHeader(http.StatusEarlyHints)
		rw.Header().Del("Link")
		created(rw, r)
	}

	for _, want := range [][]string{{"103 </style.css>; rel=preload"}, nil} {
		var informed []string

		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				informed = append(informed, strconv.Itoa(code)+" "+header.Get("Link"))

				return nil
			},
		})

		got := w.served(request("k", "{}").WithContext(ctx))
		w.equal("status, Link", []any{got.StatusCode, got.Header.Get("Link")}, []any{http.StatusCreated, ""})
		w.equal("informed", informed, want)
	}

	w.runs(1)
}

// invokeURL sends a request through the adapter of aws-lambda-go for function URLs.
func invokeURL(t testing.TB, handler http.Handler, r *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, string) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // an invocation has a deadline, too
	defer cancel()

	got, err := lambdaurl.Wrap(handler)(ctx, r)
	if err != nil {
		t.Fatal(err)
	}

	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}

	return got, string(body)
}

func TestHTTPBehindAFunctionURL(t *testing.T) {
	t.Parallel()

	const binary = "\x00\xff\xfe"

	w := newWeb(t, nil)
	w.opts.Caller = func(r *http.Request) (string, error) {
		url, _ := lambdaurl.RequestFromContext(r.Context())

		return url.RequestContext.Authorizer.IAM.UserARN, nil
	}
	w.work = func(rw http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		w.equal("the body", []any{string(got), err}, []any{binary, nil})
		rw.Header()["Set-Cookie"] = []string{"a=1; Path=/", "b=2"}
		rw.Header()["Link"] = []string{"</a>", "</b>"}
		stagingHandler(nil)(rw, r)
	}

	handler := w.handler()
	r := &events.LambdaFunctionURLRequest{
		RawPath: "/payments", RawQueryString: "a=1", Body: base64.StdEncoding.EncodeToString([]byte(binary)), IsBase64Encoded: true,
		Headers: map[string]string{"idempotency-key": "k", "content-type": "application/octet-stream"},
	}
	r.RequestContext.DomainName, r.RequestContext.HTTP.Method = "abc.lambda-url.eu-west-1.on.aws", http.MethodPost
	r.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
		IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::111122223333:user/c-1"},
	}

	want := map[string]string{
		"Content-Type": "application/json", "Location": "/payments/p-1", "Link": "</a>,</b>", "Content-Length": "12", "Idempotent-Replayed": "false",
	}
	cookies := []string{"a=1; Path=/", "b=2"}

	for _, replayed := range []string{"false", "true"} {
		want["Idempotent-Replayed"] = replayed
		got, body := invokeURL(t, handler, r)

		same(t, "answer", []any{got.StatusCode, body, got.Headers, got.Cookies}, []any{201, `{"id":"p-1"}`, want, cookies})

		cookies = nil
	}

	w.runs(1)
	w.equal("entries", len(w.db.Items("ledger")), 1)

	r.Headers["idempotency-key"] = "k,k" // a function URL joins two headers so
	got, _ := invokeURL(t, handler, r)
	w.equal("two keys", got.StatusCode, http.StatusBadRequest)
}

// roundTrip sends a request to a server of net/http.
func (w *web) roundTrip(r *http.Request) (*http.Response, error) {
	server := httptest.NewUnstartedServer(w.handler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	w.Cleanup(server.Close)

	r.RequestURI = ""
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(server.URL, "http://")

	return http.DefaultTransport.RoundTrip(r)
}

// served is the answer of a server of net/http.
func (w *web) served(r *http.Request) *http.Response {
	w.Helper()

	got, err := w.roundTrip(r)
	if err != nil {
		w.Fatal(err)
	}

	return got
}

// A server of net/http sends what was flushed, and aborts the connection.
func TestHTTPAServerSends500ForAPanicAndAbortsWhereTheHandlerAskedForThat(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		informs bool
		value   any
	}{
		"a panic":                            {false, "text"},
		"a panic after an informational one": {true, "text"},
		"an abort":                           {false, http.ErrAbortHandler},
	} {
		each(t, name, oneWeb, func(w *web) {
			w.work = func(rw http.ResponseWriter, _ *http.Request) {
				if test.informs {
					rw.WriteHeader(http.StatusEarlyHints)
				}

				panic(test.value)
			}

			got, err := w.roundTrip(request("k", "{}"))
			if test.value == http.ErrAbortHandler {
				w.equal("the connection is aborted", err != nil, true)

				return
			}

			if err != nil {
				w.Fatal(err)
			}
			defer got.Body.Close()

			w.refused(got, http.StatusInternalServerError, "server-error")
		})
	}
}

// postToURL sends a request through the adapter of function URLs, and returns the status before it reads the body: a process that
// panics dies at any moment after that.
func postToURL(ctx context.Context, h http.Handler, key string) (*events.LambdaFunctionURLStreamingResponse, error) {
	r := &events.LambdaFunctionURLRequest{RawPath: "/payments", Body: "{}", Headers: map[string]string{"Idempotency-Key": key}}
	r.RequestContext.HTTP.Method = http.MethodPost
	r.RequestContext.DomainName = "localhost"

	return lambdaurl.Wrap(h)(ctx, r)
}

// postedToURL sends requests at a time, each with a key of its own, and gives their answers to this function.
func (w *web) postedToURL(parallel int, answered func(key string, got *events.LambdaFunctionURLStreamingResponse)) {
	w.opts.Caller = func(*http.Request) (string, error) { return "c-1", nil }
	h := w.handler()

	var requests sync.WaitGroup

	for i := range parallel {
		requests.Go(func() {
			key := fmt.Sprint("k-", i)

			got, err := postToURL(w.Context(), h, key)
			if err != nil {
				w.Error(err)

				return
			}

			answered(key, got)
		})
	}

	requests.Wait()
}

func TestHTTPBehindAFunctionURLTheEndOfAGoroutineIs500(t *testing.T) {
	t.Parallel()

	for _, parallel := range []int{1, 64} {
		w := newWeb(t, nil)
		w.work = func(http.ResponseWriter, *http.Request) { goexit() }
		w.postedToURL(parallel, func(key string, got *events.LambdaFunctionURLStreamingResponse) {
			body, err := io.ReadAll(got.Body)
			if err != nil || got.StatusCode != http.StatusInternalServerError || !strings.Contains(string(body), "server-error") {
				t.Errorf("got %v, %s, %v", got, body, err)
			}

			w.equal("state", w.recordState(key), "INPROGRESS released")
		})
	}
}

// panicProcess is the variable of the environment that makes the next test the process of a function whose handler panics.
const panicProcess = "HTTP_PANIC_REQUESTS"

// lambdaurl recovers nothing, so a process of its own dies here. It prints the status of each answer that was on its way.
func TestHTTPBehindAFunctionURLAPanicIsNeverASuccess(t *testing.T) {
	t.Parallel()

	if n := os.Getenv(panicProcess); n != "" {
		dieOfPanics(t, n)

		return
	}

	for _, n := range []string{"1", "64"} {
		t.Run(n+" at a time", func(t *testing.T) {
			t.Parallel()

			answers := ""

			for range 5 {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHTTPBehindAFunctionURLAPanicIsNeverASuccess$", "-test.count=1")
				cmd.Env = append(os.Environ(), panicProcess+"="+n)

				out, err := cmd.Output()
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || !strings.Contains(string(exit.Stderr), "panic: text") {
					t.Errorf("the process ended with %v and %s, want the panic", err, out)
				}

				answers += string(out)
			}

			if strings.Contains(answers, "status 200") || !strings.Contains(answers, "status 500") {
				t.Errorf("got %q", answers)
			}
		})
	}
}

func dieOfPanics(t *testing.T, n string) {
	t.Helper()

	w := newWeb(t, nil)
	w.work = func(http.ResponseWriter, *http.Request) {
		if len(w.db.Items("records")) == 0 {
			t.Error("the handler runs without a claim")
		}

		panic("text")
	}

	w.postedToURL(map[string]int{"1": 1, "64": 64}[n], func(key string, got *events.LambdaFunctionURLStreamingResponse) {
		_, _ = fmt.Fprintln(os.Stdout, "status", got.StatusCode, w.recordState(key))
		_, _ = io.Copy(io.Discard, got.Body)
	})
	<-time.After(time.Minute) // the process dies before
}
