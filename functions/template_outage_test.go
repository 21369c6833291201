package functions_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// outlasted is the outage of a table that makes no dead letter with the template's own MaxReceiveCount. The template's head
// states it, too.
const outlasted = 20 * time.Minute

// shortestRetryTime is the shortest time from the first of n receives to the last one, by the back-off of lambdawrap: 1 s after
// the first failure, then twice as long each time, and 450 s at the most.
func shortestRetryTime(n int) (d time.Duration) {
	const limit = 450 * time.Second

	pause := time.Second
	for range n - 1 {
		d += min(pause, limit)
		pause = min(2*pause, limit+1)
	}

	return d
}

// A queue of the template's clocks, with its payments function, in an outage.
func TestTemplateOutlastsAnOutage(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	receives := template.Parameters["MaxReceiveCount"].Default.int(t)

	if line := "#   outage outlasted   20 min"; !strings.Contains(template.source, line) || outlasted != 20*time.Minute {
		t.Errorf("the template's head does not say %q, and the outage here is %v", line, outlasted)
	}

	for _, c := range []struct {
		what     string
		lasts    time.Duration
		receives int
		lost     bool // whether dead letters are expected
	}{
		{accountsThrottle, time.Minute, receives, false},
		{nothingAnswers, outlasted, receives, false},
		{accessDenied, outlasted, receives, false},
		{fastFailure, outlasted, receives, false},
		{fastFailure, 2 * time.Minute, 8, false}, // the rule allows no fewer receives
		{fastFailure, time.Minute, 5, true},      // Lambda's documentation advises no fewer
		{fastFailure, 2 * outlasted, 10, true},
	} {
		if testing.Short() && (c.what == nothingAnswers || c.what == accessDenied || c.lasts > outlasted) {
			continue // these take longest
		}

		t.Run(fmt.Sprintf("%s for %v, %d receives", c.what, c.lasts, c.receives), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				letters := newOutage(t, template, c.what, c.lasts).run(t, c.receives)

				if (letters > 0) != c.lost {
					t.Errorf("%d dead letters, want some: %v", letters, c.lost)
				}
			})
		})
	}
}

// What is out. Requests that fail are tried again within the invocation, so that a receive lasts longer; a handler that fails at
// once uses its receives up in the shortest time.
const (
	accountsThrottle = "the table of accounts throttles"
	nothingAnswers   = "DynamoDB does not answer"
	accessDenied     = "access is denied"
	fastFailure      = "the handler fails at once"
)

func faultIf(is bool, fault idemddbtest.Fault) idemddbtest.Fault {
	if is {
		return fault
	}

	return idemddbtest.None
}

// outage is the queue, the function and the tables. It is the SQS client of the function's back-off, too.
type outage struct {
	db       *idemddbtest.DB
	handle   func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	messages []*queued
	hidden   time.Duration // the queue's visibility time-out
	timeout  time.Duration // the function's
	begins   time.Time
	ends     time.Time
}

type queued struct {
	events.SQSMessage

	receives int
	visible  time.Time
	letter   bool // it became a dead letter
}

func newOutage(t *testing.T, template template, what string, lasts time.Duration) *outage {
	t.Helper()

	timeout := string(template.Parameters["FunctionTimeout"].Default)
	window := string(template.Parameters["BatchingWindow"].Default)
	o := &outage{
		db:      audited.Tables(t, nil, idemddbtest.CreateTable("records", "unsent"), idemddbtest.CreateTable("accounts", "")),
		timeout: seconds(text(timeout).int(t)), hidden: seconds(template.Mappings.Clocks[timeout][window]),
		begins: time.Now(), ends: time.Now().Add(lasts),
	}

	audited.DB(t, o.db, nil, audit.Options{})

	accounts, err := ledger.New("accounts", nil)
	if err != nil {
		t.Fatal(err)
	}

	store, err := idemddb.New(o.db, "records", "payments", &idemddb.Options{Senders: map[string]idemddb.Sender{ledger.Captured: stand.Sender(stand.Takes)}})
	if err != nil {
		t.Fatal(err)
	}

	opts := accounts.Options()
	opts.Visibility = o
	opts.Logger = slog.New(slog.DiscardHandler)
	o.handle = lambdawrap.SQS(store, func(ctx context.Context, m events.SQSMessage) error {
		if what == fastFailure && o.isOut() {
			return errors.New("a service that payments need is out")
		}

		return accounts.Pay(ctx, m)
	}, opts)
	o.breakDown(what)

	return o
}

