// Command explore visits every order of events of a few writers: make explore. A planner is driven as package engine drives it,
// but one event after the other, and the requests are answered by the in-memory engine, which evaluates the conditions that
// package protocol sends.
//
// A writer claims a key and completes it, or commits it with an effect on an item. The events are: a writer hands in a write; a
// request is answered; a request is lost, and arrives later or never; its answer is lost; DynamoDB throttles it, or one of its
// writes; another transaction holds the item of an effect; shared requests are denied; the planner is called when it wants to be,
// or only after another event; a caller leaves. Time is an order of events: it passes only where the planner wants to be called.
// T, the jitter of the pauses and the clocks of the writers are fixed.
//
// After each event, the program checks a property for each rule. With -without it drops a rule, and prints a shortest story that
// breaks its property.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

func main() {
	debug.SetGCPercent(gcPercent)

	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// gcPercent is high, because what a state is made of is garbage at once.
const gcPercent = 400

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	without := flags.Int("without", 0, "drop the `rule` of this number, and print how its property breaks")
	isShort := flags.Bool("short", false, "visit less, in seconds")
	most := flags.Int("states", 5_000_000, "stop a part after so many states")

	if err := flags.Parse(args); err != nil {
		return err //nolint:wrapcheck // it names the flag
	}

	if *without != 0 {
		return dropped(rule(*without), *most, out)
	}

	parts := setups
	if *isShort {
		parts = shortSetups
	}

	return explore(parts, *most, out)
}

// explore visits all parts, as many at a time as there are processors, and prints what it visited.
func explore(parts []setup, most int, out io.Writer) error {
	results := make([]result, len(parts))

	var all sync.WaitGroup

	next := make(chan int, len(parts))
	for i := range parts {
		next <- i
	}

	close(next)

	for range parallel() {
		all.Go(func() {
			for i := range next {
				results[i] = search(parts[i], 0, most)
			}
		})
	}

	all.Wait()

	var sum result

	for i, r := range results {
		fmt.Fprintf(out, "%v: %v\n", parts[i], r)

		if r.violation != "" {
			return fmt.Errorf("%s\n%s", r.violation, r.story)
		}

		sum.states += r.states
		sum.ends += r.ends
		sum.transitions += r.transitions
		sum.isCutOff = sum.isCutOff || r.isCutOff
	}

	fmt.Fprintf(out, "in all: %v\n", sum)

	for _, r := range rules {
		fmt.Fprintf(out, "  rule %d holds: %s\n", r.rule, r.property)
	}

	if sum.isCutOff {
		return errCutOff
	}

	fmt.Fprintln(out, "exhausted")

	return nil
}

// dropped prints a shortest story that breaks the property of a rule which is dropped.
func dropped(without rule, most int, out io.Writer) error {
	for _, r := range rules {
		if r.rule != without {
			continue
		}

		result := search(r.shows, without, most)
		if result.violation == "" {
			return fmt.Errorf("without rule %d (%s), nothing breaks: %v", r.rule, r.dropped, result)
		}

		fmt.Fprintf(out, "Without rule %d: %s.\nThe property: %s.\nA shortest story that breaks it:\n%s\n%s\n",
			r.rule, r.dropped, r.property, result.story, result.violation)

		return nil
	}

	return fmt.Errorf("no rule %d: -h says what there is", without)
}
