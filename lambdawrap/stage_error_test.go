package lambdawrap_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// stageTooMuch stages an item that no table takes.
func stageTooMuch(ctx context.Context) error {
	item := recordKey("too much")
	item["text"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", 500<<10)}
	table := "records"

	return idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{{Put: &types.Put{TableName: &table, Item: item}}}})
}

// Otherwise the message would be deleted without its effect.
func TestAMessageWhoseHandlerIgnoresAnErrorOfStageComesBack(t *testing.T) {
	t.Parallel()

	claimedAndOptimistic(t, bothModes, func(h *harness) {
		careless := func(ctx context.Context, m events.SQSMessage) error {
			_ = stageTooMuch(ctx)

			return counting(ctx, m)
		}

		h.check(h.handle(careless), batch("m1 k"), []string{"m1"}, []string{"m1"})
		h.equal("committed", h.counted("k"), "")
		h.logs("level=ERROR", idemddb.ErrNotStaged.Error(), "outcome=released")

		again := func(ctx context.Context, m events.SQSMessage) error {
			_ = stageTooMuch(ctx)
			idemddb.Unstage(ctx)

			return counting(ctx, m)
		}

		h.check(h.handle(again), deliveredFor(batch("m1 k"), 2), nil, []string{"m1"})
		h.equal("committed", h.counted("k"), "1")
	})
}

// An answer of 4xx may say why: it is kept as any other.
func TestHTTPAnErrorOfStageThatTheHandlerIgnoresIsTheServersMistake(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			_ = stageTooMuch(r.Context())

			created(rw, r)
		}

		w.refused(w.post("k", "{}"), http.StatusInternalServerError, "server-error")
		w.logs("level=ERROR", idemddb.ErrNotStaged.Error())
		w.equal("record", w.recordState("k"), "INPROGRESS released")

		w.work = func(rw http.ResponseWriter, r *http.Request) {
			if err := stageTooMuch(r.Context()); err != nil {
				rw.WriteHeader(http.StatusRequestEntityTooLarge)
			}
		}

		w.answered(w.post("k", "{}"), http.StatusRequestEntityTooLarge, "false", "")
		w.equal("record", w.recordState("k"), "COMPLETED")
	})
}

// The client reads a no, so it must not find the half that was staged before.
func TestHTTPARefusalAfterAnErrorOfStageWritesNothingOfWhatWasStaged(t *testing.T) {
	t.Parallel()
	bothWebs(t, nil, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			w.equal("Stage", idemddb.Stage(r.Context(), idemddb.Effects{Items: []types.TransactWriteItem{entry("debit")}}), nil)

			if err := stageTooMuch(r.Context()); err != nil {
				rw.WriteHeader(http.StatusUnprocessableEntity)
			}
		}

		w.answered(w.post("k", "{}"), http.StatusUnprocessableEntity, "false", "")
		w.equal("entries", len(w.db.Items("ledger")), 0)
		w.equal("record", w.recordState("k"), "COMPLETED")
	})
}

func TestFuncIsNotDoneIfItsHandlerIgnoresAnErrorOfStage(t *testing.T) {
	t.Parallel()
	everyFunc(t, func(f *funcHarness) {
		function := f.wrap(staging(func(ctx context.Context, _ order) (paid, error) {
			_ = stageTooMuch(ctx)

			return paid{}, nil
		}))

		_, err := function(f.Context(), order{"o-1", 1})
		f.fails(err, idemddb.ErrNotStaged)
		f.equal("committed", f.counted("o-1"), "")
	})
}
