package idemddb

import (
	"context"
	"errors"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Reopen lets a key that failed for good be claimed again, with its attempts counted from zero: for an operator who has mended
// the cause. A key that is in progress or was released already is no error. It costs 2 requests and 2 WCU.
//
// Errors: ErrCorrupt, ErrChanged, ErrNoRecord, ErrCompleted, ErrBadKey: nothing was written. After any other error the outcome is
// unknown; reopening again is safe.
func (s *Store) Reopen(ctx context.Context, key string) error {
	s.mustExist()

	if s.disabled {
		return nil
	}

	partition, err := record.Partition(s.namespace, key, s.opts.HashKeys)
	if err != nil {
		return keyError("reopen", key, err)
	}

	// The first request is always refused and returns the record; the second reopens the key if the record is still that one. Further
	// requests follow only if the record changes in between.
	token, fence := "nothing seen yet", int64(0)

	p := planner.Policy{End: engine.Earliest(ctx, s.opts.ClaimPatience), Pause: claimCap}

	for range protocol.MaxTurns {
		found, err := s.fenced(ctx, engine.Write{Policy: p, Key: key, Record: partition}, func() protocol.Write {
			return s.records.Reopen(partition, token, fence, s.opts.Now())
		})

		switch {
		case err == nil, found != nil && found.State == record.InProgress:
			return nil
		case found != nil && found.State == record.Failed:
			token, fence = *found.Token, *found.Fence
		case found != nil && !found.Expired(s.opts.Now()):
			return keyError("reopen", key, ErrCompleted)
		case found != nil, errors.Is(err, ErrFenced) && !errors.Is(err, ErrCorrupt):
			return keyError("reopen", key, ErrNoRecord)
		default:
			return keyError("reopen", key, err)
		}
	}

	return keyError("reopen", key, ErrChanged)
}
