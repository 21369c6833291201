// Coldstart measures how a Lambda function starts: the smallest one on this library, and the same by hand, with the SDK alone.
//
//	make coldstart                   20 starts of each
//	make coldstart FLAGS='-starts 5'
//
// Both are built as make build builds functions. This program is Lambda's runtime interface, which hands one batch of -messages
// to each new process, and a DynamoDB behind TLS whose certificate stands behind the system's own root certificates, so that all
// of them are read. Each request to DynamoDB takes -latency.
//
//	init       from the start of the process until it asks for its first event
//	answer     from that event until its answer: what the messages wait for
//	together   both
//	RSS        the most memory that the process had
//
// The sides take turns, and the figures are medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// side is a program with its environment.
type side struct {
	name, program string
	env           []string
}

var sides = []side{
	{"by hand", "byhand", nil},
	{"library", "library", nil},
	{"library, Warm", "library", []string{"WARM=1"}},
}

// start is what was measured of one process.
type start struct {
	init, answer time.Duration
	memory       float64 // in MB
}

// settings are the flags, and how the programs are built.
type settings struct {
	arguments []string // of go build
	starts    int
	size      int
	latency   time.Duration
}

func main() {
	s := settings{arguments: asDeployed}
	flag.IntVar(&s.starts, "starts", 20, "processes of each side")
	flag.IntVar(&s.size, "messages", 1, "of the batch")
	flag.DurationVar(&s.latency, "latency", 0, "of each request to DynamoDB")

	flag.Parse()

	if err := run(context.Background(), os.Stdout, s); err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, with settings) error {
	folder, err := os.MkdirTemp("", "idemddb-coldstart")
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left is in the folder of temporary files

	if err := build(ctx, folder, with.arguments); err != nil {
		return err
	}

	w, err := newWorld(ctx, folder, with.size, with.latency)
	if err != nil {
		return err
	}
	defer w.close()

	all := make([][]start, len(sides))

	for range max(1, with.starts) {
		for i, s := range sides {
			measured, err := w.measure(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}

			all[i] = append(all[i], measured)
		}
	}

	fmt.Fprintf(out, "%-16s%10s%10s%10s%10s\n", "", "init", "answer", "together", "RSS")

	for i, s := range sides {
		fmt.Fprintf(out, "%-16s%7.1f ms%7.1f ms%7.1f ms%7.1f MB\n", s.name,
			median(all[i], func(s start) float64 { return milliseconds(s.init) }),
			median(all[i], func(s start) float64 { return milliseconds(s.answer) }),
			median(all[i], func(s start) float64 { return milliseconds(s.init + s.answer) }),
			median(all[i], func(s start) float64 { return s.memory }))
	}

	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(all []start, value func(start) float64) float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = value(s)
	}

	slices.Sort(values)

	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
