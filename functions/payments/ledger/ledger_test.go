package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const payment = `{"paymentId":"p-1","account":"a-1","amount":1250}`

func TestPayIsInItsAccountHasItsEntryAndIsAnnounced(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ body, account, id, amount string }{
		"a payment":                      {payment, "account#a-1", "payment#p-1", "1250"},
		"the smallest":                   {`{"paymentId":"p","account":"#","amount":1}`, "account##", "payment#p", "1"},
		"the largest":                    {`{"paymentId":"p","account":"a","amount":9223372036854775807}`, "account#a", "payment#p", "9223372036854775807"},
		"one beyond 2^53":                {`{"paymentId":"p","account":"a","amount":9007199254740993}`, "account#a", "payment#p", "9007199254740993"},
		"one with members of its own":    {`{"paymentId":"p","account":"a","amount":1,"note":{"x":[]}}`, "account#a", "payment#p", "1"},
		"members of nearly the name":     {`{"paymentId":"p","account":"a","accounts":"b","amount":1,"amount2":2}`, "account#a", "payment#p", "1"},
		"an account of the longest name": {`{"paymentId":"p","account":"` + strings.Repeat("a", 2040) + `","amount":1}`, "account#" + strings.Repeat("a", 2040), "payment#p", "1"},
		"a payment of the longest id":    {`{"paymentId":"` + strings.Repeat("p", 2040) + `","account":"a","amount":1}`, "account#a", "payment#" + strings.Repeat("p", 2040), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			bank := newBank(t)
			if got := bank.deliver(t, 1, test.body); got != "completed" {
				t.Fatalf("the message is %s, want completed", got)
			}

			want := map[string]string{
				test.account: "balance " + test.amount + ", payments 1",
				test.id:      "account " + strings.TrimPrefix(test.account, "account#") + ", amount " + test.amount,
			}
			if diff := cmp.Diff(want, bank.ledger()); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}

			var announced struct{ PaymentID, Account string }
			if len(bank.announced) != 1 || json.Unmarshal([]byte(bank.announced[0].Body), &announced) != nil {
				t.Fatalf("announced: %+v, want one payment", bank.announced)
			}

			if "payment#"+announced.PaymentID != test.id || "account#"+announced.Account != test.account {
				t.Errorf("announced: %s", bank.announced[0].Body)
			}
		})
	}
}

// The effect and the record are one write, so there is no moment between them in which a process could end.
func TestPayIsExactWhateverBecomesOfItsTransaction(t *testing.T) {
	t.Parallel()

	for name, fault := range map[string]idemddbtest.Fault{
		"the transaction is lost":                     idemddbtest.LostRequest,
		"the transaction is late":                     idemddbtest.LateRequest,
		"the reply is lost":                           idemddbtest.LostReply,
		"the reply is late":                           idemddbtest.LateReply,
		"the reply is cut":                            idemddbtest.TruncatedBody,
		"the reply has no content":                    idemddbtest.EmptyAnswerApplied,
		"the reply is an error, though it is applied": idemddbtest.ServerErrorApplied,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				bank := newBank(t)
				bank.db.Inject(fault)

				for receives := range 3 {
					if got := bank.deliver(t, receives+1, payment); got != "completed" && got != "replayed" {
						t.Errorf("delivery %d is %s", receives+1, got)
					}
				}

				bank.wantOnce(t)
			})
		})
	}
}

func TestPayIsRefusedForGood(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		item string // of the ledger, before
		want error
	}{
		"by a closed account": {`{"pk":{"S":"account#a-1"},"balance":{"N":"7"},"closed":{"BOOL":true}}`, ledger.ErrClosed},
		"by an entry of the same payment, whose record is gone": {`{"pk":{"S":"payment#p-1"},"account":{"S":"a-1"},"amount":{"N":"1250"}}`, ledger.ErrBooked},
		"by an entry of another payment":                        {`{"pk":{"S":"payment#p-1"},"account":{"S":"a-2"},"amount":{"N":"1"}}`, ledger.ErrBooked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			bank := newBank(t)
			bank.put(t, test.item)
			before := bank.ledger()

			if got := bank.deliver(t, 1, payment); got != "failed" || !errors.Is(bank.deadLetter, test.want) {
				t.Errorf("the message is %s: %v, want failed: %v", got, bank.deadLetter, test.want)
			}

			if got := bank.deliver(t, 2, payment); got != "refused" {
				t.Errorf("its next delivery is %s, want refused: the key has ended", got)
			}

			if diff := cmp.Diff(before, bank.ledger()); diff != "" || len(bank.announced) > 0 {
				t.Errorf("ledger (-before +after):\n%s\nannounced: %v", diff, bank.announced)
			}
		})
	}
}

