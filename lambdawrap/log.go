package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// report writes the one line of a message that did not end well: what became of it and where to look, but nothing of its content.
func (w *wrapper) report(ctx context.Context, m *message, o outcome, err error) {
	l := line{level: levelOf(o.name, err), text: "the message is reported failed", outcome: o.name, err: err}

	switch {
	case o.name == OutcomeEmpty:
		l.text = "the message is done, because there is nothing to do"
	case o.done:
		l.text = "the message is done, but its record is not as it should be"
	case !m.failed:
		l.text = "the message was given to the dead-letter hook"
	case o.permanent && w.has.deadLetter:
		l.level, l.text = slog.LevelError, "the message is reported failed, because the dead-letter hook failed"
	}

	w.log(ctx, m, l)
}

// programError is an error in the program or in its options. A client cannot mend it, and the log line has the level ERROR.
type programError struct{ error }

func (e *programError) Unwrap() error { return e.error }

// levelOf returns ERROR for what a person must look at, because a retry does not mend it or may repeat an effect, INFO for what
// is as it should be, and WARN for the rest.
func levelOf(name Outcome, err error) slog.Level {
	switch name { //nolint:exhaustive // the rest is a warning
	case OutcomeFenced, OutcomeUnrecorded, OutcomeCorrupt:
		return slog.LevelError
	case OutcomeEmpty:
		return slog.LevelInfo
	}

	_, isPanic := errors.AsType[*PanicError](err)
	_, isPanicInStore := errors.AsType[*panicerror.Error](err)
	_, isProgramError := errors.AsType[*programError](err)

	if isPanic || isPanicInStore || isProgramError || errors.Is(err, idemddb.ErrNotStaged) || errors.Is(err, idemddb.ErrBadEffects) {
		return slog.LevelError
	}

	return slog.LevelWarn
}

// line is a line of the log about a message.
type line struct {
	level   slog.Level
	text    string
	outcome Outcome // "" if the line does not say how the message ended
	err     error
}

func (w *wrapper) log(ctx context.Context, m *message, l line) {
	attrs := append([]slog.Attr{m.id, slog.Bool("comesBack", m.failed)}, attrsOf(m.asks.Key, l.outcome, l.err)...)

	w.logger().LogAttrs(ctx, l.level, l.text, attrs...)
}

// attrsOf say how the work of a key ended. What is empty is left out.
func attrsOf(key string, name Outcome, err error) (attrs []slog.Attr) {
	if name != "" {
		attrs = append(attrs, slog.String("outcome", string(name)))
	}

	if err != nil {
		attrs = append(attrs, errorAttr(err))
	}

	if key != "" {
		attrs = append(attrs, keyAttrs(key)...)
	}

	if id := holder(key, err); id != "" {
		attrs = append(attrs, slog.String("holder", id))
	}

	if stack := stackOf(err); len(stack) > 0 {
		attrs = append(attrs, slog.String("stack", shortened(string(stack), maxStack)))
	}

	return attrs
}

// CloudWatch cuts a line of the log or drops it if it is too long, and such a line costs money with each message that fails. Many
// clients make an error of a whole answer.
const (
	maxErrorText = 4 << 10  // bytes
	maxStack     = 32 << 10 // bytes
)

func errorAttr(err error) slog.Attr {
	return slog.String("error", shortened(err.Error(), maxErrorText))
}

// shortened leaves out the middle of a text that is longer than limit: the first error of several stands at its beginning, the
// last at its end.
func shortened(text string, limit int) string {
	half := limit / 2
	if len(text) <= limit {
		return text
	}

	begin, end := strings.ToValidUTF8(text[:half], ""), strings.ToValidUTF8(text[len(text)-half:], "")

	return fmt.Sprintf("%s … %d bytes are left out … %s", begin, len(text)-len(begin)-len(end), end)
}

