package idemddb

import (
	"context"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// askTrace keeps the text of Options.Trace for this call. If Options.Trace panics, the call goes on without, because the claim
// matters more than its traceparent.
func (a *acquisition) askTrace(ctx context.Context) {
	text, err := a.store.callTrace(ctx)
	if err != nil {
		a.store.observe(ctx, Event{Kind: KindPanicked, Key: a.key, Err: keyError("trace", a.key, err)})
	}

	a.Trace = record.KeptTrace(text)
}

func (s *Store) callTrace(ctx context.Context) (text string, err error) {
	defer panicerror.Catch("Options.Trace", &err)

	return s.opts.Trace(ctx), nil
}
