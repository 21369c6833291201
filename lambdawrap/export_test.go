package lambdawrap

import (
	"context"
	"maps"
	"slices"

	"github.com/idemddb/go-idemddb/idemddb"
)

// OutcomeOf returns the outcome of a message whose work ended so.
func OutcomeOf(e idemddb.Ending) Outcome { return outcomeOf(e).name }

// Counting returns a context for one invocation, and a function that returns the outcomes which it counted.
func Counting(ctx context.Context) (context.Context, func() []Outcome) {
	c := newCounts()

	return context.WithValue(ctx, countsKey{}, c), func() []Outcome { return slices.Collect(maps.Keys(c.outcomes)) }
}
