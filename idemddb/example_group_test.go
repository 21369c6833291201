package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A batch of ten: one request claims all, and what ends at about the same time is completed by one.
func ExampleGroup() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	group := store.Group()

	requests := make([]idemddb.ClaimRequest, 10)
	for i := range requests {
		requests[i].Key = fmt.Sprint("payment-", i)
	}

	answers := group.Claim(ctx, requests)
	aws.cost()

	var work sync.WaitGroup

	for _, answer := range answers {
		work.Go(func() {
			if err := answer.Claim.Complete(ctx, []byte("receipt")); err != nil {
				fmt.Println(err)
			}
		})
	}

	work.Wait()
	fmt.Println("fewer requests than completions:", len(aws.Requests()) < len(answers))
	// Output:
	// 1 requests, 10 write units
	// fewer requests than completions: true
}

// Each key has an answer of its own, as from Store.Claim.
func ExampleGroup_Claim() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	done, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err, done.Complete(ctx, []byte("receipt 1")))

	_, _, err = store.Claim(ctx, "payment-2", nil) // another worker is at it
	fmt.Println(err)
	aws.cost()

	answers := store.Group().Claim(ctx, []idemddb.ClaimRequest{
		{Key: "payment-1", Redelivered: true}, {Key: "payment-2"}, {Key: "payment-3"},
	})

	for _, a := range answers {
		switch {
		case a.Err != nil:
			fmt.Println("come back later:", errors.Is(a.Err, idemddb.ErrInProgress))
		case a.Record != nil:
			fmt.Printf("%s was paid before: %s\n", a.Record.Key, a.Record.Result)
		default:
			fmt.Println("pay", a.Claim.Key())
		}
	}

	aws.cost()
	// Output:
	// <nil> <nil>
	// <nil>
	// 3 requests, 3 write units
	// payment-1 was paid before: receipt 1
	// come back later: true
	// pay payment-3
	// 2 requests, 4 write units
}

// The work of what is new begins while it is still unknown what the other keys have.
func ExampleGroup_ClaimEach() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	done, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err, done.Complete(ctx, []byte("receipt 1")))

	store.Group().ClaimEach(ctx, []idemddb.ClaimRequest{{Key: "payment-1"}, {Key: "payment-2"}}, func(known []idemddb.ClaimAnswer) {
		for _, a := range known {
			fmt.Println("request", a.Index, "is new:", a.Claim != nil)
		}
	})
	// Output:
	// <nil> <nil>
	// request 1 is new: true
	// request 0 is new: false
}

// What was delivered before has a record, and says so: that saves a statement. A wrong guess only costs one.
func ExampleClaimRequest() {
	ctx := context.Background()
	store, aws := inMemory(nil)
	first := []idemddb.ClaimRequest{{Key: "payment-1"}, {Key: "payment-2"}}
	again := []idemddb.ClaimRequest{{Key: "payment-1", Redelivered: true}, {Key: "payment-2", Redelivered: true}}

	store.Group().Claim(ctx, first)
	aws.cost()
	store.Group().Claim(ctx, again)
	aws.cost()
	store.Group().Claim(ctx, first)
	aws.cost()
	// Output:
	// 1 requests, 2 write units
	// 1 requests, 2 write units
	// 2 requests, 4 write units
}

// Exactly one of its fields tells.
func ExampleClaimAnswer() {
	store, _ := inMemory(nil)
	answers := store.Group().Claim(context.Background(), []idemddb.ClaimRequest{{Key: "payment-1"}, {Key: ""}})

	for _, a := range answers {
		fmt.Println(a.Claim != nil, a.Record != nil, a.Err)
	}
	// Output:
	// true false <nil>
	// false false idemddb: claim of key sha256:47DEQpj8HBSa: bad key: it is empty
}

// A Group is for one batch.
func ExampleStore_Group() {
	ctx := context.Background()
	store, aws := inMemory(nil)

	for batch := range 2 {
		answers := store.Group().Claim(ctx, []idemddb.ClaimRequest{
			{Key: fmt.Sprint("payment-", batch, "a")}, {Key: fmt.Sprint("payment-", batch, "b")},
		})
		fmt.Println(len(answers), "answers")
		aws.cost()
	}
	// Output:
	// 2 answers
	// 1 requests, 2 write units
	// 2 answers
	// 1 requests, 2 write units
}

func ExampleStore_Grouped() {
	grouped, _ := inMemory(nil)
	single, _ := inMemory(&idemddb.Options{Single: true})
	fmt.Println(grouped.Grouped(), single.Grouped())
	// Output: true false
}

// One request for each write, as the SDK's calls by hand would be: without the PartiQL actions, for ten times the requests.
func ExampleOptions_single() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Single: true})

	store.Group().Claim(ctx, []idemddb.ClaimRequest{{Key: "payment-1"}, {Key: "payment-2"}, {Key: "payment-3"}})
	aws.cost()
	// Output: 3 requests, 3 write units
}

// decorated is a client as a tracing library would wrap it: it has the methods that a Store needs, and no others.
type decorated struct{ idemddb.DynamoDB }

// A role or a client that has no groups is told of once; everything works, one request for each write.
func ExampleKind_ungrouped() {
	_, aws := inMemory(nil)

	_, err := idemddb.New(decorated{aws.DB}, "records", "payments", &idemddb.Options{
		Observe: func(_ context.Context, e idemddb.Event) { fmt.Printf("%s: %v\n", e.Kind, e.Err) },
	})
	fmt.Println(err)
	// Output:
	// ungrouped: idemddb: groups: table "records": the client hides its method BatchExecuteStatement
	// <nil>
}

// A wrapper that claims ahead of the work asks whether that could cost a key an attempt.
func ExampleStore_CountsClaims() {
	plain, _ := inMemory(nil)
	careful, _ := inMemory(&idemddb.Options{MaxAttempts: 3})
	fmt.Println(plain.CountsClaims(), careful.CountsClaims())
	// Output: false true
}

// How long to stay away from a key that another worker holds.
func ExampleStore_UntilTakeover() {
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Lease: 30 * time.Second, ClockSkew: time.Second})

	_, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	aws.Advance(10 * time.Second)

	_, _, err = store.Claim(ctx, "payment-1", nil)
	if held, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		fmt.Println(store.UntilTakeover(held.Until))
	}
	// Output:
	// <nil>
	// 22s
}
