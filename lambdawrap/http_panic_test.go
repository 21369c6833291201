package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"
)

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
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWeb(t, nil)
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
				t.Fatal(err)
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

func TestHTTPBehindAFunctionURLTheEndOfAGoroutineIs500(t *testing.T) {
	t.Parallel()

	for _, parallel := range []int{1, 64} {
		w := newWeb(t, nil)
		w.opts.Caller = func(*http.Request) (string, error) { return "c-1", nil }
		w.work = func(http.ResponseWriter, *http.Request) { goexit() }
		h := w.handler()

		var requests sync.WaitGroup

		for i := range parallel {
			requests.Go(func() {
				got, err := postToURL(t.Context(), h, fmt.Sprint("k-", i))
				if err != nil || got.StatusCode != http.StatusInternalServerError {
					t.Errorf("got %v, %v", got, err)

					return
				}

				if body, err := io.ReadAll(got.Body); err != nil || !strings.Contains(string(body), "server-error") {
					t.Errorf("got %s, %v", body, err)
				}
			})
		}

		requests.Wait()

		for i := range parallel {
			w.equal("state", w.recordState(fmt.Sprint("k-", i)), "INPROGRESS released")
		}
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
	w.opts.Caller = func(*http.Request) (string, error) { return "c-1", nil }
	w.work = func(http.ResponseWriter, *http.Request) {
		if len(w.db.Items("records")) == 0 {
			t.Error("the handler runs without a claim")
		}

		panic("text")
	}

	h := w.handler()

	var requests sync.WaitGroup

	for i := range map[string]int{"1": 1, "64": 64}[n] {
		requests.Go(func() {
			got, err := postToURL(t.Context(), h, fmt.Sprint("k-", i))
			if err != nil {
				t.Error(err)

				return
			}

			_, _ = fmt.Fprintln(os.Stdout, "status", got.StatusCode, w.recordState(fmt.Sprint("k-", i)))
			_, _ = io.Copy(io.Discard, got.Body)
		})
	}

	requests.Wait()
	<-time.After(time.Minute) // the process dies before
}
