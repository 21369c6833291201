package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/httpanswer"
	"github.com/idemddb/go-idemddb/internal/problem"
)

// exchange is one request that is guarded, and its answer.
type exchange struct {
	*httpHandler

	w    http.ResponseWriter
	r    *http.Request // with a body of its own
	key  string
	with idemddb.ClaimOptions

	answer *httpanswer.Held // the handler's
	cause  error            // why the answer is not kept; nil if it is
	record *idemddb.Record  // of an earlier request
}

// statusError is why a key was released: the handler's answer is not one to keep.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return fmt.Sprintf("lambdawrap: the handler answered with status %d", e.status)
}

// slipError is a mistake of the program. The client cannot mend it, and the log names it.
type slipError struct{ error }

func (e *slipError) Unwrap() error { return e.error }

var (
	errTrailers   = &slipError{errors.New("lambdawrap: the handler's answer has trailers, which cannot be replayed; serve it outside of lambdawrap.HTTP")}
	errAnswerLost = errors.New("lambdawrap: the request was worked on before, and its answer is lost: Options.Results of the Store did not take it or lost it")
	errPanicked   = errors.New("lambdawrap: the handler panicked or ended its goroutine")
)

// workClaimed claims the key, runs the handler and settles the claim.
func (x *exchange) workClaimed(ctx context.Context) outcome {
	claim, rec, err := x.store.Claim(ctx, x.key, &x.with)
	if claim == nil {
		x.record = rec

		return unclaimed(err)
	}

	if ctx.Err() != nil {
		return released(OutcomeNoTime, errNoTime, claim.ReleaseUnused(ctx))
	}

	if claim.Takeover() {
		logTakeover(ctx, x.logger(), x.key)
	}

	x.runClaimed(ctx, claim)

	return x.settle(ctx, claim)
}

// runClaimed runs the handler and renews the claim's lease meanwhile. If the handler panics, the claim is released, so that the next request
// need not wait for the end of the lease.
func (x *exchange) runClaimed(ctx context.Context, claim *idemddb.Claim) {
	work, stop := claim.Keep(ctx)

	x.run(work, func() {
		stop()

		_ = claim.Release(ctx, errPanicked) // the panic goes on, and the lease ends
	})
	stop()
}

// settle completes the claim with the answer, or releases it if the answer is not kept, unless the handler settled it itself.
func (x *exchange) settle(ctx context.Context, claim *idemddb.Claim) outcome {
	if claim.Settled() != "" { // by the handler
		return outcome{name: OutcomeCompleted}
	}

	x.slip(claim.StageErr())

	if x.cause != nil {
		return released(OutcomeFailed, x.cause, claim.Release(ctx, x.cause))
	}

	return completed(ctx, claim, claim.Complete(ctx, x.result(ctx, claim.Fits)))
}

// slip keeps that the handler answered with a success although what it has to write is not staged. An answer of 4xx says so itself.
func (x *exchange) slip(err error) {
	if err != nil && x.cause == nil && x.answer.Status() < http.StatusBadRequest {
		x.cause = &slipError{err}
	}
}

// workUnclaimed runs the handler and commits its answer with what it staged.
func (x *exchange) workUnclaimed(ctx context.Context) outcome {
	work, rec, err := x.store.NewWork(ctx, x.key, &x.with)

	switch {
	case rec != nil, isRefusal(err):
		x.record = rec

		return unclaimed(err)
	case err != nil: // of the Store's options
		return outcome{name: OutcomeFailed, err: &slipError{err}}
	case ctx.Err() != nil:
		return outcome{name: OutcomeNoTime, err: errNoTime}
	}

	x.run(work.Context(ctx), func() { _, _ = x.store.Reject(ctx, x.key, &x.with, errPanicked, false) })

	return x.commit(ctx, work)
}

// commit commits the answer with what the handler staged. A run whose answer is not kept, whose success staged nothing or whose staged item
// is refused did not succeed, which is written down instead.
func (x *exchange) commit(ctx context.Context, work *idemddb.Work) outcome {
	effects, _ := work.Effects()
	x.slip(work.StageErr())

	if x.cause != nil {
		return x.reject(ctx, x.cause)
	}

	rec, err := x.store.Commit(ctx, x.key, &x.with, x.result(ctx, work.Fits), effects)
	if effect, ok := errors.AsType[*idemddb.EffectError](err); ok {
		return x.reject(ctx, effect.Meaning())
	}

	x.record = rec

	return committed(rec, err)
}

