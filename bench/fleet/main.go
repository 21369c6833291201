// Fleet runs environments of Lambda by the thousand over one table, in virtual time.
//
//	make fleet                   24 settings
//	make fleet FLAGS=-full       and all others
//	make fleet FLAGS='-most 1000'
//	make fleet FLAGS='-svg docs/pictures/scale.svg'
//
// The environments are the library itself: lambdawrap, the Store, and the engine with its goroutines and timers. They run in a
// bubble of testing/synctest, where a handler of 100 ms takes no time. Each environment always has the next batch. Only DynamoDB
// is a model: package idemddbtest, which evaluates each expression that the library sends, with Limits of what AWS documents for
// partitions, and with latencies. What an environment computes takes no time here.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"testing"
	"time"
)

// Partitions of the table that is made for the load, and of a new one.
const (
	warm = 200
	cold = 4
)

func main() {
	testing.Init() // the flags of tests

	full := flag.Bool("full", false, "all settings")
	plot := flag.String("svg", "", "file for the plot")
	most := flag.Int("most", math.MaxInt, "only settings that have at most so many messages at a time")

	flag.Parse()

	all := slices.DeleteFunc(settings(*full), func(s setting) bool { return s.environments*s.batch > *most })

	// Only a test can open a bubble. Main runs it and ends the program.
	fleet := func(t *testing.T) { run(t, os.Stdout, all, *plot) } //nolint:thelper // it is the test

	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "fleet", F: fleet}}, nil, nil)
}

// settings returns the settings: 24, or all of them.
func settings(isFull bool) (all []setting) {
	sizes := []struct {
		batch        int
		environments []int
	}{{1, []int{10, 100, 1000, 10000}}, {10, []int{10, 100, 1000, 2000}}, {100, []int{10, 50, 100, 200}}}

	for _, size := range sizes {
		for _, environments := range size.environments {
			all = append(all, setting{work: claimed, environments: environments, batch: size.batch, partitions: warm})
		}
	}

	for i, size := range sizes {
		for _, environments := range size.environments[1:3] {
			all = append(all, setting{work: claimed, environments: environments, batch: size.batch, partitions: warm, popular: 0.2})
		}

		if isFull {
			all = append(all, setting{work: claimed, environments: sizes[i].environments[3], batch: size.batch, partitions: warm, popular: 0.2})
		}
	}

	for _, w := range []work{optimistic, announcing} {
		for _, environments := range []int{10, 100, 500} {
			all = append(all, setting{work: w, environments: environments, batch: 10, partitions: warm})
		}
	}

	if !isFull {
		return all
	}

	for _, environments := range []int{10, 100, 500} {
		all = append(all, setting{work: staged, environments: environments, batch: 10, partitions: warm})
	}

	return append(all,
		setting{work: announcing, environments: 500, batch: 10, partitions: warm, shards: 128},
		setting{work: claimed, environments: 100, batch: 10, partitions: cold},
		// each partition has split once
		setting{work: claimed, environments: 100, batch: 10, partitions: cold, splits: 5 * time.Second, settles: 12 * time.Second},
		setting{work: claimed, environments: 100, batch: 10, partitions: warm, popular: 0.05}, // 5 %
	)
}

// run runs the settings, as many at a time as there are processors, and prints them in their order.
func run(t *testing.T, out io.Writer, all []setting, plot string) {
	t.Helper()

	results := make([]figures, len(all))

	t.Run("settings", func(t *testing.T) {
		for i, s := range all {
			t.Run(s.name(), func(t *testing.T) {
				t.Parallel()

				results[i] = simulate(t, s)
			})
		}
	})

	fmt.Fprint(out, table(results), "\n", needsTable())

	if plot == "" {
		return
	}

	if err := os.WriteFile(plot, []byte(draw(results)), 0o600); err != nil {
		t.Error(err)
	}
}