// The entry outlives the record: a payment that comes again after the retention is refused, and not made a second time.
func TestPayIsMadeOnceAlsoWhenItsRecordIsGone(t *testing.T) {
	t.Parallel()

	bank := newBank(t)
	bank.deliver(t, 1, payment)
	bank.forget(t)

	if got := bank.deliver(t, 1, payment); got != "failed" || !errors.Is(bank.deadLetter, ledger.ErrBooked) {
		t.Errorf("the message is %s: %v, want failed: %v", got, bank.deadLetter, ledger.ErrBooked)
	}

	bank.wantOnce(t)
}

// An update that DynamoDB can never apply is no answer of the ledger: an operator mends the item, and the payment comes again.
func TestPayComesBackIfItsAccountIsBroken(t *testing.T) {
	t.Parallel()

	bank := newBank(t)
	bank.put(t, `{"pk":{"S":"account#a-1"},"balance":{"S":"broken"}}`)

	if got := bank.deliver(t, 1, payment); got != "released" {
		t.Errorf("the message is %s, want released", got)
	}

	bank.put(t, `{"pk":{"S":"account#a-1"},"balance":{"N":"0"}}`)

	if got := bank.deliver(t, 2, payment); got != "completed" {
		t.Errorf("the mended payment is %s, want completed", got)
	}

	bank.wantOnce(t)
}

func TestPayRefusesForGoodWhatIsNoPayment(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ body, field string }{
		"nothing":                     {``, "body"},
		"text":                        {`s3cr3t`, "body"},
		"null":                        {`null`, "body"},
		"a string":                    {`"s3cr3t"`, "body"},
		"an array":                    {`[` + payment + `]`, "body"},
		"two payments":                {payment + payment, "body"},
		"an empty object":             {`{}`, "paymentId"},
		"no paymentId":                {`{"account":"s3cr3t","amount":1}`, "paymentId"},
		"an empty paymentId":          {`{"paymentId":"","account":"a","amount":1}`, "paymentId"},
		"a paymentId of a number":     {`{"paymentId":1,"account":"a","amount":1}`, "paymentId"},
		"a paymentId of another case": {`{"paymentID":"p","account":"a","amount":1}`, "paymentId"},
		"a paymentId too long":        {`{"paymentId":"` + strings.Repeat("p", 2041) + `","account":"a","amount":1}`, "paymentId"},
		"no account":                  {`{"paymentId":"p","amount":1}`, "account"},
		"an account of null":          {`{"paymentId":"p","account":null,"amount":1}`, "account"},
		"an account of an object":     {`{"paymentId":"p","account":{"s3cr3t":1},"amount":1}`, "account"},
		"an account too long":         {`{"paymentId":"p","account":"` + strings.Repeat("a", 2041) + `","amount":1}`, "account"},
		"no amount":                   {`{"paymentId":"p","account":"a"}`, "amount"},
		"an amount of null":           {`{"paymentId":"p","account":"a","amount":null}`, "amount"},
		"an amount of zero":           {`{"paymentId":"p","account":"a","amount":0}`, "amount"},
		"a negative amount":           {`{"paymentId":"p","account":"a","amount":-1250}`, "amount"},
		"a fraction":                  {`{"paymentId":"p","account":"a","amount":12.5}`, "amount"},
		"a whole number with a point": {`{"paymentId":"p","account":"a","amount":1250.0}`, "amount"},
		"an amount with an exponent":  {`{"paymentId":"p","account":"a","amount":1e3}`, "amount"},
		"an amount of a string":       {`{"paymentId":"p","account":"a","amount":"1250"}`, "amount"},
		"an amount beyond int64":      {`{"paymentId":"p","account":"a","amount":9223372036854775808}`, "amount"},
		"an amount of another case":   {`{"paymentId":"p","account":"a","AMOUNT":1}`, "amount"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := stage(t.Context(), t, test.body, nil)
			if !permanent(err) || !strings.Contains(err.Error(), "payments: "+test.field+":") || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error %v (permanent: %t) does not name %s for good", err, permanent(err), test.field)
			}
		})
	}
}

func TestPayPausesAndStagesNothingOnceItsContextHasEnded(t *testing.T) {
	t.Parallel()

	cause := errors.New("the lease is lost")

	for name, test := range map[string]struct {
		pause, lost, want time.Duration // its context ends after lost
		cause             error
		staged            int
	}{
		"to the end of the pause":      {3 * time.Second, time.Hour, 3 * time.Second, nil, 1},
		"to the end of the context":    {time.Hour, time.Second, time.Second, cause, 0},
		"with a context that is ended": {0, 0, 0, cause, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer time.AfterFunc(test.lost, func() { cancel(cause) }).Stop()

				synctest.Wait()

				start := time.Now()
				staged, err := stage(ctx, t, payment, &ledger.Options{Pause: test.pause})

				if got := time.Since(start); got != test.want || !errors.Is(err, test.cause) || permanent(err) ||
					len(staged.Items) != test.staged || len(staged.Adds) != test.staged {
					t.Errorf("%d items and %d additions staged after %v: %v", len(staged.Items), len(staged.Adds), got, err)
				}
			})
		})
	}
}

