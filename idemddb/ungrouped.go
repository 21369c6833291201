package idemddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"
)

// goSingle turns shared requests off for a while.
func (s *Store) goSingle(ctx context.Context, err error) {
	now := time.Now()
	until := now.Add(singlePause)

	old := s.singleUntil.Load()
	if old != nil && now.Before(*old) || !s.singleUntil.CompareAndSwap(old, &until) {
		return // another request has turned them off
	}

	s.wrongAnswers.Store(0)
	s.opts.Observe(ctx, Event{Kind: Ungrouped, Err: fmt.Errorf("idemddb: shared requests: table %q: %w", s.table, err)})
}

// singlePause is how long writes are sent by requests of their own after BatchExecuteStatement was denied: the role may be given the
// right meanwhile.
const singlePause = 5 * time.Minute

// isUnsupported reports whether BatchExecuteStatement is denied to the caller, or unknown to the backend.
func isUnsupported(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}

	switch api.ErrorCode() {
	case "AccessDeniedException", "AccessDenied", "UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented":
		return true
	default:
		return false
	}
}
