package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Writes of a Store that are made while a request is under way share the next one. Nothing is needed for that but one Store.
func ExampleStore_together() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	var all sync.WaitGroup

	for i := range 10 {
		all.Go(func() {
			claim, record, err := store.Claim(ctx, fmt.Sprint("payment-", i), nil)
			if err != nil || record != nil {
				fmt.Println("in progress, or paid before:", err)

				return
			}

			if err := claim.Complete(ctx, []byte("receipt")); !claim.IsDone(err) {
				fmt.Println(err)
			}
		})
	}

	all.Wait()
	fmt.Println("at most one request for each write:", len(aws.Requests()) <= 20, "records:", len(aws.Items("records")))
	// Output: at most one request for each write: true records: 10
}

// A key that was delivered before has a record. To say so saves a statement in a shared request, and a wrong guess costs one.
func ExampleClaimOptions_redelivered() {
	store, _ := inMemory(nil)

	for receiveCount := 1; receiveCount <= 2; receiveCount++ {
		opts := &idemddb.ClaimOptions{Redelivered: receiveCount > 1}

		claim, record, err := store.Claim(context.Background(), "payment-1", opts)
		if err != nil || record != nil {
			fmt.Println("in progress, or paid before:", err)

			return
		}

		fmt.Println("attempt", claim.Attempt())

		if err := claim.Release(context.Background(), errors.New("the bank is closed")); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// attempt 1
	// attempt 2
}

// Each write is a request of its own, without PartiQL, for about ten times the requests.
func ExampleOptions_single() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Single: true})

	var all sync.WaitGroup

	for i := range 3 {
		all.Go(func() {
			claim, record, err := store.Claim(ctx, fmt.Sprint("payment-", i), nil)
			if err != nil || record != nil {
				fmt.Println("in progress, or paid before:", err)

				return
			}

			if err := claim.Complete(ctx, nil); !claim.IsDone(err) {
				fmt.Println(err)
			}
		})
	}

	all.Wait()
	aws.cost()
	// Output: 6 requests, 6 WCU
}

// decorated is a client as a tracing library may wrap it: it has the methods that a Store needs, and no others.
type decorated struct{ idemddb.DynamoDB }

// If requests cannot be shared, one event says why. Everything works, with one request for each write.
func ExampleBatcher() {
	_, aws := inMemory(nil)

	store, err := idemddb.New(decorated{aws.DB}, "records", "payments", &idemddb.Options{
		Observe: func(_ context.Context, e idemddb.Event) {
			if e.Err != nil {
				fmt.Printf("%s: %v\n", e.Kind, e.Err)
			}
		},
	})
	if err != nil {
		fmt.Println(err)

		return
	}

	claim := claimed(store, "payment-1")
	if err := claim.Complete(context.Background(), nil); !claim.IsDone(err) {
		fmt.Println(err)
	}
	// Output:
	// unshared: idemddb: shared requests: table "records": the client does not have the method BatchExecuteStatement
}

// A claim that DynamoDB does not answer gives up after ClaimPatience, and the message comes back by its queue.
func ExampleOptions_claimPatience() {
	store, aws := inMemory(&idemddb.Options{ClaimPatience: 50 * time.Millisecond})
	aws.outage()

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)
	if err != nil {
		fmt.Println("come back later")

		return
	}

	fmt.Println(receipt)
	// Output: come back later
}
