// Screen shows the deployed payments stack on one screen: queue, dead letters, announcements, records, ledger. `make local` ends
// with it. If you run it by itself, it needs the environment that localstack/stack.sh prints.
//
//	go run ./localstack/screen -stack idemddb-payments
//	go run ./localstack/screen -stack idemddb-payments -send    with ten payments first, two of them twice and one poison
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
	"github.com/idemddb/go-idemddb/localstack/program"
)

func main() {
	var o options

	flag.StringVar(&o.stack, "stack", "idemddb-payments", "the name of the deployed stack")
	flag.StringVar(&o.sam, "sam", "sam", "the AWS SAM CLI")
	flag.StringVar(&o.records, "records", "", "with -ledger: show these tables alone, and no stack")
	flag.StringVar(&o.ledger, "ledger", "", "with -records")
	flag.BoolVar(&o.send, "send", false, "send ten payments first, two of them twice and one poison")
	flag.DurationVar(&o.wait, "wait", 2*time.Minute, "how long to wait for the poison to become a dead letter")

	flag.Parse()

	program.Main("screen", func(ctx context.Context) error { return run(ctx, os.Stdout, o) })
}

type options struct {
	stack, sam      string
	records, ledger string
	send            bool
	wait            time.Duration
}

func run(ctx context.Context, out io.Writer, o options) error {
	switch {
	case os.Getenv("AWS_ENDPOINT_URL") == "":
		return errors.New("AWS_ENDPOINT_URL is not set, and this program is not for AWS: eval \"$(localstack/stack.sh env)\"")
	case o.records != "":
		return showTables(ctx, out, pipeline.Names{RecordTableName: o.records, LedgerTableName: o.ledger})
	default:
		return showStack(ctx, out, o)
	}
}

// showStack shows the whole stack. With -send it sends the payments first, and afterwards checks that each is in the ledger once.
func showStack(ctx context.Context, out io.Writer, o options) error {
	p, err := pipeline.Open(ctx, o.sam, o.stack)
	if err != nil {
		return err
	}

	if o.send {
		if err := sendPayments(ctx, out, p, o.wait); err != nil {
			return err
		}
	}

	s, err := readStatus(ctx, p)
	if err != nil {
		return err
	}

	if err := s.show(out, o.stack); err != nil || !o.send {
		return err
	}

	return s.check()
}

func showTables(ctx context.Context, out io.Writer, names pipeline.Names) error {
	p, err := pipeline.New(ctx, names)
	if err != nil {
		return err
	}

	records, errRecords := p.Records(ctx)

	accounts, errAccounts := p.Accounts(ctx)
	if err := errors.Join(errRecords, errAccounts); err != nil {
		return err
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	status{records: records, accounts: accounts, now: time.Now()}.showTables(w)

	return w.Flush() //nolint:wrapcheck // the output is gone, and that says so
}
