package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// errLong is an error with the whole body of an answer in its text, as many clients make one. Its end says what it is about.
var errLong = errors.New("declined: " + strings.Repeat("ä", 1<<20) + " (request 17)")

// boundedLine demands that the last line of the log keeps both ends of a long text, says how long it was, and is short enough for
// CloudWatch.
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

	const left = " … 2093080 bytes are left out … "

	longest := strings.Repeat("e", 4<<10)
	deep := tracedError{func() []byte { return []byte("bank.go:7" + strings.Repeat("\nbank.go:8", 1<<20)) }}

	for name, c := range map[string]struct {
		err        error
		attr, left string
		ends       []string
	}{
		"an error":            {errLong, "error", left, []string{"declined: ", " (request 17)"}},
		"marked as permanent": {lambdawrap.Permanent(errLong), "error", left, []string{"declined: ", " (request 17)"}},
		"its stack":           {deep, "stack", "", []string{"bank.go:7\n", "bank.go:8"}},
		"the longest":         {errors.New(longest), "", `"error":"` + longest + `"`, nil},
	} {
		each(t, name, oneHarness, func(h *harness) {
			h.opts.Logger = slog.New(slog.NewJSONHandler(h.log, nil))
			h.check(h.handle(failWith(c.err)), batch("m1 k1"), []string{"m1"}, []string{"m1"})
			h.logs(c.left)

			if c.attr != "" {
				h.boundedLine(c.attr, c.ends...)
			}
		})
	}

	each(t, "of the Caller of HTTP", oneWeb, func(w *web) {
		w.opts.Logger = slog.New(slog.NewJSONHandler(w.log, nil))
		w.opts.Caller = func(*http.Request) (string, error) { return "", errLong }
		w.refused(w.post("k", "{}"), http.StatusUnauthorized, "caller-unknown")
		w.boundedLine("error", "declined: ", " (request 17)")
	})
}

// brokenSender panics.
type brokenSender struct{}

func (brokenSender) Send(context.Context, string, []idemddb.Message) []error { panic("no topic") }

var broken = idemddb.Options{RedeliverUnsent: true, Senders: to(brokenSender{})}

// tracedError is an error of the user that has a stack, as many packages of errors make them. It is no panic.
type tracedError struct{ stack func() []byte }

func (tracedError) Error() string   { return "declined" }
func (e tracedError) Stack() []byte { return e.stack() }

// A panic whose value has a stack of its own, or wraps an error with one, is logged with both. The value of a panic is read
// before all else, and a method of it that panics costs its own message.
func TestAFailureIsLoggedWithTheStackThatItHas(t *testing.T) {
	t.Parallel()

	traced := tracedError{func() []byte { return []byte("bank.go:7") }}
	broken := tracedError{func() []byte { panic("no stack") }}
	returns := func(err error) func() error { return func() error { return lambdawrap.Permanent(err) } }
	panics := func(value any) func() error { return func() error { panic(value) } }
	carried := []string{"level=ERROR", "bank.go:7\\ncarried to\\ngoroutine", "log_test.go"}

	for name, c := range map[string]struct {
		end      func() error
		log      []string
		hasStack bool
	}{
		"an error":                    {returns(errors.Join(errBank, traced)), []string{"level=WARN", "declined", "stack=bank.go:7"}, true},
		"an error without a stack":    {returns(tracedError{func() []byte { return nil }}), []string{"level=WARN", "declined"}, false},
		"an error whose stack panics": {returns(broken), []string{"level=WARN", "declined"}, false},
		"a panic":                     {panics(traced), carried, true},
		"a panic with an error in it": {panics(errors.Join(errBank, traced)), carried, true},
		"a panic whose stack panics":  {panics(broken), []string{"level=ERROR", "log_test.go"}, true},
		"a panic with a typed nil":    {panics((*tracedError)(nil)), []string{"level=ERROR", "log_test.go"}, true},
	} {
		each(t, name, oneHarness, func(h *harness) {
			h.check(h.handle(only("k1", does(c.end))), batch("m1 k1", "m2 k2"), []string{"m1"}, []string{"m1", "m2"})
			h.logs(c.log...)
			h.equal("the log has a stack", strings.Contains(h.log.String(), "stack="), c.hasStack)
		})
	}
}

