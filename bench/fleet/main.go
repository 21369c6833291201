// Fleet simulates environments of Lambda by the thousand, over the partitions of one table, in virtual time.
//
//	make fleet                   24 settings
//	make fleet FLAGS=-full       and the same on a new table
//	make fleet FLAGS='-svg docs/pictures/scale.svg'
//
// Each environment has the planner of this library (internal/planner), which groups its writes into requests as in a process, and always has the
// next batch. A message takes a claim, a handler of 90 to 110 ms, and a completion. DynamoDB is a model: partitions that take 1,000 write units a second
// each, with a tenth of a second of them saved, and requests that take 3 ms in the middle and 12 ms for one in a hundred. A partition does not split
// within a run. What a client does besides, as signing and waiting for a processor, is not in it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
)

// Partitions of the table that is made for the load, and of a new one.
const (
	warm = 200
	cold = 4
)

func main() {
	full := flag.Bool("full", false, "the same on a new table, too")
	plot := flag.String("svg", "", "file for the plot")
	seed := flag.Uint64("seed", 1, "of what is drawn")

	flag.Parse()

	if err := run(context.Background(), os.Stdout, settings(*full), *seed, *plot); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func settings(full bool) (all []setting) {
	tables := []int{warm}
	if full {
		tables = append(tables, cold)
	}

	for _, partitions := range tables {
		for _, popular := range []float64{0, 0.2} {
			for _, c := range []struct {
				batch        int
				environments []int
			}{{1, []int{10, 100, 1000, 10000}}, {10, []int{10, 100, 1000, 2000}}, {100, []int{10, 50, 100, 200}}} {
				for _, environments := range c.environments {
					all = append(all, setting{environments, c.batch, partitions, popular})
				}
			}
		}
	}

	return all
}

// run simulates the settings, two at a time, and prints them in their order.
func run(_ context.Context, out io.Writer, all []setting, seed uint64, plot string) error {
	results := make([]figures, len(all))
	slots := make(chan struct{}, 2)

	var running sync.WaitGroup

	for i, s := range all {
		slots <- struct{}{}

		running.Go(func() {
			defer func() { <-slots }()

			results[i] = simulate(s, seed)
		})
	}

	running.Wait()
	fmt.Fprint(out, table(results))

	if plot == "" {
		return nil
	}

	if err := os.WriteFile(plot, []byte(draw(results)), 0o600); err != nil {
		return fmt.Errorf("plot: %w", err)
	}

	return nil
}
