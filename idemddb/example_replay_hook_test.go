package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// An answer that must not be given any more: the key stays completed, and the caller learns why there is no answer.
func ExampleClaimOptions_onReplay() {
	store, aws := inMemory(nil)
	opts := &idemddb.ClaimOptions{OnReplay: func(_ context.Context, rec *idemddb.Record) error {
		if aws.Now().Sub(rec.CompletedAt) > time.Hour {
			return errors.New("the payment link is over; ask for a new one")
		}

		return nil
	}}

	for range 3 {
		receipt, err := idemddb.Do(context.Background(), store, "p-1", opts, charge)
		fmt.Println(receipt, err)
		aws.Advance(45 * time.Minute)
	}
	// Output:
	// charging 12.50
	// receipt 1 <nil>
	// receipt 1 <nil>
	//  the payment link is over; ask for a new one
}

// A line of the log for each call, which says more than the error of Do: whether the work was done before, for example.
func ExampleClaimOptions_onEnding() {
	store, _ := inMemory(nil)
	opts := &idemddb.ClaimOptions{OnEnding: func(_ context.Context, e idemddb.Ending) {
		fmt.Println(e.Kind, e.Done)
	}}

	for range 2 {
		_, err := idemddb.Do(context.Background(), store, "p-1", opts, charge)
		fmt.Println("error:", err)
	}

	_, err := idemddb.Do(context.Background(), store, "p-2", opts, func(context.Context) (string, error) {
		return "", errors.New("the bank is closed")
	})
	fmt.Println("error:", err)
	// Output:
	// charging 12.50
	// completed true
	// error: <nil>
	// replayed true
	// error: <nil>
	// released false
	// error: the bank is closed
}

func ExampleMismatchError() {
	store, _ := inMemory(nil)

	for _, amount := range []string{"12.50", "99.00"} {
		_, err := idemddb.Do(context.Background(), store, "p-1", &idemddb.ClaimOptions{Fingerprint: amount}, charge)
		if mismatch, ok := errors.AsType[*idemddb.MismatchError](err); ok {
			fmt.Println(mismatch.Key, "was used for another input at", mismatch.Record.CompletedAt.UTC())
		}
	}
	// Output:
	// charging 12.50
	// p-1 was used for another input at 2026-01-02 12:00:00 +0000 UTC
}
