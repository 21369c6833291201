package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// errLong is an error with the whole body of an answer in its text, as many clients make one. Its end says what it is about.
var errLong = errors.New("declined: " + strings.Repeat("ä", 1<<20) + " (request 17)")

// jsonLines makes the harness write its log in JSON.
func (h *harness) jsonLines() {
	h.opts.Logger = slog.New(slog.NewJSONHandler(h.log, nil))
}

// boundedLine demands that the last line of the log keeps both ends of a long text, says how long it was, and is short enough for CloudWatch.
func (h *harness) boundedLine(attr string, ends ...string) {
	h.Helper()

	var line map[string]any

	last := h.log.String()[strings.LastIndex(strings.TrimSpace(h.log.String()), "\n")+1:]
	if err := json.Unmarshal([]byte(last), &line); err != nil {
		h.Fatal(err)
	}

	got, _ := line[attr].(string)
	if len(last) > 64<<10 || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) || !strings.Contains(got, "bytes are left out") {
		h.Errorf("%s has %d bytes in a line of %d: %.200s", attr, len(got), len(last), got)
	}

	for _, end := range ends {
		if !strings.HasPrefix(got, end) && !strings.HasSuffix(got, end) {
			h.Errorf("%s does not begin or end with %q", attr, end)
		}
	}
}

func TestTheTextOfAnErrorIsBoundedInTheLog(t *testing.T) {
	t.Parallel()

	for name, err := range map[string]error{"an error": errLong, "marked as permanent": lambdawrap.Permanent(errLong)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := newHarness(t, nil)
			h.jsonLines()
			h.check(h.handle(func(context.Context, events.SQSMessage) error { return err }), batch("m1 k1"), []string{"m1"}, []string{"m1"})
			h.boundedLine("error", "declined: ", " (request 17)")
		})
	}
}

func TestTheStackOfAnErrorIsBoundedInTheLog(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	h.jsonLines()
	h.check(h.handle(func(context.Context, events.SQSMessage) error {
		return tracedError{func() []byte { return []byte("bank.go:7" + strings.Repeat("\nbank.go:8", 1<<20)) }}
	}), batch("m1 k1"), []string{"m1"}, []string{"m1"})
	h.boundedLine("stack", "bank.go:7\n", "bank.go:8")
}

func TestHTTPTheErrorOfCallerIsBoundedInTheLog(t *testing.T) {
	t.Parallel()

	w := newWeb(t, nil)
	w.opts.Logger = slog.New(slog.NewJSONHandler(w.log, nil))
	w.opts.Caller = func(*http.Request) (string, error) { return "", errLong }
	w.refused(w.post("k", "{}"), http.StatusUnauthorized, "caller-unknown")
	w.boundedLine("error", "declined: ", " (request 17)")
}