type nameKey struct{}

// nameHandler adds the name that it finds in the context, as the handler of lambdacontext adds the request id.
type nameHandler struct{ slog.Handler }

func (h nameHandler) Handle(ctx context.Context, r slog.Record) error {
	if name, ok := ctx.Value(nameKey{}).(string); ok {
		r.AddAttrs(slog.String("name", name))
	}

	return h.Handler.Handle(ctx, r)
}

func TestSDKLogger(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	l := lambdawrap.SDKLogger(slog.New(nameHandler{slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime})}))
	l.Logf(logging.Warn, "no %s after %d s", "answer", 2)
	l.Logf(logging.Warn, "cut")
	l.Logf("", "of another class")
	l.Logf(logging.Debug, "below the level")
	logging.WithContext(context.WithValue(t.Context(), nameKey{}, "r-1"), l).Logf(logging.Warn, "of a request")
	l.Logf(logging.Warn, "of none")

	want := `level=WARN msg="AWS SDK: no answer after 2 s"
level=WARN msg="AWS SDK: cut"
level=INFO msg="AWS SDK: of another class"
level=WARN msg="AWS SDK: of a request" name=r-1
level=WARN msg="AWS SDK: of none"
`
	same(t, "log", out.String(), want)
}

// codeError is an error that cannot be read through a nil pointer, as most of them are.
type codeError struct {
	code  int
	inner error
}

func (e *codeError) Error() string { return fmt.Sprint("code ", e.code) }

func (e *codeError) Unwrap() error { return e.inner }

// quietError can be read through a nil pointer, but not unwrapped.
type quietError struct{ inner error }

func (*quietError) Error() string { return "quiet" }

func (e *quietError) Unwrap() error { return e.inner }

var badErrors = map[string]error{
	"a typed nil":                         (*codeError)(nil),
	"a typed nil in Permanent":            lambdawrap.Permanent((*codeError)(nil)),
	"a typed nil in errors.Join":          errors.Join(errBank, (*codeError)(nil)),
	"a typed nil that cannot unwrap":      (*quietError)(nil),
	"one that cannot unwrap in Permanent": lambdawrap.Permanent((*quietError)(nil)),
	"one that cannot unwrap in another":   fmt.Errorf("%w, and %w", errBank, (*quietError)(nil)),
}

func TestAnErrorThatCannotBeReadCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for name, bad := range badErrors {
		for what, give := range map[string]func() error{"returned": func() error { return bad }, "panicked": func() error { panic(bad) }} {
			gives := only("k1", does(give))

			for by, test := range map[string]func(h *harness){
				"a handler": func(h *harness) {
					h.answeredIn(time.Minute, h.handle(gives), numbered(4), "m1")
					h.ran(messageIDs(4)...)
					h.equal("record", h.state("k1"), "INPROGRESS released")
					h.logs("level=ERROR", "messageId=m1", "stack=")
				},
				"a key function": func(h *harness) {
					h.opts.Key = func(ctx context.Context, m events.SQSMessage) (string, error) { return m.Body, gives(ctx, m) }
					h.answeredIn(time.Minute, h.whole(succeed), numbered(4), "m1")
					h.ran("m0", "m2", "m3")
				},
				"the dead-letter hook": func(h *harness) {
					h.opts.DeadLetter = hookOf(does(give))
					h.answeredIn(time.Minute, h.handle(failingWith(lambdawrap.Permanent(errBank), "k1")), numbered(4), "m1")
				},
				"the client of SQS": func(h *harness) {
					h.hiding(func(context.Context, string) error { return give() })
					h.answeredIn(time.Minute, h.handle(failingWith(errBank, "k1")), deliveredFor(numbered(4), 1), "m1")
				},
				"a handler of events": func(h *harness) { h.answeredIn(time.Minute, h.strict(does(give)), numbered(2), messageIDs(2)...) },
			} {
				each(t, name+", "+what+" by "+by, everyMode, test)
			}
		}
	}
}
