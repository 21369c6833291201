package right

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/idemddb/go-idemddb/idemddb"
)

// 17. Errors of completions that are returned only if the work is not done.
func askedFirst(ctx context.Context, s *idemddb.Store) error {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	switch err := claim.CompleteWith(ctx, nil, entry); {
	case claim.IsDone(err):
		return nil
	default:
		return fmt.Errorf("complete: %w", err)
	}
}

func askedByHelper(ctx context.Context, claim *idemddb.Claim) error {
	err := claim.Complete(ctx, nil)
	if err = unlessDone(claim, err); err != nil {
		return err
	}

	return unlessDone(claim, claim.Complete(ctx, nil))
}

func unlessDone(claim *idemddb.Claim, err error) error {
	if claim.IsDone(err) {
		return nil
	}

	return err
}

func askedAfterHelper(ctx context.Context, claim *idemddb.Claim) error {
	if err := finish(ctx, claim); !claim.IsDone(err) {
		return err
	}

	return nil
}

func finish(ctx context.Context, claim *idemddb.Claim) error { return claim.Complete(ctx, nil) }

func askedAtTheEnd(ctx context.Context, claim *idemddb.Claim) (err error) {
	defer func() {
		if claim.IsDone(err) {
			err = nil
		}
	}()

	return claim.Complete(ctx, nil)
}

func askedForTheOneError(ctx context.Context, claim *idemddb.Claim) error {
	err := claim.Complete(ctx, nil)
	if errors.Is(err, idemddb.ErrUnrecorded) || errors.Is(err, idemddb.ErrTooLarge) {
		return nil
	}

	return err
}

// 18. Errors of something else, in a variable that had the error of a completion.
func setAnew(ctx context.Context, claim *idemddb.Claim, send func() error) error {
	err := send()
	if err != nil {
		return errors.Join(err, claim.Release(ctx, err))
	}

	err = claim.Complete(ctx, nil)
	if err != nil {
		slog.ErrorContext(ctx, "not completed", "error", err)
	}

	err = send()

	return err
}

// 19. Work of Run and of the wrappers, which take work that returns the error of its own completion for done.
func inRun(ctx context.Context, s *idemddb.Store) error {
	_, err := idemddb.Run(ctx, s, "p-1", nil, work)

	return err
}

func work(ctx context.Context, claim *idemddb.Claim) ([]byte, error) {
	return nil, claim.Complete(ctx, nil)
}

func inWrapper(ctx context.Context) error {
	claim, _ := idemddb.FromContext(ctx)

	return claim.Complete(ctx, nil)
}

// 20. A function that is not known to be the work of Run: its caller may ask.
var completes = []func(context.Context, *idemddb.Claim) error{
	finish,
	func(ctx context.Context, claim *idemddb.Claim) error { return claim.Complete(ctx, nil) },
}

// A deferred function that asks IsDone, and one whose error stays in it.
func deferred(ctx context.Context, s *idemddb.Store) (err error) {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	defer func() {
		if failed := claim.Complete(ctx, nil); !claim.IsDone(failed) {
			err = failed
		}
	}()

	defer func() {
		failed := claim.Complete(ctx, nil)
		slog.InfoContext(ctx, "completed", "error", failed)
	}()

	return nil
}
