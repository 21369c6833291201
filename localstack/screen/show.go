package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// status is what the screen shows.
type status struct {
	queue, letters pipeline.Depth
	announced      pipeline.Depth
	dead           []string // the payments whose messages are in the dead-letter queue
	records        map[string]pipeline.Record
	accounts       map[string]pipeline.Account
	entries        map[string]pipeline.Entry
	now            time.Time
}

func readStatus(ctx context.Context, p *pipeline.Pipeline) (status, error) {
	queue, errQueue := p.Depth(ctx, p.QueueUrl)
	messages, errDead := p.DeadLetters(ctx)
	letters, errLetters := p.Depth(ctx, p.DeadLetterQueueUrl)
	announced, errAnnounced := p.Depth(ctx, p.CapturedQueueUrl)
	records, errRecords := p.Records(ctx)
	accounts, errAccounts := p.Accounts(ctx)
	entries, errEntries := p.Entries(ctx)

	s := status{queue: queue, letters: letters, announced: announced, records: records, accounts: accounts, entries: entries, now: time.Now()}

	for _, m := range messages {
		var body struct {
			PaymentID string `json:"paymentId"`
		}
		if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &body); err != nil || body.PaymentID == "" {
			body.PaymentID = "message " + aws.ToString(m.MessageId)
		}

		s.dead = append(s.dead, body.PaymentID)
	}

	return s, errors.Join(errQueue, errDead, errLetters, errAnnounced, errRecords, errAccounts, errEntries)
}

func (s status) show(out io.Writer, stack string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)

	fmt.Fprintf(w, "\n%s on %s\n\n", stack, os.Getenv("AWS_ENDPOINT_URL"))
	fmt.Fprintf(w, "QUEUE\t%d waiting, %d that failed or are at work\n", s.queue.Waiting, s.queue.Hidden)
	fmt.Fprintf(w, "DEAD LETTERS\t%d %s", s.letters.Waiting+s.letters.Hidden, strings.Join(s.dead, " "))

	fmt.Fprintf(w, "\nCAPTURED\t%d announced, %s\n\n", s.announced.Waiting+s.announced.Hidden, s.unsent())
	s.showTables(w)
	fmt.Fprintf(w, "\n%s\n", s.verdict())

	return w.Flush() //nolint:wrapcheck // the output is gone, and that says so
}

// verdict is what all the numbers come to, the worst first.
func (s status) verdict() string {
	var stuck []string

	parked, inProgress := 0, 0
	waiting := s.queue.Waiting + s.queue.Hidden

	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		r := s.records[id]
		parked += r.Parked

		if r.State == "INPROGRESS" {
			inProgress++

			if r.Lease.Before(s.now) {
				stuck = append(stuck, id)
			}
		}
	}

	switch letters := s.letters.Waiting + s.letters.Hidden; {
	case len(stuck) > 0 && waiting == 0:
		return fmt.Sprintf("STUCK: nobody works on %s, and no message is left to bring it back", strings.Join(stuck, " "))
	case parked > 0:
		return fmt.Sprintf("LOOK: announcements that can never be sent as they are: %d", parked)
	case letters > 0:
		return fmt.Sprintf("LOOK: payments that were given up and wait for a person: %d", letters)
	case waiting > 0 || inProgress > 0:
		return fmt.Sprintf("AT WORK: messages not done yet: %d, payments in progress: %d", waiting, inProgress)
	default:
		return "DONE: no payment waits, none was given up"
	}
}

// unsent counts the announcements that are still in their records.
func (s status) unsent() string {
	unsent, parked := 0, 0
	for _, r := range s.records {
		unsent, parked = unsent+r.Unsent, parked+r.Parked
	}

	if parked > 0 {
		return fmt.Sprintf("%d unsent, %d parked", unsent, parked)
	}

	return fmt.Sprintf("%d unsent", unsent)
}

func (s status) showTables(w io.Writer) {
	fmt.Fprintf(w, "RECORDS\t%d\nkey\tstate\tage\tlease\tattempts\tlast failure\n", len(s.records))

	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		r := s.records[id]
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%d\t%s\n", id, r.State, s.now.Sub(r.Born).Truncate(time.Second), s.lease(r), r.Attempts, r.Err)
	}

	fmt.Fprintf(w, "\nLEDGER\t%d\naccount\tbalance\tpayments\n", len(s.accounts))

	for _, name := range slices.Sorted(maps.Keys(s.accounts)) {
		a := s.accounts[name]
		fmt.Fprintf(w, "%s\t%d\t%d\n", name, a.Balance, a.Payments)
	}
}

// lease says how long the key of a record is held, if somebody holds it.
func (s status) lease(r pipeline.Record) string {
	left := r.Lease.Sub(s.now).Truncate(time.Second)

	switch {
	case r.State != "INPROGRESS":
		return "-"
	case r.Lease.IsZero():
		return "given back"
	case left > 0:
		return fmt.Sprintf("%v left", left)
	default:
		return fmt.Sprintf("over for %v", -left)
	}
}

// check compares the ledger with the payments that were sent, and its accounts with all of its entries: the reader may have sent
// payments, too. It does not matter how often each was sent.
func (s status) check() error {
	for id, want := range sent() {
		got, isThere := s.entries[id]

		switch {
		case want.Amount < 0 && isThere:
			return fmt.Errorf("%s, of a negative amount, is in the ledger", id)
		case want.Amount > 0 && got != want:
			return fmt.Errorf("the ledger has %+v for %s, want %+v", got, id, want)
		}
	}

	for name, want := range pipeline.AccountsOf(s.entries) {
		if got := s.accounts[name]; got != want {
			return fmt.Errorf("account %s has %+v, but its entries come to %+v: a payment was counted twice, or not", name, got, want)
		}
	}

	return nil
}
