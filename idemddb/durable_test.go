package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

// durableHandler is the context of the handler of a durable function, as the SDK for durable executions makes it.
type durableHandler struct{ context.Context }

func (durableHandler) ExecutionArn() string { return "arn:execution" }
func (durableHandler) IsReplaying() bool    { return false }

func TestTheHandlerOfADurableFunctionIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()

	store, db := newStore(t, nil)
	ran, ctx := 0, durableHandler{t.Context()}

	_, ofDo := idemddb.Do(ctx, store, "k", nil, func(context.Context) (int, error) { ran++; return 1, nil })
	_, ofRun := idemddb.Run(ctx, store, "k", nil, func(context.Context, *idemddb.Claim) ([]byte, error) { ran++; return nil, nil })

	for name, err := range map[string]error{"Do": ofDo, "Run": ofRun} {
		if !errors.Is(err, idemddb.ErrMisuse) || !strings.Contains(err.Error(), "durable function") || !strings.Contains(err.Error(), "DurableKey") {
			t.Errorf("%s: got %v", name, err)
		}
	}

	if requests := len(db.Requests()); ran != 0 || requests != 0 {
		t.Errorf("%d runs, %d requests", ran, requests)
	}

	// A context that a step makes has neither method: there the work is done.
	if _, err := idemddb.Do(t.Context(), store, "k", nil, func(context.Context) (int, error) { ran++; return 1, nil }); err != nil || ran != 1 {
		t.Errorf("in a step: %v, %d runs", err, ran)
	}
}
