// Compare runs the same consumer of payments, written in six ways, under the same faults, and counts what becomes of the payments
// and what they cost.
//
//	make compare                        everything, about six minutes; the table is on standard output, the raw counts in a file
//	make compare FLAGS=-quick           few payments, counts only
//	make compare FLAGS='-scenario kills -contender Powertools'
//	make compare FLAGS=-page            docs/comparison.md, its plot and its raw counts are replaced by what this run has found
//
// All consumers work against one DynamoDB Local, each process behind a proxy of its own that makes the faults. scenario.go says
// what happens to them, workers/ and worker.go have the consumers, and world.go says how a double is counted.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)

	err := run(ctx, os.Args[1:], os.Stdout)

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == workArgument {
		return work(ctx, args[1])
	}

	s, err := parse(args)
	if err != nil {
		return err
	}

	began := time.Now()

	results, err := s.all(ctx)
	if err != nil {
		return err
	}

	r := newReport(s, results, time.Since(began))
	if err := r.keep(s, out); err != nil {
		return err
	}

	return r.judge()
}
