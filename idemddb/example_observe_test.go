package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/record"
)

// The events show which calls ran the work and which were replays.
func ExampleOptions_observe() {
	ctx := context.Background()
	store, _ := inMemory(&idemddb.Options{
		Observe: func(_ context.Context, e idemddb.Event) {
			fmt.Println(e.Kind, record.KeyHash(e.Key), e.Attempt)
		},
	})

	for range 2 {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
		if err != nil {
			fmt.Println(err)

			return
		}

		fmt.Println(receipt)
	}
	// Output:
	// claimed sha256:a-IBemZtKSDe 1
	// charging 12.50
	// completed sha256:a-IBemZtKSDe 1
	// receipt 1
	// replayed sha256:a-IBemZtKSDe 1
	// receipt 1
}

// These kinds need a person.
func ExampleEvent() {
	alarm := func(_ context.Context, e idemddb.Event) {
		switch e.Kind {
		case idemddb.KindFenced, idemddb.KindUnrecorded, idemddb.KindCorrupt:
			fmt.Println("alarm:", e.Kind, e.Err)
		default:
		}
	}
	ctx := context.Background()
	store, aws := inMemory(&idemddb.Options{Observe: alarm})

	slow := claimed(store, "payment-1")
	aws.Advance(time.Minute)
	claimed(store, "payment-1") // another worker takes the key over

	if err := slow.Complete(ctx, nil); err != nil {
		fmt.Println("not recorded")
	}
	// Output:
	// alarm: fenced idemddb: key sha256:a-IBemZtKSDe: claim with fencing token 1767355200001 is fenced, the key has fencing token 1767355200002 now
	// not recorded
}

// Runs, replays and refusals are counted apart.
func ExampleKind() {
	ctx := context.Background()
	count := map[idemddb.Kind]int{} // a program whose goroutines share the Store needs a mutex
	store, _ := inMemory(&idemddb.Options{
		Observe: func(_ context.Context, e idemddb.Event) { count[e.Kind]++ },
	})

	for range 3 {
		if _, err := idemddb.Do(ctx, store, "payment-1", nil, charge); err != nil {
			fmt.Println(err)
		}
	}

	fmt.Println(count[idemddb.KindClaimed], "claimed,", count[idemddb.KindCompleted], "completed,", count[idemddb.KindReplayed], "replayed")
	// Output:
	// charging 12.50
	// 1 claimed, 1 completed, 2 replayed
}
