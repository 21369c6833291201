package operate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// inMemory stands for a table with a worker's store at noon. A program has
//
//	store, err := idemddb.New(client, "records", "payments", opts)
//	records, err := operate.New(store, client)
func inMemory(senders map[string]idemddb.Sender) (*idemddb.Store, *operate.Records, *idemddbtest.Clock) {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	db := idemddbtest.New(nil)
	_, err := db.CreateTable(context.Background(), idemddbtest.CreateTable("records", ""))
	check(err)

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{Now: clock.Now, Senders: senders})
	check(err)

	records, err := operate.New(store, db)
	check(err)

	return store, records, clock
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// claimed returns the claim of a worker on a key that no other worker holds and that is not completed.
func claimed(store *idemddb.Store, key string) *idemddb.Claim {
	claim, record, err := store.Claim(context.Background(), key, nil)
	if err != nil || record != nil {
		panic(fmt.Sprint("the key was claimed before: ", err))
	}

	return claim
}

// A key failed for good. Its cause is mended, so the key is reopened; a redrive then brings its message back.
func ExampleRecords_Reopen() {
	ctx := context.Background()
	store, records, _ := inMemory(nil)

	check(claimed(store, "payment-1").Fail(ctx, errors.New("account 7 has no currency")))

	seen, err := records.Look(ctx, "payment-1")
	check(err)
	fmt.Println(seen.Status, "after", seen.Attempts, "attempt:", seen.Cause)

	check(records.Reopen(ctx, seen, "anna", "account 7 has its currency now"))

	// A second operator has looked before that.
	fmt.Println(records.Reopen(ctx, seen, "ben", "account 7 has its currency now"))
	// Output:
	// failed after 1 attempt: account 7 has no currency
	// operate: reopen of key sha256:a-IBemZtKSDe: changed meanwhile, look again: it is released; the last change by an operator is reopen by anna: account 7 has its currency now
}

// A large result is kept beside its record, and is deleted with it.
func ExampleRecords_Result() {
	ctx := context.Background()
	store, records, _ := inMemory(nil)

	check(claimed(store, "report-1").Complete(ctx, make([]byte, 500_000)))

	seen, err := records.Look(ctx, "report-1")
	check(err)

	report, err := records.Result(ctx, seen)
	fmt.Println(len(seen.Result), seen.ResultBytes, len(report), err)

	check(records.Forget(ctx, seen, "anna", "the report is wrong"))

	_, err = records.Result(ctx, seen)
	fmt.Println(errors.Is(err, idemddb.ErrResultOmitted))
	// Output:
	// 0 500000 500000 <nil>
	// true
}

// A worker hangs and renews its lease. Released, its key can be claimed at once; the worker is fenced.
func ExampleRecords_Release() {
	ctx := context.Background()
	store, records, _ := inMemory(nil)

	worker := claimed(store, "payment-1")

	seen, err := records.Look(ctx, "payment-1")
	check(err)
	check(records.Release(ctx, seen, "anna", "its process hangs"))
	fmt.Println(errors.Is(worker.Extend(ctx), idemddb.ErrFenced))

	next := claimed(store, "payment-1")
	fmt.Println("takeover:", next.Takeover(), "attempt:", next.Attempt())
	// Output:
	// true
	// takeover: true attempt: 2
}

// Nobody shall do this work any more, whether its worker lives or not.
func ExampleRecords_Fail() {
	ctx := context.Background()
	store, records, clock := inMemory(nil)

	claimed(store, "payment-1")
	clock.Advance(time.Minute)

	seen, err := records.Look(ctx, "payment-1")
	check(err)
	fmt.Println(seen.Status)
	check(records.Fail(ctx, seen, "anna", "the customer has cancelled it"))

	_, _, err = store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	// Output:
	// stuck
	// idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 1): ended by anna: the customer has cancelled it
}

// A record is deleted, so that the work runs again when it is asked for.
func ExampleRecords_Forget() {
	ctx := context.Background()
	store, records, _ := inMemory(nil)

	_, err := idemddb.Do(ctx, store, "payment-1", nil, func(context.Context) (string, error) { return "receipt", nil })
	check(err)

	seen, err := records.Look(ctx, "payment-1")
	check(err)
	check(records.Forget(ctx, seen, "anna", "a test payment"))

	_, err = records.Look(ctx, "payment-1")
	fmt.Println(err)
	// Output:
	// operate: read of key sha256:a-IBemZtKSDe: no record
}

