package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Observe tells a replay from a run, and counts what deserves an alarm.
func ExampleOptions_observe() {
	ctx := context.Background()
	store, _ := inMemory(&idemddb.Options{
		Observe: func(_ context.Context, e idemddb.Event) {
			fmt.Println(e.Kind, idemddb.KeyHash(e.Key), e.Attempt)
		},
	})

	for range 2 {
		fmt.Println(idemddb.Do(ctx, store, "payment-1", nil, charge))
	}
	// Output:
	// claimed sha256:a-IBemZtKSDe 1
	// charging 12.50
	// completed sha256:a-IBemZtKSDe 1
	// receipt 1 <nil>
	// replayed sha256:a-IBemZtKSDe 1
	// receipt 1 <nil>
}

// The kinds that need a person.
func ExampleEvent() {
	alarm := func(_ context.Context, e idemddb.Event) {
		switch e.Kind {
		case idemddb.Fenced, idemddb.Unrecorded, idemddb.Corrupt:
			fmt.Println("alarm:", e.Kind, e.Err)
		default:
		}
	}
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Observe: alarm})

	slow, _, err := store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)
	aws.Advance(time.Minute)

	_, _, err = store.Claim(ctx, "payment-1", nil)
	fmt.Println(err)

	if err := slow.Complete(ctx, nil); err != nil {
		fmt.Println("not recorded")
	}
	// Output:
	// <nil>
	// <nil>
	// alarm: fenced idemddb: key sha256:a-IBemZtKSDe: claim with fence 1767355200001 is fenced, now at fence 1767355200002
	// not recorded
}

// Runs, replays and refusals are counted apart.
func ExampleKind() {
	ctx := context.Background()
	count := map[idemddb.Kind]int{} // with a mutex where the store is used by several goroutines
	store, _ := inMemory(&idemddb.Options{
		Observe: func(_ context.Context, e idemddb.Event) { count[e.Kind]++ },
	})

	for range 3 {
		if _, err := idemddb.Do(ctx, store, "payment-1", nil, charge); err != nil {
			fmt.Println(err)
		}
	}

	fmt.Println(count[idemddb.Claimed], "claimed,", count[idemddb.Completed], "completed,", count[idemddb.Replayed], "replayed")
	// Output:
	// charging 12.50
	// 1 claimed, 1 completed, 2 replayed
}
