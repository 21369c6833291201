package lambdawrap_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestHTTPMetricsHaveALineForEachRequestThatIsGuarded(t *testing.T) {
	t.Parallel()

	one := func(names ...string) map[string]float64 {
		want := map[string]float64{"Messages": 1}
		for _, name := range names {
			want[name] = 1
		}

		return want
	}
	settles := func(settle func(context.Context, *idemddb.Claim) error) func(*web) {
		return func(w *web) { w.work = settling(settle) }
	}
	earlier := func(w *web) { w.post("k", "p") }

	for name, c := range map[string]struct {
		set  func(*web) // nil for nothing
		sent *http.Request
		want map[string]float64 // nil for no line
	}{
		"a first request":               {nil, request("k", "p"), one("Claimed", "Completed")},
		"a replay":                      {earlier, request("k", "p"), one("Replayed")},
		"another request under the key": {earlier, request("k", "q"), one("NotDone", "Mismatch", "Permanent")},
		"an answer that is not kept": {
			func(w *web) { w.work = answering(http.StatusBadGateway) }, request("k", "p"), one("NotDone", "Claimed", "Released"),
		},
		"a claim that DynamoDB refuses": {
			func(w *web) { w.db.Inject(idemddbtest.AccessDenied) }, request("k", "p"), one("NotDone", "Unanswered"),
		},
		"work that is done without a record": {func(w *web) {
			w.work = func(rw http.ResponseWriter, r *http.Request) {
				w.drop(`#["c-1","k"]`)
				created(rw, r)
			}
		}, request("k", "p"), one("Claimed", "Fenced")},
		"a claim that the handler releases": {
			settles(func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }),
			request("k", "p"), one("NotDone", "Claimed", "Released"),
		},
		"a claim that the handler fails": {
			settles(func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errBank) }),
			request("k", "p"), one("NotDone", "Claimed", "Failed", "Permanent"),
		},
		"a claim that the handler completes": {
			settles(func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) }), request("k", "p"), one("Claimed", "Completed"),
		},
		"a request without a key":                               {nil, request("", "p"), one("Claimed", "Completed")},
		"a body that is too long":                               {nil, request("k", strings.Repeat("b", 1<<20+1)), nil},
		"what needs no key":                                     {nil, httptest.NewRequest(http.MethodGet, "/payments", nil), nil},
		"a request that is refused before its key is looked up": {nil, request("k k", "p"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var out bytes.Buffer

			metrics := lambdawrap.NewMetrics(&out, "API")
			w := newWeb(t, &idemddb.Options{Observe: metrics.Observe})

			if c.set != nil {
				c.set(w)
			}

			metrics.MeasureHTTP(w.handler()).ServeHTTP(httptest.NewRecorder(), c.sent.WithContext(inLambda(t.Context(), "r-1")))

			if c.want == nil {
				w.equal("lines", out.String(), "")

				return
			}

			_, line := readLine(t, out.String())
			w.equal("request id", line["requestId"], any("r-1"))

			for name, value := range line {
				if got, isNumber := value.(float64); isNumber {
					w.equal(name, got, c.want[name])
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
	w := parallelWeb(t)
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

	same(t, "lines of answers that did not open", strings.Count(p.written.String(), `"outcome":"corrupt"`), 2)
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
