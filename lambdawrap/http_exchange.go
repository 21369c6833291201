package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/idemhttp"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// exchange is one request that is guarded, and its answer.
type exchange struct {
	*httpHandler
	times

	w    *reply
	r    *http.Request // with a body of its own
	key  string
	with idemddb.ClaimOptions // empty if the Store is off

	answer *idemhttp.HeldAnswer // the handler's
	cause  error                // why the answer is not kept; nil if it is
	record *idemddb.Record      // of an earlier request
}

// statusError is why a key was released: the handler's answer is not one to keep.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return fmt.Sprintf("lambdawrap: the handler answered with status %d", e.status)
}

var (
	errTrailers = &programError{errors.New("lambdawrap: the handler's answer has trailers, which cannot be replayed; " +
		"serve it outside of lambdawrap.HTTP")}
	errAnswerLost = errors.New("lambdawrap: the request was worked on before, and its answer is lost: the table or Options.Results " +
		"of the Store did not take it or lost it, or Options.Codec did not seal it")
	errPanicked = errors.New("lambdawrap: the handler panicked or ended its goroutine")
)

// work begins the work of the key, runs the handler and settles the work.
func (x *exchange) work(ctx context.Context) outcome {
	if ctx.Err() != nil { // no request would be sent, so the outcome is no_time, not unanswered
		return outcome{name: OutcomeNoTime, err: ErrNoTime}
	}

	work, ending := x.store.Begin(ctx, x.key, &x.with)

	switch {
	case work == nil && ending.Kind == "": // of the Store's options
		return outcome{name: OutcomeReleased, err: &programError{ending.Err}}
	case work == nil:
		return x.outcomeOf(ending)
	case ctx.Err() != nil:
		return givenBack(outcome{name: OutcomeNoTime, err: ErrNoTime}, work.GiveBack(ctx))
	}

	begun := time.Now()

	x.run(ctx, work)

	o := x.settle(ctx, work)
	if o.name == OutcomeCompleted {
		x.durations.add(time.Since(begun))
	}

	return o
}

// settle settles the work with the answer, before the line of the log: a logger that panics must not leave the key claimed.
func (x *exchange) settle(ctx context.Context, work *idemddb.Work) outcome {
	result, isWhole := []byte(nil), true
	if x.cause == nil {
		result, isWhole = x.answer.Encode(work.Fits)
	}

	o := x.outcomeOf(work.Settle(x.settleContext(ctx), result, x.cause))
	if !isWhole {
		x.logger().LogAttrs(ctx, slog.LevelWarn, "the answer does not fit into its record; later requests get it without its body",
			append(keyAttrs(x.key), slog.Int("bytes", x.answer.Size()))...)
	}

	return o
}

// commitTime is how long a run without a claim is settled while DynamoDB does not answer: as long as a claim, by default. The
// client may repeat the request at once, so it learns more from 503 than from waiting for a whole lease, as finished work does.
const commitTime = 5 * time.Second

// settleContext returns the context for settling the work.
func (x *exchange) settleContext(ctx context.Context) context.Context {
	end := time.Now().Add(x.opts.Wait).Add(commitTime)
	if !x.with.Optimistic || !x.answerAt.IsZero() && x.answerAt.Before(end) {
		return ctx
	}

	i := *engine.Of(ctx)
	i.Times = &engine.Times{Deadline: x.deadline, SettleBy: end}

	return engine.With(ctx, &i)
}

// outcomeOf returns the outcome of the request. If the handler settled its claim itself, the client gets its answer, whatever the
// answer says. If DynamoDB refused a staged item for anything but its condition, the program is wrong or lacks a permission, so
// the client cannot mend it.
func (x *exchange) outcomeOf(e idemddb.Ending) outcome {
	if x.record = e.Record; e.BySelf {
		return outcome{name: outcomes[e.Kind]}
	}

	o := outcomeOf(e)
	if effect, ok := errors.AsType[*idemddb.EffectError](o.err); ok && o.name == OutcomeReleased && effect.Code != protocol.ConditionFailed {
		o.err = &programError{o.err}
	}

	return o
}

