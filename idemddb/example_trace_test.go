package idemddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The record keeps the traceparent of its run, so that a takeover and a replay can be linked to the run before.
func ExampleOptions_trace() {
	span := "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01" // a program takes it from the span in ctx
	store, aws := inMemory(&idemddb.Options{
		Trace: func(context.Context) string { return span },
		Observe: func(_ context.Context, e idemddb.Event) {
			if e.Trace != "" {
				fmt.Println(e.Kind, "is linked to", e.Trace)
			}
		},
	})

	claimed(store, "payment-1") // its worker dies
	aws.Advance(time.Minute)

	span = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01"

	for range 2 {
		receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)
		if err != nil {
			fmt.Println(err)

			return
		}

		fmt.Println(receipt)
	}
	// Output:
	// takeover is linked to 00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01
	// charging 12.50
	// receipt 1
	// replayed is linked to 00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01
	// receipt 1
}

// A claim that takes a key over knows the run whose effect may have happened.
func ExampleClaim_TakenFrom() {
	run := "run-1" // a program takes a traceparent from the span in ctx
	store, aws := inMemory(&idemddb.Options{Trace: func(context.Context) string { return run }})

	claimed(store, "payment-1") // its worker dies
	aws.Advance(time.Minute)

	run = "run-2"
	claim := claimed(store, "payment-1")

	fmt.Println(claim.Takeover(), claim.TakenFrom())
	// Output: true run-1
}
