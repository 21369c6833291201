package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// queue is the queue of announcements.
type queue struct {
	answer func(ctx context.Context, body string) error // nil: all are accepted

	mu       sync.Mutex
	sent     map[string]int // by body
	requests int
}

// SendMessageBatch keeps what it accepts.
func (q *queue) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	out := &sqs.SendMessageBatchOutput{}

	q.mu.Lock()
	q.requests++
	q.mu.Unlock()

	for _, e := range in.Entries {
		if q.answer != nil {
			if err := q.answer(ctx, *e.MessageBody); err != nil {
				return nil, err
			}
		}

		q.mu.Lock()
		q.sent[*e.MessageBody]++
		q.mu.Unlock()

		out.Successful = append(out.Successful, sqstypes.SendMessageBatchResultEntry{Id: e.Id})
	}

	return out, nil
}

// payments is the function with this queue, put together as wire does it, but without a network.
type payments struct {
	*testing.T

	db            *idemddbtest.DB
	handle        func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	announcements *queue

	log, measured stand.Output
	made          atomic.Int64
}

func newPayments(t *testing.T, target string, answer func(context.Context, string) error) *payments {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", ""))
	p := &payments{T: t, db: db, announcements: &queue{answer: answer, sent: map[string]int{}}}
	audited.DB(t, p.db, nil, audit.Options{})

	metrics := lambdawrap.NewMetrics(&p.measured, "Payments")

	store, err := idemddb.New(p.db, "records", "payments", &idemddb.Options{Observe: metrics.Observe, Senders: map[string]idemddb.Sender{
		target: outbox.SQS(p.announcements, "https://sqs.eu-west-1.amazonaws.com/111122223333/captured"),
	}})
	if err != nil {
		t.Fatal(err)
	}

	accounts, err := ledger.New("accounts", nil)
	if err != nil {
		t.Fatal(err)
	}

	opts := accounts.Options()
	opts.Logger = slog.New(slog.NewJSONHandler(&p.log, nil))
	p.handle = lambdawrap.Measure(metrics, lambdawrap.SQS(store, accounts.Pay, opts))

	return p
}

// pay delivers a payment and reports whether it is done.
func (p *payments) pay(id string) bool { return p.payAll("a", id) }

// payAll delivers payments of one account in one batch and reports whether all are done.
func (p *payments) payAll(account string, ids ...string) bool {
	var event events.SQSEvent

	for _, id := range ids {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: "m-" + id, Attributes: map[string]string{"ApproximateReceiveCount": "1"},
			Body:           fmt.Sprintf(`{"paymentId":%q,"account":%q,"amount":1}`, id, cmp.Or(account, id)),
			EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", EventSource: "aws:sqs",
		})
	}

	got, err := p.handle(p.Context(), event)
	if err != nil {
		p.Error(err)
	}

	return len(got.BatchItemFailures) == 0
}

var errDown = errors.New("the queue is down")

// The payment is made and stays done. Its announcement is in its record, for the relay, and the function says so.
func TestAFailingQueueHasALineAndAMetricForEachAnnouncement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPayments(t, ledger.Captured, func(context.Context, string) error { return errDown })

		for i := range 3 {
			if id := fmt.Sprint("p-", i); !p.pay(id) {
				t.Errorf("%s is not done", id)
			}

			want := []string{`"outcome":"unsent"`, `"level":"WARN"`, errDown.Error(), fmt.Sprintf(`"messageId":"m-p-%d"`, i), record.KeyHash(fmt.Sprint("p-", i))}
			if lines := p.log.Lines(want...); len(lines) != 1 {
				t.Errorf("%d lines with %q:\n%s", len(lines), want, &p.log)
			}
		}

		if got := p.measured.Sum(t, "Unsent"); got != 3 || strings.Contains(p.log.String(), "amount") {
			t.Errorf("Unsent is %v, want 3; the log is\n%s", got, &p.log)
		}

		for _, record := range p.db.Items("records") {
			if left, _ := record["outbox"].(*types.AttributeValueMemberL); left == nil || len(left.Value) != 1 {
				t.Errorf("the record has no message: %v", record)
			}
		}
	})
}

// One request hangs while others are answered: what it carries is left to the relay, and nothing else.
func TestAQueueThatIsSlowOnceGetsTheOtherAnnouncements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPayments(t, ledger.Captured, func(ctx context.Context, body string) error {
			if strings.Contains(body, "p-slow") {
				<-ctx.Done()

				return ctx.Err()
			}

			<-time.After(5 * time.Millisecond)

			return nil
		})

		var all sync.WaitGroup

		all.Go(func() { p.pay("p-slow") })

		for range 4 { // other invocations of the process
			all.Go(func() {
				for range 100 {
					p.pay(fmt.Sprint("p-", p.made.Add(1)))
					<-time.After(50 * time.Millisecond)
				}
			})
		}

		all.Wait()

		// The queue may have taken those of the request that hangs which stand before the slow one in it: nobody knows, so they are left,
		// too.
		sent := len(p.announcements.sent)
		if got := p.measured.Sum(t, "Unsent"); got < 1 || got > 10 || sent < 401-int(got) || sent > 400 {
			t.Errorf("%v unsent and %d sent, want at most one request of ten unsent of 401:\n%s", got, sent, &p.log)
		}
	})
}

// The announcements of payments that are committed together are one request of SQS.
func TestABatchOfTenIsAnnouncedByOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPayments(t, ledger.Captured, nil)

		var ids []string
		for range 10 {
			ids = append(ids, fmt.Sprint("p-", p.made.Add(1)))
		}

		if !p.payAll("", ids...) || len(p.announcements.sent) != 10 || p.announcements.requests != 1 {
			t.Errorf("%d payments were announced by %d requests", len(p.announcements.sent), p.announcements.requests)
		}
	})
}

// The name of a target with a typing error is an error of each payment: none is made and then never announced.
func TestATargetThatHasNoEntryIsAnErrorOfThePayment(t *testing.T) {
	t.Parallel()

	p := newPayments(t, "payment.capturd", nil)

	if p.pay("p-1") {
		t.Error("the payment is done")
	}

	if lines := p.log.Lines(`"level":"ERROR"`, `message 0: Message.To: \"payment.captured\" is no entry of Options.Senders`); len(lines) != 1 {
		t.Errorf("%d lines:\n%s", len(lines), &p.log)
	}

	if items := p.db.Items("accounts"); len(items) != 0 {
		t.Errorf("the ledger has %v", items)
	}
}
