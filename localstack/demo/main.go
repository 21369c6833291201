// Demo tells what becomes of a payment whatever happens to its messages: the real wrapper and the real payments code, on an
// in-memory engine or on DynamoDB Local, with a clock that can be set so that no lease is waited for.
//
//	make demo
//	make demo ENGINE=dynamodb-local
//
// Every scene checks its own answers, its record and the ledger; the exit status is 1 if one is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Getenv("ENGINE"))

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, name string) (err error) {
	engine, err := open(ctx, name)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, engine.stop()) }()

	return tell(ctx, engine, &page{out: out, coloured: colours(out)}, pay)
}
