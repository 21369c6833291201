package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// poison is the id of a payment of a negative amount. The other nine payments are three for each of three accounts.
const poison = "p-07"

func payments() []string {
	bodies, all := make([]string, 0, 10), sent()

	for _, id := range slices.Sorted(maps.Keys(all)) {
		bodies = append(bodies, pipeline.Payment(id, all[id].Account, all[id].Amount))
	}

	return bodies
}

// sent are the payments, by their id.
func sent() map[string]pipeline.Entry {
	accounts := []string{"anna", "ben", "cleo"}
	all := map[string]pipeline.Entry{}

	for i := range 10 {
		all[fmt.Sprintf("p-%02d", i+1)] = pipeline.Entry{Account: accounts[i%3], Amount: 100 * (i + 1)}
	}

	all[poison] = pipeline.Entry{Account: "ben", Amount: -700}

	return all
}

// sendPayments sends the payments, waits until all but the poison are done, and then waits until the poison is a dead letter: SQS
// delivers that message several times before.
func sendPayments(ctx context.Context, out io.Writer, p *pipeline.Pipeline, wait time.Duration) error {
	before, errLetters := p.Depth(ctx, p.DeadLetterQueueUrl)
	queue, errQueue := p.Depth(ctx, p.QueueUrl)
	hidden := queue.Waiting + queue.Hidden + 1 // the messages that an earlier run left in the queue, and the poison

	if err := errors.Join(errLetters, errQueue); err != nil {
		return err
	}

	all := payments()

	fmt.Fprintf(out, "sending ten payments, one of them (%s) of a negative amount ...\n", poison)

	if err := sendAndWait(ctx, p, hidden, all...); err != nil {
		return err
	}

	fmt.Fprintln(out, "sending p-02 and p-05 again ...")

	if err := sendAndWait(ctx, p, hidden, all[1], all[4]); err != nil {
		return err
	}

	fmt.Fprintf(out, "waiting for %s to become a dead letter, %v at most ...\n", poison, wait)

	dead, err := poll(ctx, wait, func() (bool, error) {
		now, err := p.Depth(ctx, p.DeadLetterQueueUrl)

		return now.Waiting+now.Hidden > before.Waiting+before.Hidden, err
	})

	if err == nil && !dead {
		fmt.Fprintf(out, "%s is not one yet: SQS delivers it again after each visibility time-out until its receives are used up\n", poison)
	}

	return err
}

func sendAndWait(ctx context.Context, p *pipeline.Pipeline, hidden int, bodies ...string) error {
	if err := p.Send(ctx, bodies...); err != nil {
		return err
	}

	return waitUntilDone(ctx, p, hidden)
}

// waitUntilDone waits until each payment has a record that ended and the queue holds no more than the given number of hidden
// messages.
func waitUntilDone(ctx context.Context, p *pipeline.Pipeline, hidden int) error {
	const most = 30 * time.Second

	var saw string

	done, err := poll(ctx, most, func() (bool, error) {
		records, err := p.Records(ctx)
		if err != nil {
			return false, err
		}

		ended := 0

		for _, r := range records {
			if r.State != "INPROGRESS" {
				ended++
			}
		}

		depth, err := p.Depth(ctx, p.QueueUrl)
		saw = fmt.Sprintf("%d records, %d of them ended; queue: %d waiting, %d hidden", len(records), ended, depth.Waiting, depth.Hidden)

		isEmpty := depth.Waiting == 0 && depth.Hidden <= hidden

		return len(records) >= len(payments()) && ended == len(records) && isEmpty, err
	})
	if err == nil && !done {
		err = fmt.Errorf("after %v the payments are not done: %s. The function's log is in LocalStack's", most, saw)
	}

	return err
}

// poll calls ask until it answers true or the time is over.
func poll(ctx context.Context, most time.Duration, ask func() (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()

	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()

	for {
		yes, err := ask()
		if yes || err != nil {
			return yes, err
		}

		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, nil
		}
	}
}
