package idemddb

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Reopen lets a key that failed for good be claimed again, with its attempts counted from zero: for an operator who has
// mended the cause. A key that is in progress or was released already is no error. It costs 1 request and 1 write unit.
//
// Errors: ErrBadKey; ErrCorrupt; an error if the key has no record, or completed: nothing was written.
func (s *Store) Reopen(ctx context.Context, key string) error {
	partition, err := s.partition(key)
	if err != nil {
		return keyError("reopen", key, err)
	}

	found, err := s.fenced(ctx, key, func(a attempted) *dynamodb.UpdateItemInput {
		return s.write(partition, condFailed, updateReopen, item{
			":v": versionValue, ":failed": failedValue, ":inprogress": inProgressValue, ":zero": zeroValue,
			":exp": numberValue(s.expiry(a.now, a.now)),
		})
	})

	switch {
	case err == nil, found != nil && found.State == stateInProgress:
		return nil
	case found != nil:
		return keyError("reopen", key, errors.New("it completed; its record answers until its retention ends"))
	case errors.Is(err, ErrFenced) && !errors.Is(err, ErrCorrupt):
		return keyError("reopen", key, errors.New("it has no record"))
	default:
		return keyError("reopen", key, err)
	}
}
