package lambdawrap_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestHTTPAnswersOfItsProgramInPlaceOfProblems(t *testing.T) {
	inWebBubble(nil)(t, func(w *web) {
		own := func(status int, body string) *lambdawrap.HTTPAnswer {
			return &lambdawrap.HTTPAnswer{Status: status, ContentType: "text/plain", Body: []byte(body)}
		}

		w.opts.Required = true
		w.opts.Conflict, w.opts.Mismatch, w.opts.KeyMissing = own(599, "wait"), own(400, "other"), own(428, "key?")

		isOwn := func(r *http.Request, status int, body string) http.Header {
			got := w.send(r)
			w.answered(got, status, "", body)
			w.equal("Content-Type", got.Header.Get("Content-Type"), "text/plain")

			return got.Header
		}

		isOwn(request("", "{}"), 428, "key?")

		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("a conflict has no Retry-After", isOwn(request("k", "{}"), 599, "wait").Get("Retry-After") == "", false)
			created(rw, r)
		}
		w.send(request("k", "{}"))
		isOwn(request("k", "[]"), 400, "other")
	})
}

func TestHTTPHeadersThatBelongToTheRequest(t *testing.T) {
	inWebBubble(nil)(t, func(w *web) {
		w.opts.FingerprintHeaders = []string{"x-tenant", "Api-Version"}

		for _, c := range []struct {
			tenant, other string
			want          int
		}{{"a", "1", 201}, {"a", "2", 201}, {"b", "1", 422}, {"", "1", 422}} {
			got := w.send(request("k", "{}", header("X-Tenant", c.tenant), header("X-Other", c.other)))
			w.equal(fmt.Sprintf("status for tenant %q, another header %q", c.tenant, c.other), got.StatusCode, c.want)

			w.opts.FingerprintHeaders = []string{"Api-Version", "X-Tenant", "api-version"} // neither their order nor their spelling counts
		}
	})
}

func TestHTTPSaysWhenTheRecordOfAReplayEnds(t *testing.T) {
	inWebBubble(&idemddb.Options{Retention: 24 * time.Hour})(t, func(w *web) {
		w.opts.EndHeader = "Idempotent-Until"
		first, second := w.send(request("k", "{}")), w.send(request("k", "{}"))

		want := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second).Format(http.TimeFormat)
		w.equal("of the replay", second.Header.Get("Idempotent-Until"), want)
		w.equal("of the first answer", first.Header.Get("Idempotent-Until"), "")
	})
}

func TestHTTPOnReplayMayReplaceOrRefuseTheAnswer(t *testing.T) {
	inWebBubble(nil)(t, func(w *web) {
		w.send(request("k", "{}"))

		w.opts.OnReplay = func(_ context.Context, rec *idemddb.Record) error {
			stored, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(rec.Result))), nil)
			if err != nil || stored.StatusCode != http.StatusCreated {
				w.Errorf("the stored answer: %v, %v", stored, err)
			}

			rec.Result = []byte(strings.Replace(string(rec.Result), "p-1", "p-2", 1))

			return nil
		}

		if got := w.send(request("k", "{}")); got.StatusCode != http.StatusCreated || got.Header.Get("Location") != "/payments/p-2" {
			w.Errorf("replaced: %d %v", got.StatusCode, got.Header)
		}

		for _, hook := range []func(context.Context, *idemddb.Record) error{
			refuses, func(context.Context, *idemddb.Record) error { panic("wrong") },
		} {
			w.opts.OnReplay = hook
			w.equal("refused", w.post("k", "{}").StatusCode, http.StatusInternalServerError)
		}

		w.logs("level=ERROR", "HTTPOptions.OnReplay: "+errBank.Error(), "panic: wrong")

		w.opts.OnReplay = nil
		w.answered(w.post("k", "{}"), http.StatusCreated, "true", `{"id":"p-1"}`) // the key stays completed
		w.runs(1)
	})
}

func TestFuncOnReplayMayReplaceOrRefuseTheResult(t *testing.T) {
	f := newFunc(parallelHarness(t))
	work := func(_ context.Context, o order) (paid, error) { return paid{ID: o.ID}, nil }
	f.opts.OnReplay = func(_ context.Context, rec *idemddb.Record) error {
		rec.Result = []byte(`{"ID":"replaced"}`)

		return nil
	}

	for _, want := range []string{"o-1", "replaced"} {
		got, err := f.wrap(work)(t.Context(), order{ID: "o-1"})
		f.is(got, err, paid{ID: want})
	}

	f.opts.OnReplay = refuses

	got, err := f.wrap(work)(t.Context(), order{ID: "o-1"})
	f.fails(err, errBank)
	f.equal("result", got, paid{})

	// It counts as a replay, of which the Store would have reported an event, if it had been asked to.
	var out bytes.Buffer

	_, err = lambdawrap.Measure(lambdawrap.NewMetrics(&out, "test"), f.wrap(work))(t.Context(), order{ID: "o-1"})
	if line := out.String(); !errors.Is(err, errBank) || !strings.Contains(line, `"NotDone":1`) || !strings.Contains(line, "Observe") {
		t.Errorf("refused, and counted as %s: %v", line, err)
	}
}

// The types of problems are addresses of headings, and the comparison names a test for each case.
func TestHTTPProblemsAndTestsOfThePageAreThoseOfTheCode(t *testing.T) {
	t.Parallel()

	page := readText(t, "../docs/http.md")
	problems := submatches(regexp.MustCompile(`types \+ "([a-z-]+)"`), readText(t, "../internal/idemhttp/problem.go"))

	same(t, "problems", submatches(regexp.MustCompile(`(?m)^### ([a-z-]+)$`), page), problems)

	files, err := filepath.Glob("http_*_test.go")
	if err != nil {
		t.Fatal(err)
	}

	var tests []string
	for _, file := range files {
		tests = append(tests, submatches(regexp.MustCompile(`(?m)^func (TestHTTP\w+)`), readText(t, file))...)
	}

	named := submatches(regexp.MustCompile("`(Test\\w+)`"), page)
	if len(named) == 0 {
		t.Error("the page names no test")
	}

	for _, name := range named {
		if !slices.Contains(tests, name) {
			t.Errorf("the page names %s, which does not exist", name)
		}
	}
}

// submatches returns the first groups of all matches, sorted, each once.
func submatches(pattern *regexp.Regexp, text string) (found []string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}

	slices.Sort(found)

	return slices.Compact(found)
}

func readText(t testing.TB, file string) string {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}
