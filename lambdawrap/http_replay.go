package lambdawrap

import (
	"context"
	"fmt"
	"net/http"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/idemhttp"
	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// replay sends the answer of a record. The work is done, also where the record does not hold its answer.
func (x *exchange) replay(ctx context.Context, rec *idemddb.Record) {
	if err := x.callOnReplay(ctx, rec); err != nil {
		x.report(ctx, outcome{name: OutcomeReplayed, err: &programError{err}, done: true})
		idemhttp.ServerError.Write(x.w)

		return
	}

	if rec.ResultOmitted { // the status is lost as well, and it may have been one of a refusal
		x.report(ctx, outcome{name: OutcomeReplayed, err: errAnswerLost, done: true})
		idemhttp.AnswerLost.Write(x.w)

		return
	}

	stored, err := idemhttp.DecodeAnswer(rec.Result)
	if err != nil {
		x.report(ctx, outcome{name: OutcomeCorrupt, err: fmt.Errorf("lambdawrap: %w", err), done: true})
	}

	if name := x.opts.EndHeader; name != "" {
		x.w.Header().Set(name, rec.ExpiresAt.UTC().Format(http.TimeFormat))
	}

	stored.Send(x.w)
}

// callOnReplay calls the user's hook for replays, if there is one.
func (x *exchange) callOnReplay(ctx context.Context, rec *idemddb.Record) (err error) {
	if x.opts.OnReplay == nil {
		return nil
	}

	defer catch(&err)

	if err = panicerror.Readable(x.opts.OnReplay(ctx, rec)); err != nil {
		return fmt.Errorf("lambdawrap: HTTPOptions.OnReplay: %w", err)
	}

	return nil
}
