// Package returned returns the errors of completions to callers that cannot know whether the work is done.
package returned

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/idemddb/go-idemddb/idemddb"
)

func directly(ctx context.Context, s *idemddb.Store) error {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	return claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone: the work is done also after ErrUnrecorded`
}

func withEffects(ctx context.Context, s *idemddb.Store, e idemddb.Effects) ([]byte, error) {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return nil, err
	}

	return nil, claim.CompleteWith(ctx, nil, e) // want `the error of Claim.CompleteWith is returned without a call of IsDone: the work is done also after some errors`
}

func byVariable(ctx context.Context, s *idemddb.Store) error {
	claim, record1, errClaim1 := s.Claim(ctx, "p-1", nil)
	if errClaim1 != nil || record1 != nil {
		return errClaim1
	}

	if err := claim.Complete(ctx, nil); err != nil { // want `the error of Claim.Complete is returned without a call of IsDone`
		return err
	}

	return nil
}

func wrapped(ctx context.Context, s *idemddb.Store, err error) error {
	claim, record1, errClaim1 := s.Claim(ctx, "p-1", nil)
	if errClaim1 != nil || record1 != nil {
		return errClaim1
	}

	if err != nil {
		return errors.Join(err, claim.Complete(ctx, nil)) // want `the error of Claim.Complete is returned without a call of IsDone`
	}

	return fmt.Errorf("complete: %w", claim.Complete(ctx, nil)) // want `the error of Claim.Complete is returned without a call of IsDone`
}

func wrappedInVariable(ctx context.Context, s *idemddb.Store) error {
	claim, record1, errClaim1 := s.Claim(ctx, "p-1", nil)
	if errClaim1 != nil || record1 != nil {
		return errClaim1
	}

	err := claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`
	if err != nil {
		err = fmt.Errorf("complete: %w", err)
		slog.ErrorContext(ctx, "not completed", "error", err)
	}

	return err
}

func joined(ctx context.Context, s *idemddb.Store, send func() error) error {
	claim, record1, errClaim1 := s.Claim(ctx, "p-1", nil)
	if errClaim1 != nil || record1 != nil {
		return errClaim1
	}

	err := errors.Join(claim.Complete(ctx, nil), send()) // want `the error of Claim.Complete is returned without a call of IsDone`

	return fmt.Errorf("complete: %w", err)
}

func namedResult(ctx context.Context, s *idemddb.Store) (err error) {
	claim, record1, errClaim1 := s.Claim(ctx, "p-1", nil)
	if errClaim1 != nil || record1 != nil {
		return errClaim1
	}

	err = claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`

	return
}

func onOneWay(ctx context.Context, s *idemddb.Store, done bool) error {
	claim, record1, errClaim1 := s.Claim(ctx, "p-1", nil)
	if errClaim1 != nil || record1 != nil {
		return errClaim1
	}

	var err error
	if done {
		err = claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`
	} else {
		err = claim.Release(ctx, nil)
	}

	return err
}

func otherErrorIsJudged(ctx context.Context, s *idemddb.Store) error {
	claim, record1, errClaim1 := s.Claim(ctx, "p-1", nil)
	if errClaim1 != nil || record1 != nil {
		return errClaim1
	}
	other, record2, errClaim2 := s.Claim(ctx, "p-2", nil)
	if errClaim2 != nil || record2 != nil {
		return errClaim2
	}

	if err := other.Complete(ctx, nil); !other.IsDone(err) {
		return err
	}

	err := claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`
	if errors.Is(err, idemddb.ErrFenced) {
		slog.ErrorContext(ctx, "fenced", "error", err)
	}

	return err
}

// The function that calls a helper has the claim, so it must ask.
func byHelper(ctx context.Context, s *idemddb.Store) error {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	return finish(ctx, claim) // want `the error of finish is returned without a call of IsDone: the work is done also after ErrUnrecorded`
}

func byHelperAndVariable(ctx context.Context, s *idemddb.Store) (string, error) {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return "", err
	}

	receipt, err := finishWith(ctx, claim) // want `the error of finishWith is returned without a call of IsDone`
	if err != nil {
		return "", err
	}

	return receipt, nil
}

func finish(ctx context.Context, claim *idemddb.Claim) error { return claim.Complete(ctx, nil) }

func finishWith(ctx context.Context, claim *idemddb.Claim) (string, error) {
	return "paid", finish(ctx, claim)
}

// A handler that claims by itself.
var handler = func(ctx context.Context, s *idemddb.Store) error {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	return claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`
}

// A deferred function returns what it sets a named result to.
func deferred(ctx context.Context, s *idemddb.Store, work func() error) (err error) {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	defer func() {
		err = errors.Join(err, claim.Complete(ctx, nil)) // want `the error of Claim.Complete is returned without a call of IsDone`
	}()

	return work()
}

func deferredByVariable(ctx context.Context, s *idemddb.Store) (err error) {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	defer func() {
		if failed := claim.Complete(ctx, nil); failed != nil { // want `the error of Claim.Complete is returned without a call of IsDone`
			err = failed
		}
	}()

	return nil
}
