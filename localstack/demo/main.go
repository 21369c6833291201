// Demo shows what becomes of payments when SQS delivers their messages more than once, workers crash and messages fail. It runs
// the real wrapper, lambdawrap.SQS, and the real payments code.
//
//	make demo
//	make demo ENGINE=dynamodb-local
//
// The first command needs Go alone: DynamoDB is in memory. After each delivery the program checks the answer, the runs of the
// handler, the record and the account. If one of them is wrong, it prints the step and the balance and exits with status 1.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/idemddb/go-idemddb/localstack/program"
)

func main() {
	program.Main("demo", func(ctx context.Context) error {
		return run(ctx, &printer{out: os.Stdout, coloured: isTerminal(os.Stdout)}, os.Getenv("ENGINE"))
	})
}

func run(ctx context.Context, p *printer, engineName string) error {
	e, err := open(ctx, engineName)
	if err != nil {
		return err
	}

	return errors.Join(play(ctx, e, p, pay), e.stop())
}
