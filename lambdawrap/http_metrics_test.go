package lambdawrap_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
		drops  bool              // the handler deletes its record
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
			what: "work that is done without a record", sent: request("k", "p"), drops: true,
			want: map[string]float64{"Claimed": 1, "Fenced": 1},
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

			if c.drops {
				w.work = func(rw http.ResponseWriter, r *http.Request) {
					w.drop(`#["c-1","k"]`)
					created(rw, r)
				}
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

const secretAnswer = "Zyx-secret-Wvu"

// mask is a Codec by which nothing can be read as it is. It opens only what its own key has sealed.
type mask byte

func (k mask) Seal(_ context.Context, plain []byte, _ idemddb.Sealed) ([]byte, error) {
	for i := range plain {
		plain[i] ^= byte(k)
	}

	return append([]byte{byte(k)}, plain...), nil
}

func (k mask) Open(ctx context.Context, sealed []byte, of idemddb.Sealed) ([]byte, error) {
	if sealed[0] != byte(k) {
		return nil, fmt.Errorf("sealed with key %d", sealed[0])
	}

	plain, err := k.Seal(ctx, sealed[1:], of)

	return plain[1:], err
}

// An answer with its headers is confidential, and so is the message that follows from the request. Neither may stand in the
// table, in the log or in the metrics, whether the request is worked on, replayed, or cannot be replayed; and a client gets what
// it got the first time.
func TestNothingOfAnAnswerOrAMessageIsStoredOrLoggedWithACodec(t *testing.T) {
	t.Parallel()

	p, runs := newPlaces(t), 0
	ask := func(codec idemddb.Codec) *http.Response {
		handler := lambdawrap.HTTP(p.store(codec), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if runs++; receiptOf(r.Context()) != nil {
				t.Error("the message is not staged")
			}

			w.Header().Set("Location", "/payments/"+secretAnswer)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, secretAnswer)
		}), &lambdawrap.HTTPOptions{Logger: p.logger, Caller: func(*http.Request) (string, error) { return "anna", nil }})

		return answerOf(p.metrics.MeasureHTTP(handler), request("p-1", "{}"))
	}

	for range 2 {
		got := ask(mask(0x55))
		if body := read(got); got.StatusCode != http.StatusCreated || body != secretAnswer || got.Header.Get("Location") != "/payments/"+secretAnswer {
			t.Errorf("answered %d %q with %v", got.StatusCode, body, got.Header)
		}
	}

	for name, codec := range map[string]idemddb.Codec{"another key": mask(0x66), "none": nil} {
		got := ask(codec)
		if body := read(got); got.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, secretAnswer) {
			t.Errorf("%s: answered %d %q", name, got.StatusCode, body)
		}
	}

	if got := ask(mask(0x55)); runs != 1 || got.StatusCode != http.StatusCreated {
		t.Errorf("%d runs, want one; with the key again: %d", runs, got.StatusCode)
	}

	p.wantClean([]idemddb.Kind{idemddb.KindCompleted, idemddb.KindReplayed, idemddb.KindCorrupt})

	if n := strings.Count(p.written.String(), `"outcome":"corrupt"`); n != 2 {
		t.Errorf("%d lines of answers that did not open, want 2", n)
	}
}

// textsOf returns all texts and bytes of an attribute.
func textsOf(value types.AttributeValue) (all []string) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return []string{v.Value}
	case *types.AttributeValueMemberB:
		return []string{string(v.Value)}
	case *types.AttributeValueMemberL:
		for _, element := range v.Value {
			all = append(all, textsOf(element)...)
		}
	case *types.AttributeValueMemberM:
		for name, member := range v.Value {
			all = append(append(all, name), textsOf(member)...)
		}
	}

	return all
}
