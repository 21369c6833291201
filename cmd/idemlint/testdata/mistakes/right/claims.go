// Package right has programs that are as they should be, though some look as if they were not.
package right

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/idemddb/go-idemddb/idemddb"
)

// 1. A claim and a record, both looked at.
func claimed(ctx context.Context, s *idemddb.Store) ([]byte, error) {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil {
		return nil, err
	}

	if record != nil {
		return record.Result, nil
	}

	if err := claim.Complete(ctx, nil); !claim.IsDone(err) {
		return nil, err
	}

	return nil, nil
}

// 2. Without the record, but the claim says whether there is work.
func onlyOnce(ctx context.Context, s *idemddb.Store) error {
	claim, _, err := s.Claim(ctx, "p-1", nil)
	if err != nil || claim == nil {
		return err
	}

	err = claim.Complete(ctx, nil)
	if claim.IsDone(err) {
		return nil
	}

	return err
}

// 3. A release that is only kind: the lease ends by itself.
func released(ctx context.Context, claim *idemddb.Claim, work func(context.Context) error) error {
	if err := work(ctx); err != nil {
		_ = claim.Release(context.WithoutCancel(ctx), err)

		return err
	}

	if err := claim.Complete(ctx, nil); !claim.IsDone(err) {
		return fmt.Errorf("complete: %w", err)
	}

	return nil
}

// 4. The record of Run says nothing that the program needs.
func ran(ctx context.Context, s *idemddb.Store, work func(context.Context, *idemddb.Claim) ([]byte, error)) error {
	_, err := idemddb.Run(ctx, s, "p-1", nil, work)
	if errors.Is(err, idemddb.ErrUnrecorded) {
		slog.Error("not recorded", "error", err)

		return nil
	}

	return err
}

// 5. A program without a handler has a context of its own.
func main() {
	ctx := context.Background()

	store, err := idemddb.New(nil, "records", "payments", nil)
	if err != nil {
		panic(err)
	}

	receipt, err := idemddb.Do(ctx, store, "p-1", nil, func(context.Context) (string, error) { return "paid", nil })
	fmt.Println(receipt, err)
}
