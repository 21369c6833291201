// Package discarded throws away what Claim, Complete and their kind return.
package discarded

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

func withoutRecord(ctx context.Context, s *idemddb.Store) error {
	claim, _, err := s.Claim(ctx, "p-1", nil) // want `the record of Claim is thrown away`
	if err != nil {
		return err
	}

	return unlessDone(claim, claim.Complete(ctx, nil))
}

func withoutClaim(ctx context.Context, s *idemddb.Store) error {
	_, record, err := s.Claim(ctx, "p-1", nil) // want `the claim of Claim is thrown away`
	if err != nil {
		return err
	}

	fmt.Println(record != nil)

	return nil
}

func withoutAnything(ctx context.Context, s *idemddb.Store) {
	s.Claim(ctx, "p-1", nil) // want `the error of Store.Claim is thrown away`
}

func withoutCompletion(ctx context.Context, claim *idemddb.Claim) {
	claim.Complete(ctx, []byte("paid")) // want `the error of Claim.Complete is thrown away: the work is perhaps not recorded`
}

func deferred(ctx context.Context, claim *idemddb.Claim, e idemddb.Effects) {
	defer claim.CompleteWith(ctx, nil, e) // want `the error of Claim.CompleteWith is thrown away`
}

func withoutAnswer(ctx context.Context, s *idemddb.Store, work func(context.Context, *idemddb.Claim) ([]byte, error)) {
	_, _ = idemddb.Run(ctx, s, "p-1", nil, work) // want `the error of Run is thrown away: the work perhaps did not run`
}

func withoutError(ctx context.Context, s *idemddb.Store, pay func(context.Context) (string, error)) string {
	receipt, _ := idemddb.Do(ctx, s, "p-1", nil, pay) // want `the error of Do is thrown away`

	return receipt
}

func failed(ctx context.Context, s *idemddb.Store, pay func(context.Context) error) error {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	if err := pay(ctx); errors.Is(err, errRefused) {
		return claim.Fail(ctx, err) // want `Claim.Fail returns nil once it is written, so the caller takes the failed work for done`
	} else if err != nil {
		return (claim.Release(ctx, err)) // want `Claim.Release returns nil once it is written, so the caller takes the failed work for done`
	}

	return unlessDone(claim, claim.Complete(ctx, nil))
}

func reported(ctx context.Context, s *idemddb.Store, pay func(context.Context) error) error {
	claim, record, err := s.Claim(ctx, "p-1", nil)
	if err != nil || record != nil {
		return err
	}

	if err := pay(ctx); err != nil {
		return errors.Join(err, claim.Release(ctx, err))
	}

	if ctx.Err() != nil {
		return claim.Release(ctx, nil)
	}

	return unlessDone(claim, claim.Complete(ctx, nil))
}

// In a wrapper, the wrapper knows that the work failed.
func wrapped(ctx context.Context) error {
	claim, _ := idemddb.FromContext(ctx)

	return claim.Release(ctx, errRefused)
}

func unlessDone(claim *idemddb.Claim, err error) error {
	if claim.IsDone(err) {
		return nil
	}

	return err
}

var errRefused = errors.New("refused")
