// Hot measures what it costs when many workers write to few items: the library beside one transaction a message, written by hand.
//
//	make hot                             ten accounts
//	make hot FLAGS='-accounts 1'         one account that all workers write to
//	make hot FLAGS='-accounts 0'         an account for each payment
//	make hot FLAGS=-announce             both sides announce each payment
//	make hot FLAGS='-accounts 0 -twice 5 -payments 1000'   of which five in a hundred are delivered twice
//
// Each side has worker processes of its own, which take batches of payments from one queue. Every payment, or with -twice some of
// them, is delivered twice, in a shuffled order. The workers of the library are functions/payments: its ledger, and
// lambdawrap.SQS with its options; its announcements go to a sender that accepts each of them. Those by hand are
// handwritten.Payments, which announces nothing but with -announce. This process serves DynamoDB's protocol from the in-memory
// engine, and the queue. Each request takes -latency, and each transaction 2 to 6 ms more, half of it if it is canceled. As in
// DynamoDB, a transaction holds its items for that time, and other transactions of these items are canceled. With -extra
// transactions take longer, so that more of them meet.
//
//	requests           requests that DynamoDB received, divided by the deliveries; a message that comes back is not counted again
//	true conflicts     requests that were refused because a transaction in flight held an item
//	write units        what DynamoDB charges, divided by the deliveries; it also charges for a transaction that it cancels
//	CPU                processor time of all workers, from the moment at which each has handled a batch of its own, divided by the deliveries
//	wall time          until every message is acknowledged
//	p50, p99           of a message: from the start of its batch until it is done
//	came back          messages that a worker reported failed; the queue delivers them again after 100 ms
//
// The two sides take turns, round by round, and the figures are medians of the rounds. The program ends with 1 if a payment is
// not in its account exactly once, or if a message is not acknowledged within two minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == workArgument {
		exit(work(context.Background(), os.Stdin, os.Stdout))
	}

	var s settings

	flag.IntVar(&s.accounts, "accounts", 10, "accounts that all payments go to; 0: one for each payment")
	flag.IntVar(&s.processes, "processes", 6, "worker processes of each side")
	flag.IntVar(&s.payments, "payments", 200, "payments")
	flag.IntVar(&s.twice, "twice", 100, "how many of a hundred payments are delivered twice")
	flag.IntVar(&s.batch, "batch", 10, "messages that an invocation gets at most")
	flag.DurationVar(&s.latency, "latency", time.Millisecond, "of each request, beside the time of a transaction")
	flag.DurationVar(&s.extra, "extra", 0, "that each transaction takes beyond its 2 to 6 ms")
	flag.Uint64Var(&s.seed, "seed", 1, "of the order of deliveries, the amounts and the times of transactions")
	flag.IntVar(&s.rounds, "rounds", 5, "how often each side is measured")
	flag.BoolVar(&s.announce, "announce", false, "by hand, too, each payment is announced, which is a write more")
	flag.Parse()

	exit(run(context.Background(), os.Stdout, s))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hot:", err)
		os.Exit(1)
	}

	os.Exit(0)
}

// run measures both sides in turns, and prints their figures.
func run(ctx context.Context, out io.Writer, s settings) error {
	if s.accounts < 0 || s.processes < 1 || s.payments < 1 || s.batch < 1 || s.latency < 0 || s.extra < 0 || s.rounds < 1 {
		return errors.New("-processes, -payments, -batch and -rounds must be at least 1, -accounts, -latency and -extra must not be negative")
	}

	if s.twice < 0 || s.twice > 100 {
		return errors.New("-twice must be between 0 and 100")
	}

	all := map[string][]figures{}

	for round := range s.rounds {
		load := newLoad(s, s.seed+uint64(round))

		for _, side := range []string{library, s.other()} {
			f, err := measure(ctx, s, side, load)
			if err != nil {
				return fmt.Errorf("%s, round %d, seed %d: %w", side, round+1, load.seed, err)
			}

			all[side] = append(all[side], f)
		}
	}

	return report(out, s, all)
}