// A message could not be sent. The target is mended, so an operator sends it, and its record gets its end back.
func ExampleRecords_Send() {
	ctx := context.Background()
	target := &queue{down: true}
	store, records, _ := inMemory(map[string]idemddb.Sender{"receipts": target})

	_, err := store.Commit(ctx, "payment-1", nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "receipt 1"}}})
	check(err)

	seen, err := records.Look(ctx, "payment-1")
	check(err)
	fmt.Println(seen.Status, "with", len(seen.Messages), "message to", seen.Messages[0].To)
	fmt.Println(records.Forget(ctx, seen, "anna", "a test payment"))

	target.down = false
	sent, err := records.Send(ctx, seen, "anna", "the queue is back")
	fmt.Println(sent.Sent, target.got, err)
	// Output:
	// completed with 1 message to receipts
	// operate: forget of key sha256:a-IBemZtKSDe: the record has messages that are not sent
	// 1 [receipt 1] <nil>
}

// The keys whose worker died.
func ExampleRecords_List() {
	ctx := context.Background()
	store, records, clock := inMemory(nil)

	for _, key := range []string{"payment-1", "payment-2"} {
		claimed(store, key)
		clock.Advance(time.Minute)
	}

	_, err := idemddb.Do(ctx, store, "payment-1", nil, func(context.Context) (string, error) { return "receipt", nil })
	check(err)

	progress, err := records.List(ctx, operate.Selection{Status: []operate.Status{operate.Stuck}}, func(v operate.View) error {
		fmt.Println(v.Key, v.Status, "since", v.Lease.Format(time.TimeOnly))

		return nil
	})
	check(err)
	fmt.Println(progress.Read, "read,", progress.Found, "found")
	// Output:
	// payment-2 stuck since 12:01:30
	// 2 read, 1 found
}

// What is true of a key, for a program with a screen of its own.
func ExampleRecords_Look() {
	ctx := context.Background()
	store, records, clock := inMemory(nil)

	claimed(store, "payment-1")

	for range 2 {
		v, err := records.Look(ctx, "payment-1")
		check(err)
		fmt.Println(v.Status, "until", v.Lease.Format(time.TimeOnly))
		clock.Advance(time.Minute)
	}

	_, err := records.Look(ctx, "payment-2")
	fmt.Println(errors.Is(err, operate.ErrNoRecord))
	// Output:
	// held until 12:00:30
	// stuck until 12:00:30
	// true
}

// The messages of a test payment shall never be sent.
func ExampleRecords_ForgetUnsent() {
	ctx := context.Background()
	store, records, _ := inMemory(map[string]idemddb.Sender{"receipts": nil}) // another process sends

	_, err := store.Commit(ctx, "payment-1", nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "receipt 1"}}})
	check(err)

	seen, err := records.Look(ctx, "payment-1")
	check(err)
	fmt.Println(errors.Is(records.Forget(ctx, seen, "anna", "a test payment"), operate.ErrUnsent))
	fmt.Println(records.ForgetUnsent(ctx, seen, "anna", "a test payment"))
	// Output:
	// true
	// <nil>
}

// Make the store with the options of the workers.
func ExampleNew() {
	db := idemddbtest.New(nil) // a program has *dynamodb.Client

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{HashKeys: true, Retention: 30 * 24 * time.Hour})
	check(err)

	_, err = operate.New(store, db)
	fmt.Println(store.Table(), store.Namespace(), store.Options().ClockSkew, err)
	// Output: records payments 1s <nil>
}

// After an outage: which payments may have been done twice?
func ExampleSecondRun() {
	ctx := context.Background()
	store, records, clock := inMemory(nil)

	claimed(store, "payment-1") // its worker is killed
	clock.Advance(time.Minute)

	for _, key := range []string{"payment-1", "payment-2"} {
		_, err := idemddb.Do(ctx, store, key, nil, func(context.Context) (string, error) { return "receipt", nil })
		check(err)
	}

	selection := operate.Selection{Twice: true, Since: clock.Now().Add(-2 * time.Hour)}
	_, err := records.List(ctx, selection, func(v operate.View) error {
		fmt.Println(v.Key, v.Status, v.SecondRun.Why, "of a worker whose lease ended at", v.SecondRun.LeaseEnded.Format(time.TimeOnly))

		return nil
	})
	check(err)
	// Output: payment-1 completed [takeover] of a worker whose lease ended at 12:00:30
}
