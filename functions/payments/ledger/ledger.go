// Package ledger is the work of the payments sample: it adds a payment to the balance of an account, books an entry for it, and
// announces it to others.
//
// [Ledger.Pay] makes no request. It stages these three effects, and the wrapper writes them in one transaction with the record
// that says that the payment is done. So a payment is in its account, has its entry and is announced exactly when its record is
// completed, whatever dies in between: there is no window between the effect and the record.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The names of senders, in idemddb.Options.Senders.
const (
	// Accepted passes payments that the API has accepted on to the queue of payments.
	Accepted = "payments"

	// Captured announces payments that are in their account.
	Captured = "payment.captured"
)

// What it means that DynamoDB refused a payment. No retry mends it, so [Ledger.Pay] makes it permanent: the message becomes a
// dead letter.
var (
	// ErrClosed: the account is closed.
	ErrClosed = errors.New("payments: account: is closed")

	// ErrBooked: the ledger has an entry with this paymentId, although no record says that the payment is done. So the entry is older
	// than the retention of the records, or somebody deleted the record, or another program made the entry. Nothing is written twice.
	// A person compares the dead letter with the entry: if they are the same payment, it is done, and the message can be dropped;
	// otherwise its sender must give it another paymentId.
	ErrBooked = errors.New("payments: the payment has an entry in the ledger already")
)

// Options shape a Ledger. Nil and zero mean the defaults.
type Options struct {
	// Pause is how long Pay waits before it ends, so that a person can stop it in between. Negative is an error. Defaults to none.
	Pause time.Duration
}

// Ledger adds payments to the accounts in one table. It is safe for concurrent use.
type Ledger struct {
	table string
	pause time.Duration
	wrap  lambdawrap.Options
}

// New returns the ledger in a table whose partition key is the string "pk". Its errors name the field.
func New(table string, opts *Options) (*Ledger, error) {
	if opts == nil {
		opts = &Options{}
	}

	switch {
	case table == "":
		return nil, errors.New("payments: table of the ledger: must not be empty")
	case opts.Pause < 0:
		return nil, errors.New("payments: Options.Pause: must not be negative")
	}

	key, errKey := lambdawrap.Body("paymentId")

	fingerprint, errFingerprint := lambdawrap.Body("account", "amount")
	if err := errors.Join(errKey, errFingerprint); err != nil {
		return nil, err
	}

	return &Ledger{table: table, pause: opts.Pause, wrap: lambdawrap.Options{Key: key, Fingerprint: fingerprint, Optimistic: true}}, nil
}

// Options returns what to wrap [Ledger.Pay] with, the caller's own to add to: a payment is its paymentId, whatever else the
// message says. The account and the amount are its fingerprint, so that another payment under a paymentId that was used before is
// refused rather than taken for done. A message without one of the three is no payment: it has no key or no fingerprint, which is
// [lambdawrap.ErrNoKey]. Optimistic is set, because Pay has no effect but what it stages.
func (l *Ledger) Options() *lambdawrap.Options {
	opts := l.wrap

	return &opts
}

// Pay stages the payment in a message's body:
//
//   - the item "account#" + account gets the amount added to balance, and 1 to payments, unless the item has the attribute
//     closed;
//   - the item "payment#" + paymentId is the entry, with account and amount, unless there is one;
//   - the message [Captured] has the payment as its body.
//
// When it returns an error, nothing is staged. The error is [lambdawrap.Permanent] and names a field if the message is no
// payment. Otherwise the context ended in the pause, and the message may be tried again.
func (l *Ledger) Pay(ctx context.Context, m events.SQSMessage) error {
	payment, err := decode(m.Body)
	if err != nil {
		return lambdawrap.Permanent(err)
	}

	if err := wait(ctx, l.pause); err != nil {
		return fmt.Errorf("payments: not staged: %w", err)
	}

	return idemddb.Stage(ctx, idemddb.Effects{
		Items:    []types.TransactWriteItem{l.entry(payment)},
		Adds:     []idemddb.Add{l.credit(payment)},
		Messages: []idemddb.Message{{To: Captured, Body: payment.encode()}},
		Refused:  refused,
	})
}

// entryIndex is where the entry stands among the effects. The credit comes after it, as all additions come after the items.
const entryIndex = 0

// credit adds the payment to its account. The payments of a batch to one account are one update of it. There is no overflow to
// guard against: DynamoDB counts to 38 digits, which is 10^19 payments of the largest amount.
func (l *Ledger) credit(payment Payment) idemddb.Add {
	return idemddb.Add{
		Table:  l.table,
		Key:    map[string]types.AttributeValue{"pk": text(accountKey(payment.Account))},
		Values: map[string]types.AttributeValue{"balance": number(payment.Amount), "payments": number(1)},
		Unless: []string{"closed"},
	}
}

// entry books the payment. Its condition outlives the record: it refuses a payment that comes again after the record's retention.
func (l *Ledger) entry(payment Payment) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String(l.table),
		Item: map[string]types.AttributeValue{
			"pk": text(entryKey(payment.PaymentID)), "account": text(payment.Account), "amount": number(payment.Amount),
		},
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}}
}

// refused says what it means that the condition of a staged item was false.
func refused(e *idemddb.EffectError) error {
	err := ErrClosed
	if e.Index == entryIndex {
		err = ErrBooked
	}

	return lambdawrap.Permanent(fmt.Errorf("%w: %w", err, e))
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func wait(ctx context.Context, pause time.Duration) error {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()

		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}

	return context.Cause(ctx) //nolint:wrapcheck // wrapped by Pay
}