// stackOf returns the stack of a panic, or the one that an error of the user has; nil if there is none.
func stackOf(err error) []byte {
	if p, ok := errors.AsType[*PanicError](err); ok {
		return p.Stack
	}

	return panicerror.StackOf(err)
}

// keyAttrs say which key a line is about, by its hash, and what shows its record.
func keyAttrs(key string) []slog.Attr {
	hash := record.KeyHash(key)

	return []slog.Attr{slog.String("key", hash), slog.String("look", "idem show --hash "+hash)}
}

// holder returns the request id of the worker that holds the message's key.
func holder(key string, err error) string {
	if e, ok := errors.AsType[*idemddb.InProgressError](err); ok && e.Key == key {
		return e.Holder
	}

	if e, ok := errors.AsType[*idemddb.FencedError](err); ok && e.Key == key {
		return e.Holder
	}

	return ""
}

// logTakeover warns that the work of a key may be done for the second time. about says whose key it is.
func logTakeover(ctx context.Context, logger *slog.Logger, key string, about ...slog.Attr) {
	logger.LogAttrs(ctx, slog.LevelWarn, "the lease of another worker ran out and its key was taken over: the work may have been done before",
		slices.Concat(about, []slog.Attr{slog.String("outcome", "takeover")}, keyAttrs(key))...)
}

// note is what the Store says with engine.Invocation.Noted.
type note struct {
	kind string
	key  string // "" for what is about no key
	err  error
}

// logNote writes a line for what no returned error reports, such as a message that follows from the work and is not sent, with
// the cause and the hash of the key. about says whose work it is.
func (w *wrapper) logNote(ctx context.Context, n note, about ...slog.Attr) {
	defer func() { _ = recover() }() // a panic of the logger must not reach the Store, which has written the record

	level, text := levelOf(OutcomeUnsent, n.err), "a message that follows from the work is not sent yet; the sweep sends it"

	switch kind := idemddb.Kind(n.kind); {
	case kind == idemddb.KindParked:
		level, text = slog.LevelError, "a message that follows from the work can never be sent as it is; it is parked in its record"
	case kind == idemddb.KindCompleted:
		level, text = slog.LevelWarn, "the work is done, and its result is not kept; a later call does not get it"
	case kind == idemddb.KindPanicked:
		level, text = slog.LevelError, "Options.Trace panicked, and the claim goes on; or the renewal of the lease did, and the work is cancelled"
	case kind == idemddb.KindUnshared:
		level, text = slog.LevelWarn, "requests are not shared from now on"
	case kind == idemddb.KindReadsDenied:
		level, text = slog.LevelWarn, "records are not read before their transaction from now on"
	case errors.Is(n.err, idemddb.ErrNoSender): // as Options.Senders says
		level, text = slog.LevelInfo, "a message that follows from the work is left to another process"
	}

	w.logger().LogAttrs(ctx, level, text, slices.Concat(about, attrsOf(n.key, Outcome(n.kind), n.err))...)
}

// warnOfReserve says once in a process that nothing can start. It is no error: an invocation that was held up at its start has
// little time left as well, and its messages come back in either case. What it returns is a panic of the logger.
func (w *wrapper) warnOfReserve(ctx context.Context, left time.Duration) (err error) {
	defer catch(&err)

	if !w.reserveWarned.Swap(true) {
		w.logger().WarnContext(ctx, w.optsName+".Reserve does not fit into the time that the invocation has, so no handler starts and "+
			"nothing is done; if this goes on, raise the function's time-out", "reserve", w.reserve.String(), "left", left.String())
	}

	return nil
}

// logFailure writes one line with the stack. The logger itself may be what panicked.
func (w *wrapper) logFailure(ctx context.Context, failure error) {
	defer func() { _ = recover() }()

	w.logger().LogAttrs(ctx, slog.LevelError, "the whole batch comes back", attrsOf("", "", failure)...)
}

func (w *wrapper) warnOfTrouble(ctx context.Context) {
	w.logger().WarnContext(ctx, "records of finished work do not get through; each finished handler but one keeps its worker until they do")
}
