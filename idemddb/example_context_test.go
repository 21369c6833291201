package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The work finds its claim in its context: for the fencing token, or to see whether it is the first attempt.
func ExampleFromContext() {
	store, _ := inMemory(nil)

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, func(ctx context.Context) (string, error) {
		if claim, ok := idemddb.FromContext(ctx); ok {
			fmt.Println(claim.Key(), "attempt", claim.Attempt())
		}

		return charge(ctx)
	})
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(receipt)
	// Output:
	// payment-1 attempt 1
	// charging 12.50
	// receipt 1
}

// A wrapper cancels its handlers before the invocation ends. Claims that are made inside of a handler last to the end of the
// invocation all the same, and the writes that settle them are sent until the wrapper answers.
func ExampleWithInvocation() {
	store, _ := inMemory(&idemddb.Options{Lease: time.Hour})

	deadline := time.Now().Add(10 * time.Minute)
	answer := deadline.Add(-time.Second)

	handler, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
	defer cancel()

	claim, record, err := store.Claim(idemddb.WithInvocation(handler, deadline, answer), "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	fmt.Println("a lease of", claim.Deadline().Sub(noon).Round(time.Minute))
	// Output: a lease of 10m0s
}

// A wrapper that counts the retries of completions can hold new work back until they get through.
func ExampleOnRetry() {
	store, aws := inMemory(nil)

	claim, record, err := store.Claim(context.Background(), "payment-1", nil)
	if err != nil || record != nil {
		fmt.Println("in progress, or paid before:", err)

		return
	}

	aws.throttle(2)

	ctx := idemddb.OnRetry(context.Background(), func() { fmt.Println("the completion is sent again") })
	if err := claim.Complete(ctx, nil); !claim.IsDone(err) {
		fmt.Println(err)
	}
	// Output:
	// the completion is sent again
	// the completion is sent again
}
