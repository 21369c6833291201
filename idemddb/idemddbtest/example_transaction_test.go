package idemddbtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A conflict at a chosen point: when the store completes its claim, which is its second request, another transaction holds the
// record. It lets go of the record before the third request, with which the store tries again.
func ExampleDB_Begin() {
	db := withTable()
	store := newStore(db, nil)

	var (
		other *idemddbtest.Transaction
		err   error
	)

	db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		switch len(db.Requests()) { // this many were answered before this one
		case 1:
			other, err = db.Begin(countUp("p-1"))
		case 2:
			other.Commit()
		}

		return idemddbtest.None
	})

	fmt.Println(claimOnce(store, "p-1"), err)

	for _, r := range db.Requests() {
		_, conflict := errors.AsType[*types.TransactionConflictException](r.Err)
		fmt.Println(r.Operation, "conflict:", conflict)
	}
	// Output:
	// <nil> <nil>
	// UpdateItem conflict: false
	// UpdateItem conflict: true
	// UpdateItem conflict: false
}

// A process has sent a transaction and died. DynamoDB is still working on the transaction, so it refuses what the next process
// sends to the same items, as a conflict.
func ExampleTransaction() {
	db := withTable()
	db.Inject(idemddbtest.LateCommit)
	fmt.Println(send(db, "first", "p-1"))

	fmt.Println(send(db, "first", "p-1")) // the token is the same
	fmt.Println(send(db, "second", "p-2", "p-1"))

	db.Deliver() // now DynamoDB commits it
	fmt.Println(send(db, "first", "p-1"), countOf(db, "p-1"))
	// Output:
	// no answer
	// TransactionInProgressException
	// TransactionCanceledException [None TransactionConflict]
	// done 1
}

func ExampleTransaction_Commit() {
	db := withTable()
	transaction, err := db.Begin(countUp("p-1"))
	fmt.Println(err, "before:", countOf(db, "p-1"))

	transaction.Commit()
	fmt.Println("after:", countOf(db, "p-1"))
	// Output:
	// <nil> before: 0
	// after: 1
}

// DynamoDB has committed one item and not yet the other. The same transaction under another token is refused by the first item
// and in conflict with the second: whoever reads only the refusal takes its own write for somebody else's.
func ExampleTransaction_CommitItem() {
	db := withTable()
	transaction, err := db.Begin(putNew("p-1", "p-2"))
	transaction.CommitItem(0)

	var canceled *types.TransactionCanceledException

	_, again := db.TransactWriteItems(context.Background(), putNew("p-1", "p-2"))
	fmt.Println(err, errors.As(again, &canceled), codesOf(canceled))
	// Output: <nil> true [ConditionalCheckFailed TransactionConflict]
}

func ExampleTransaction_Cancel() {
	db := withTable()
	transaction, err := db.Begin(countUp("p-1"))
	fmt.Println(err, send(db, "token", "p-1"))

	transaction.Cancel()
	fmt.Println(send(db, "token", "p-1"))
	// Output:
	// <nil> TransactionCanceledException [TransactionConflict]
	// done
}

func ExampleDB_InFlight() {
	db := withTable()
	db.Inject(idemddbtest.LateCommit)
	fmt.Println(send(db, "token", "p-1"), len(db.InFlight()))

	db.InFlight()[0].Commit()
	fmt.Println(countOf(db, "p-1"), len(db.InFlight()))
	// Output:
	// no answer 1
	// 1 0
}

// A late request is not applied a second time as long as DynamoDB knows its token, which is ten minutes. From then on only a
// condition keeps it away, and this one has none.
func ExampleDB_ForgetTokens() {
	for _, forgotten := range []bool{false, true} {
		db := withTable()
		db.Inject(idemddbtest.LateRequest)
		fmt.Println(send(db, "token", "p-1"))
		fmt.Println(send(db, "token", "p-1"))

		if forgotten {
			db.ForgetTokens()
		}

		db.Deliver()
		fmt.Println("applied", countOf(db, "p-1"))
	}
	// Output:
	// no answer
	// done
	// applied 1
	// no answer
	// done
	// applied 2
}

// A reason beside others: the first item is throttled, and the condition of the second is refused.
func ExampleDB_InterceptParts() {
	db := withTable()
	fmt.Println(send(db, "token", "p-2"))

	db.InterceptParts(func(_ context.Context, part idemddbtest.Request) idemddbtest.Fault {
		if part.Key["pk"].(*types.AttributeValueMemberS).Value == "payments#p-1" {
			return idemddbtest.ThrottleAccount
		}

		return idemddbtest.None
	})

	var canceled *types.TransactionCanceledException

	_, err := db.TransactWriteItems(context.Background(), putNew("p-1", "p-2"))
	fmt.Println(errors.As(err, &canceled), codesOf(canceled))
	// Output:
	// done
	// true [ThrottlingError ConditionalCheckFailed]
}

// Transactions take some milliseconds, as those of DynamoDB do, so that two workers who send transactions for one item at once
// are in conflict. This function also waits until both are there, because an example must always print the same.
func ExampleOptions_transactionTime() {
	var workers, arrived sync.WaitGroup

	arrived.Add(2)

	db := idemddbtest.New(&idemddbtest.Options{TransactionTime: func() time.Duration {
		arrived.Done()
		arrived.Wait()

		return 2*time.Millisecond + rand.N(4*time.Millisecond)
	}})
	if _, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", "")); err != nil {
		panic(err)
	}

	answers := make([]string, 2)
	for i, token := range []string{"first", "second"} {
		workers.Go(func() { answers[i] = send(db, token, "p-1") })
	}

	workers.Wait()
	slices.Sort(answers)
	fmt.Println(strings.Join(answers, ", "), "count:", countOf(db, "p-1"))
	// Output: TransactionCanceledException [TransactionConflict], done count: 1
}