func (o *outage) ChangeMessageVisibility(
	_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	i := slices.IndexFunc(o.messages, func(m *queued) bool { return m.ReceiptHandle == *in.ReceiptHandle })
	o.messages[i].visible = time.Now().Add(seconds(int(in.VisibilityTimeout)))

	if path.Base(*in.QueueUrl) != "payments" {
		return nil, fmt.Errorf("no queue %s", *in.QueueUrl)
	}

	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func (o *outage) isOut() bool { return time.Now().Before(o.ends) }

func (o *outage) breakDown(what string) {
	fault := map[string]idemddbtest.Fault{nothingAnswers: idemddbtest.LostRequest, accessDenied: idemddbtest.AccessDenied}[what]

	o.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		return faultIf(o.isOut() && fault != "", fault)
	})
	o.db.InterceptParts(func(_ context.Context, part idemddbtest.Request) idemddbtest.Fault {
		return faultIf(o.isOut() && what == accountsThrottle && part.Table == "accounts", idemddbtest.Throttle)
	})
}

// run sends eight payments in the course of the outage, the first at its beginning, and returns the number of dead letters. Every
// other payment must be counted once.
func (o *outage) run(t *testing.T, receives int) (letters int) {
	t.Helper()

	for at := o.begins; at.Before(o.ends); at = at.Add(o.ends.Sub(o.begins) / 8) {
		n := strconv.Itoa(len(o.messages))
		o.messages = append(o.messages, &queued{visible: at, SQSMessage: events.SQSMessage{
			MessageId: n, ReceiptHandle: n, EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", Body: payment("p-"+n, "1"),
		}})
	}

	var all sync.WaitGroup

	for _, m := range o.messages {
		all.Go(func() { o.deliver(t, m, receives) })
	}

	all.Wait()

	for _, m := range o.messages {
		if m.letter {
			letters++
		}
	}

	o.check(t, letters)

	return letters
}

// deliver delivers a message each time that it is visible, until it is done, or a dead letter.
func (o *outage) deliver(t *testing.T, m *queued, receives int) {
	t.Helper()

	for {
		time.Sleep(time.Until(m.visible)) //nolint:forbidigo // in a synctest bubble

		if m.receives++; m.receives > receives {
			m.letter = true

			return
		}

		m.visible = time.Now().Add(o.hidden)
		m.Attributes = map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)}

		if o.invoke(t, m.SQSMessage) {
			return
		}
	}
}

// invoke reports whether the message is done.
func (o *outage) invoke(t *testing.T, m events.SQSMessage) bool {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), o.timeout)
	defer cancel()

	answer, err := o.handle(ctx, events.SQSEvent{Records: []events.SQSMessage{m}})

	return err == nil && len(answer.BatchItemFailures) == 0
}

// check compares the account with the payments that are no dead letters.
func (o *outage) check(t *testing.T, letters int) {
	t.Helper()

	want := strconv.Itoa(len(o.messages) - letters)

	for _, item := range o.db.Items("accounts") {
		balance, ok := item["balance"].(*types.AttributeValueMemberN)
		if ok && balance.Value != want {
			t.Errorf("the account has %s, want %s", balance.Value, want)
		}
	}

	if got := len(o.db.Items("accounts")); got != len(o.messages)-letters+1 {
		t.Errorf("%d items, want an entry for each of %s payments and the account", got, want)
	}
}
