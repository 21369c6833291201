package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Ten keys are claimed by one request, and completions that come at about the same time share one, too.
func ExampleBatch() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	var all sync.WaitGroup

	batch := store.Batch()
	batch.Expect(10)

	for i := range 10 {
		all.Go(func() {
			claim, record, err := batch.Claim(ctx, fmt.Sprint("payment-", i), nil)
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
	fmt.Println("fewer requests than writes:", len(aws.Requests()) < 20)
	// Output: fewer requests than writes: true
}

// Each key has an answer of its own, as from Store.Claim.
func ExampleBatch_Claim() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	if err := claimed(store, "payment-1").Complete(ctx, []byte("receipt 1")); err != nil {
		fmt.Println(err)

		return
	}

	claimed(store, "payment-2") // another worker is at it

	var all sync.WaitGroup

	batch := store.Batch()
	batch.Expect(3)

	for _, key := range []string{"payment-1", "payment-2", "payment-3"} {
		all.Go(func() {
			claim, record, err := batch.Claim(ctx, key, nil)

			switch {
			case errors.Is(err, idemddb.ErrInProgress):
				fmt.Println(key, "comes back later")
			case err != nil:
				fmt.Println(err)
			case record != nil:
				fmt.Printf("%s was paid before: %s\n", key, record.Result)
			default:
				fmt.Println("pay", claim.Key())
			}
		})
	}

	all.Wait()
	// Unordered output:
	// payment-1 was paid before: receipt 1
	// payment-2 comes back later
	// pay payment-3
}

// Claims that are announced wait for each other, so that they share requests.
func ExampleBatch_Expect() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	var all sync.WaitGroup

	batch := store.Batch()
	batch.Expect(25)

	for i := range 25 {
		all.Go(func() {
			claim, record, err := batch.Claim(ctx, fmt.Sprint("payment-", i), nil)
			if err != nil || record != nil {
				fmt.Println("in progress, or paid before:", err)

				return
			}

			defer claim.Release(ctx, nil)
		})
	}

	all.Wait()
	fmt.Println("fewer requests than writes:", len(aws.Requests()) < 50)
	// Output: fewer requests than writes: true
}

// A key that was delivered before has a record. To say so saves a statement in a shared request, and a wrong guess costs one.
func ExampleClaimOptions_redelivered() {
	store, _ := inMemory(nil)

	for receiveCount := 1; receiveCount <= 2; receiveCount++ {
		opts := &idemddb.ClaimOptions{Redelivered: receiveCount > 1}

		claim, record, err := store.Batch().Claim(context.Background(), "payment-1", opts)
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

// A Batch is for one invocation.
func ExampleStore_Batch() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	for range 2 {
		batch := store.Batch()

		claim, record, err := batch.Claim(ctx, "payment-1", nil)

		switch {
		case err != nil:
			fmt.Println("come back later:", err)
		case record != nil:
			fmt.Printf("paid before: %s\n", record.Result)
		default:
			if err := claim.Complete(ctx, []byte("receipt 1")); !claim.IsDone(err) {
				fmt.Println(err)
			}
		}
	}
	// Output: paid before: receipt 1
}

// Each write is a request of its own, without PartiQL, for about ten times the requests.
func ExampleOptions_single() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Unshared: true})

	var all sync.WaitGroup

	batch := store.Batch()

	for i := range 3 {
		all.Go(func() {
			claim, record, err := batch.Claim(ctx, fmt.Sprint("payment-", i), nil)
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
		Observe: func(_ context.Context, e idemddb.Event) { fmt.Printf("%s: %v\n", e.Kind, e.Err) },
	})
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println("ahead:", store.Batch().Ahead())
	// Output:
	// unshared: idemddb: shared requests: table "records": the client does not have the method BatchExecuteStatement
	// ahead: 0
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
