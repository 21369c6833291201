// Screen shows the deployed payments stack on one screen: queue, dead letters, records, ledger. `make local` ends with it; by itself it
// needs the environment of localstack/stack.sh.
//
//	go run ./localstack/screen -stack idemddb-payments
//	go run ./localstack/screen -stack idemddb-payments -send    with ten payments first, two of them twice and one poison
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

func main() {
	stack := flag.String("stack", "idemddb-payments", "the name of the deployed stack")
	sam := flag.String("sam", "sam", "the AWS SAM CLI")
	records := flag.String("records", "", "with -ledger: show these tables alone, and no stack")
	ledger := flag.String("ledger", "", "with -records")
	send := flag.Bool("send", false, "send ten payments first, two of them twice and one poison")
	patience := flag.Duration("patience", 20*time.Second, "how long to wait for the poison to become a dead letter")

	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	err := errors.New("AWS_ENDPOINT_URL is not set, and this is not meant for AWS: eval \"$(localstack/stack.sh env)\"")

	switch {
	case os.Getenv("AWS_ENDPOINT_URL") == "":
	case *records != "":
		err = tables(ctx, os.Stdout, *records, *ledger)
	default:
		err = run(ctx, os.Stdout, *sam, *stack, *send, *patience)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and its signals with it
	}
}

func run(ctx context.Context, out io.Writer, sam, stack string, send bool, patience time.Duration) error {
	p, err := pipeline.Open(ctx, sam, stack)
	if err != nil {
		return err //nolint:wrapcheck // says where it comes from
	}

	if send {
		if err := tell(ctx, out, p, patience); err != nil {
			return err
		}
	}

	s, err := look(ctx, p)
	if err != nil {
		return err
	}

	if err := s.show(out, stack); err != nil || !send {
		return err
	}

	return s.check()
}

func tables(ctx context.Context, out io.Writer, records, ledger string) error {
	p, err := pipeline.New(ctx, pipeline.Names{RecordTableName: records, LedgerTableName: ledger})
	if err != nil {
		return err //nolint:wrapcheck // says where it comes from
	}

	var s sight

	s.records, err = p.Records(ctx)
	if err != nil {
		return err //nolint:wrapcheck // says where it comes from
	}

	s.accounts, err = p.Accounts(ctx)
	if err != nil {
		return err //nolint:wrapcheck // says where it comes from
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	s.showTables(w)

	return w.Flush() //nolint:wrapcheck // the output is gone, and that says so
}
