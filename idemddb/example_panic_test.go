package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
)

// panicked is an error of code that panicked.
type panicked interface {
	error
	Stack() []byte
}

// The stack of a panic says which line must be mended.
func ExampleEvent_panic() {
	report := func(err error, stack []byte) { // a program writes to its log
		fmt.Println(err, "in noSpan:", strings.Contains(string(stack), "noSpan"))
	}
	observe := func(_ context.Context, e idemddb.Event) {
		if p, ok := errors.AsType[panicked](e.Err); ok {
			report(e.Err, p.Stack())
		}
	}
	store, _ := inMemory(&idemddb.Options{Trace: noSpan, Observe: observe})

	receipt, err := idemddb.Do(context.Background(), store, "payment-1", nil, charge)
	fmt.Println(receipt, err)
	// Output:
	// idemddb: trace of key sha256:a-IBemZtKSDe: Options.Trace panicked: no span in noSpan: true
	// charging 12.50
	// receipt 1 <nil>
}

// noSpan is an Options.Trace with a mistake.
func noSpan(context.Context) string { panic("no span") }
