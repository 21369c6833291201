package lambdawrap_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestHTTPMetricsHaveALineForEachRequestThatIsGuarded(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		what   string
		before *http.Request // sent without metrics
		sent   *http.Request
		fault  idemddbtest.Fault // of its first write
		work   http.HandlerFunc
		want   map[string]float64 // besides Messages; nil for no line
	}{
		{what: "a first request", sent: request("k", "p"), want: map[string]float64{"Claimed": 1, "Completed": 1}},
		{what: "a replay", before: request("k", "p"), sent: request("k", "p"), want: map[string]float64{"Replayed": 1}},
		{
			what: "another request under the key", before: request("k", "p"), sent: request("k", "q"),
			want: map[string]float64{"NotDone": 1, "Mismatch": 1, "Permanent": 1},
		},
		{
			what: "an answer that is not kept", sent: request("k", "p"), work: answering(http.StatusBadGateway),
			want: map[string]float64{"NotDone": 1, "Claimed": 1, "Released": 1},
		},
		{
			what: "a claim that DynamoDB refuses", sent: request("k", "p"), fault: idemddbtest.AccessDenied,
			want: map[string]float64{"NotDone": 1, "Unanswered": 1},
		},
		{
			what: "a claim that the handler releases", sent: request("k", "p"),
			work: settling(func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }),
			want: map[string]float64{"NotDone": 1, "Claimed": 1, "Released": 1},
		},
		{
			what: "a claim that the handler fails", sent: request("k", "p"),
			work: settling(func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errBank) }),
			want: map[string]float64{"NotDone": 1, "Claimed": 1, "Failed": 1, "Permanent": 1},
		},
		{
			what: "a claim that the handler completes", sent: request("k", "p"),
			work: settling(func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) }),
			want: map[string]float64{"Claimed": 1, "Completed": 1},
		},
		{what: "a request without a key", sent: request("", "p"), want: map[string]float64{"Claimed": 1, "Completed": 1}},
		{what: "a body that is too long", sent: request("k", strings.Repeat("b", 1<<20+1))},
		{what: "what needs no key", sent: httptest.NewRequest(http.MethodGet, "/payments", nil)},
		{what: "a request that is refused before its key is looked up", sent: request("k k", "p")},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()

			var out bytes.Buffer

			metrics := lambdawrap.NewMetrics(&out, "API")
			w := newWeb(t, &idemddb.Options{Observe: metrics.Observe})

			if c.before != nil {
				w.send(c.before)
			}

			if c.work != nil {
				w.work = c.work
			}

			if c.fault != idemddbtest.None {
				w.db.Inject(c.fault)
			}

			invocation := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
			metrics.MeasureHTTP(w.handler()).ServeHTTP(httptest.NewRecorder(), c.sent.WithContext(invocation))

			if c.want == nil {
				w.equal("lines", out.String(), "")

				return
			}

			_, line := readLine(t, out.String())
			w.equal("request id", line["requestId"], any("r-1"))

			c.want["Messages"] = 1

			for name, value := range line {
				if got, isNumber := value.(float64); isNumber && got != c.want[name] {
					t.Errorf("%s is %v, want %v", name, got, c.want[name])
				}
			}
		})
	}
}

// settling returns a handler that settles its claim itself, and then answers that it failed.
func settling(settle func(context.Context, *idemddb.Claim) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		claim, _ := idemddb.FromContext(r.Context())
		if err := settle(r.Context(), claim); err != nil {
			panic(err)
		}

		w.WriteHeader(http.StatusInternalServerError)
	}
}

func TestHTTPMetricsThatCloudWatchWouldDropAnswerEachRequest(t *testing.T) {
	t.Parallel()

	w := newWeb(t, nil)
	recorder := httptest.NewRecorder()
	lambdawrap.NewMetrics(&bytes.Buffer{}, "AWS/Lambda").MeasureHTTP(w.handler()).ServeHTTP(recorder, request("k", "p"))

	w.refused(recorder.Result(), http.StatusInternalServerError, "server-error")
	w.runs(0)
}

func TestHTTPMetricsNeedAHandler(t *testing.T) {
	t.Parallel()

	defer func() {
		if recover() == nil {
			t.Error("no panic for a nil handler")
		}
	}()

	lambdawrap.NewMetrics(&bytes.Buffer{}, "API").MeasureHTTP(nil)
}

func TestHTTPMetricsWarnWhereNoStoreIsObserved(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	w := newWeb(t, nil)
	handler := lambdawrap.NewMetrics(&out, "API").MeasureHTTP(w.handler())

	for _, key := range []string{"k-1", "k-2"} {
		handler.ServeHTTP(httptest.NewRecorder(), request(key, "p").WithContext(context.Background()))
	}

	w.equal("warnings", bytes.Count(out.Bytes(), []byte("no Store called Metrics.Observe")), 1)
}