// run runs the handler and reads its answer. If the handler or the logger panics or ends its goroutine, the key is released, so
// that the next request need not wait for the end of its lease; then the panic goes on. If the key is completed already, as it
// can be with Optimistic, the client gets the stored answer before.
func (x *exchange) run(ctx context.Context, work *idemddb.Work) {
	returned := false

	defer func() {
		if returned {
			return
		}

		if record := work.Settle(x.settleContext(ctx), nil, errPanicked).Record; record != nil {
			x.replay(ctx, record)
			x.w.flush()
		}
	}()

	handling, cancel := withTimeout(work.Context(ctx), x.opts.Timeout)
	defer cancel()

	if c := work.Claim(); c != nil && c.Takeover() {
		logTakeover(ctx, x.logger(), x.key)
	}

	x.next.ServeHTTP(x.answer, x.r.WithContext(handling))
	x.answer.Finish()
	x.readAnswer(handling, work.TakeStageErr())

	returned = true
}

// readAnswer finds the cause for which the answer is not kept, if there is one. errStage says why what the handler has to write
// is not staged.
func (x *exchange) readAnswer(handling context.Context, errStage error) {
	status := x.answer.Status()
	if status >= http.StatusBadRequest && errors.Is(errStage, idemddb.ErrBadEffects) { // the client cannot mend it, and nothing else says it
		x.logger().LogAttrs(handling, slog.LevelError, "the handler answered that it failed, because it staged what cannot be written",
			attrsOf(x.key, "", errStage)...)
	}

	switch {
	case x.answer.HasTrailers():
		x.cause = errTrailers
	case !x.opts.Keep(status):
		x.cause = &statusError{status}
	case errStage != nil && status < http.StatusBadRequest: // an answer of 400 or above already says that the request failed
		x.cause = &programError{errStage}
	case errStage != nil: // half of what belongs together must not be written with an answer that says no
		idemddb.Unstage(handling)
		_ = idemddb.Stage(handling, idemddb.Effects{})
	}
}

// conclude sends the answer that the outcome asks for.
func (x *exchange) conclude(ctx context.Context, o outcome) {
	status, _ := errors.AsType[*statusError](o.err)

	isHandlers := status != nil && o.name == OutcomeReleased // a status that is not kept

	if o.err != nil && (!isHandlers || o.unknown) {
		x.report(ctx, o)
	}

	isDone := o.done || o.name == OutcomeCompleted // not if the handler released its claim itself
	countMessage(ctx, o.name, !isDone)

	switch {
	case x.record != nil:
		x.replay(ctx, x.record)
	case o.err == nil, o.done, isHandlers:
		x.answer.Send()
	default:
		x.problemOf(o).Write(x.w)
	}
}

// problemOf returns the answer to a request that is not done.
func (x *exchange) problemOf(o outcome) *idemhttp.Problem {
	_, isProgramError := errors.AsType[*programError](o.err)

	switch {
	case isProgramError:
		return idemhttp.ServerError
	case o.name == OutcomeInProgress:
		return idemhttp.KeyInProgress.After(x.retryAfter(o.until)).As((*idemhttp.Own)(x.opts.Conflict))
	case o.name == OutcomeMismatch:
		return idemhttp.KeyReused.As((*idemhttp.Own)(x.opts.Mismatch))
	case o.permanent:
		return idemhttp.KeyFailed
	case o.name == OutcomeReleased && !o.unknown:
		return idemhttp.ConditionFailed
	default:
		return idemhttp.Unavailable
	}
}

// retryAfter returns when a client should ask again for a key whose lease ends at this time: after as long as the longest of the
// last completed requests of this process took, because the holder is probably done by then, but not later than the key can be
// taken over. If the holder has died, the client asks a few times in vain.
func (x *exchange) retryAfter(lease time.Time) time.Duration {
	wait := x.store.RetryAfter(lease) + time.Millisecond
	if longest := time.Duration(x.durations.longest.Load()); longest > 0 {
		wait = min(wait, longest)
	}

	return max(wait, time.Second)
}

// report writes the one line of a request that did not end well: what became of it and where to look, but nothing of its content.
func (x *exchange) report(ctx context.Context, o outcome) {
	attrs := append(attrsOf(x.key, o.name, o.err), slog.Bool("done", o.done))

	x.logger().LogAttrs(ctx, levelOf(o.name, o.err), "the request did not end well", attrs...)
}