func TestPayNeedsAWrapper(t *testing.T) {
	t.Parallel()

	accounts, err := ledger.New("accounts", nil)
	if err != nil {
		t.Fatal(err)
	}

	if err := accounts.Pay(t.Context(), events.SQSMessage{Body: payment}); !errors.Is(err, idemddb.ErrNoClaim) {
		t.Errorf("got %v, want %v", err, idemddb.ErrNoClaim)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()

	accounts, err := ledger.New("accounts", nil)
	if err != nil {
		t.Fatal(err)
	}

	opts := accounts.Options()
	accounts.Options().Key = nil // Options returns a copy

	if !opts.Optimistic {
		t.Error("not Optimistic: Pay has no effect but what it stages")
	}

	for body, part := range map[string]lambdawrap.KeyFunc{
		`{"account":"a-1","amount":1250}`:     opts.Key,
		`{"paymentId":"p-1","amount":1250}`:   opts.Fingerprint,
		`{"paymentId":"p-1","account":"a-1"}`: opts.Fingerprint,
	} {
		if got, err := part(t.Context(), events.SQSMessage{Body: body}); !errors.Is(err, lambdawrap.ErrNoKey) {
			t.Errorf("%s: got %q, %v, want ErrNoKey", body, got, err)
		}
	}

	first := events.SQSMessage{MessageId: "m-1", Body: payment}

	for name, test := range map[string]struct {
		body                     string
		sameKey, sameFingerprint bool
	}{
		"the same payment in another message": {`{ "amount": 1250, "account": "a-1", "paymentId": "p-1", "note": 1 }`, true, true},
		"another payment":                     {`{"paymentId":"p-2","account":"a-1","amount":1250}`, false, true},
		"its id with another amount":          {`{"paymentId":"p-1","account":"a-1","amount":1251}`, true, false},
		"its id with another account":         {`{"paymentId":"p-1","account":"a-2","amount":1250}`, true, false},
		"its id with an amount of a string":   {`{"paymentId":"p-1","account":"a-1","amount":"1250"}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for what, f := range map[string]struct {
				key  lambdawrap.KeyFunc
				same bool
			}{"key": {opts.Key, test.sameKey}, "fingerprint": {opts.Fingerprint, test.sameFingerprint}} {
				want, errWant := f.key(t.Context(), first)

				got, err := f.key(t.Context(), events.SQSMessage{MessageId: "m-2", Body: test.body})
				if err := errors.Join(errWant, err); err != nil {
					t.Fatal(err)
				}

				if (got == want) != f.same {
					t.Errorf("%s %s, of the first %s", what, got, want)
				}
			}
		})
	}
}

func TestNewNamesTheField(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		table string
		opts  *ledger.Options
		want  string
	}{
		"no table":         {"", nil, "table"},
		"a negative pause": {"accounts", &ledger.Options{Pause: -1}, "Options.Pause"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if l, err := ledger.New(test.table, test.opts); l != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("ledger %v, error %v, want one that names %s", l, err, test.want)
			}
		})
	}
}

func TestPaymentIsTheBody(t *testing.T) {
	t.Parallel()

	got, err := json.Marshal(ledger.Payment{PaymentID: "p-1", Account: "a-1", Amount: 1250})
	if err != nil || string(got) != payment {
		t.Errorf("body %s, %v, want %s", got, err, payment)
	}
}

// stage calls Pay as a wrapper does, and returns what was staged.
func stage(ctx context.Context, t *testing.T, body string, opts *ledger.Options) (idemddb.Effects, error) {
	t.Helper()

	accounts, err := ledger.New("accounts", opts)
	if err != nil {
		t.Fatal(err)
	}

	store, err := idemddb.New(idemddbtest.New(nil), "records", "payments", &idemddb.Options{Senders: toOthers})
	if err != nil {
		t.Fatal(err)
	}

	work, ending := store.Begin(ctx, "p-1", &idemddb.ClaimOptions{Optimistic: true})
	if work == nil {
		t.Fatal(ending.Err)
	}

	err = accounts.Pay(work.Context(ctx), events.SQSMessage{Body: body})

	return work.Staged(), err
}

// permanent reports whether lambdawrap.Permanent returned the error. Its type is not exported; what the wrapper makes of it is
// tested there.
func permanent(err error) bool {
	return fmt.Sprintf("%T", err) == fmt.Sprintf("%T", lambdawrap.Permanent(io.EOF))
}
