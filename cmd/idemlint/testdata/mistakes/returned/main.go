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

func byVariable(ctx context.Context, claim *idemddb.Claim) error {
	if err := claim.Complete(ctx, nil); err != nil { // want `the error of Claim.Complete is returned without a call of IsDone`
		return err
	}

	return nil
}

func wrapped(ctx context.Context, claim *idemddb.Claim, err error) error {
	if err != nil {
		return errors.Join(err, claim.Complete(ctx, nil)) // want `the error of Claim.Complete is returned without a call of IsDone`
	}

	return fmt.Errorf("complete: %w", claim.Complete(ctx, nil)) // want `the error of Claim.Complete is returned without a call of IsDone`
}

func wrappedInVariable(ctx context.Context, claim *idemddb.Claim) error {
	err := claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`
	if err != nil {
		err = fmt.Errorf("complete: %w", err)
		slog.ErrorContext(ctx, "not completed", "error", err)
	}

	return err
}

func joined(ctx context.Context, claim *idemddb.Claim, send func() error) error {
	err := errors.Join(claim.Complete(ctx, nil), send()) // want `the error of Claim.Complete is returned without a call of IsDone`

	return fmt.Errorf("complete: %w", err)
}

func namedResult(ctx context.Context, claim *idemddb.Claim) (err error) {
	err = claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`

	return
}

func onOneWay(ctx context.Context, claim *idemddb.Claim, done bool) error {
	var err error
	if done {
		err = claim.Complete(ctx, nil) // want `the error of Claim.Complete is returned without a call of IsDone`
	} else {
		err = claim.Release(ctx, nil)
	}

	return err
}

func otherErrorIsJudged(ctx context.Context, claim, other *idemddb.Claim) error {
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