// reject writes down that the handler ran without a claim and did not succeed.
func (x *exchange) reject(ctx context.Context, cause error) outcome {
	rec, err := x.store.Reject(ctx, x.key, &x.with, cause, isPermanent(cause))
	x.record = rec

	return rejected(rec, err, cause)
}

// run runs the handler and reads its answer. If the handler panics or ends its goroutine, dropped is called, and the panic goes on.
func (x *exchange) run(ctx context.Context, dropped func()) {
	ctx, cancel := withTimeout(ctx, x.opts.Timeout)
	defer cancel()

	returned := false

	defer func() {
		if !returned {
			dropped()
		}
	}()

	x.next.ServeHTTP(x.answer, x.r.WithContext(ctx))
	x.answer.Finish()

	switch {
	case x.answer.HasTrailers():
		x.cause = errTrailers
	case !x.opts.Keep(x.answer.Status()):
		x.cause = &statusError{x.answer.Status()}
	}

	returned = true
}

// result is the answer as the record keeps it.
func (x *exchange) result(ctx context.Context, fits func([]byte) bool) []byte {
	result, isWhole := x.answer.Encode(fits)
	if !isWhole {
		x.logger().LogAttrs(ctx, slog.LevelWarn, "the answer does not fit into its record; later requests get it without its body",
			append(keyAttrs(x.key), slog.Int("bytes", x.answer.Size()))...)
	}

	return result
}

// conclude sends the answer that the outcome asks for.
func (x *exchange) conclude(ctx context.Context, o outcome) {
	status, _ := errors.AsType[*statusError](o.err)

	isHandlers := status != nil && o.name == OutcomeFailed // a status that is not kept

	if o.err != nil && (!isHandlers || o.unknown) {
		x.report(ctx, o)
	}

	rec := x.recordOf(o)
	countMessage(ctx, o.name, o.err != nil && !o.done && rec == nil, false)

	switch {
	case rec != nil:
		x.replay(ctx, rec)
	case o.err == nil, o.done, isHandlers:
		x.answer.Send()
	default:
		x.problemOf(o).Write(x.w)
	}
}

// replay sends the answer of a record. The work is done, also where the record does not hold its answer.
func (x *exchange) replay(ctx context.Context, rec *idemddb.Record) {
	if rec.ResultOmitted { // the status is lost as well, and it may have been one of a refusal
		x.report(ctx, outcome{name: OutcomeReplayed, err: errAnswerLost, done: true})
		problem.AnswerLost.Write(x.w)

		return
	}

	stored, err := httpanswer.Decode(rec.Result)
	if err != nil {
		x.report(ctx, outcome{name: OutcomeCorrupt, err: fmt.Errorf("lambdawrap: %w", err), done: true})
	}

	stored.Send(x.w)
}

// recordOf returns the record of another request, if it is the answer.
func (x *exchange) recordOf(o outcome) *idemddb.Record {
	fenced, ok := errors.AsType[*idemddb.FencedError](o.err)
	if ok && fenced.Key == x.key && fenced.Current != fenced.Held && !errors.Is(o.err, idemddb.ErrUnsent) {
		return fenced.Record
	}

	return x.record
}

// problemOf is the answer to a request that is not done.
func (x *exchange) problemOf(o outcome) *problem.Details {
	_, isSlip := errors.AsType[*slipError](o.err)

	switch {
	case isSlip:
		return problem.ServerError
	case o.name == OutcomeInProgress:
		return problem.KeyInProgress.After(max(x.store.RetryAfter(o.until)+time.Millisecond, time.Second))
	case o.name == OutcomeMismatch:
		return problem.KeyReused
	case o.permanent:
		return problem.KeyFailed
	case o.name == OutcomeFailed && !o.unknown:
		return problem.ConditionFailed
	default:
		return problem.Unavailable
	}
}

// report writes the one line of a request that did not end well: what became of it and where to look, but nothing of its content.
func (x *exchange) report(ctx context.Context, o outcome) {
	level := slog.LevelWarn
	_, isSlip := errors.AsType[*slipError](o.err)

	if isSlip || o.name == OutcomeFenced || o.name == OutcomeUnrecorded || o.name == OutcomeCorrupt {
		level = slog.LevelError
	}

	attrs := append(keyAttrs(x.key),
		slog.String("outcome", string(o.name)), slog.String("error", o.err.Error()), slog.Bool("done", o.done))
	if id := holder(x.key, o.err); id != "" {
		attrs = append(attrs, slog.String("holder", id))
	}

	x.logger().LogAttrs(ctx, level, "the request did not end well", attrs...)
}
