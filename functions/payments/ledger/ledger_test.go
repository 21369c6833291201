package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const payment = `{"paymentId":"p-1","account":"a-1","amount":1250}`

func TestPayAddsToTheAccount(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ body, account, amount string }{
		"a payment":                      {payment, "account#a-1", "1250"},
		"the smallest":                   {`{"paymentId":"p","account":"#","amount":1}`, "account##", "1"},
		"the largest":                    {`{"paymentId":"p","account":"a","amount":9223372036854775807}`, "account#a", "9223372036854775807"},
		"one beyond 2^53":                {`{"paymentId":"p","account":"a","amount":9007199254740993}`, "account#a", "9007199254740993"},
		"one with members of its own":    {`{"paymentId":"p","account":"a","amount":1,"note":{"x":[]}}`, "account#a", "1"},
		"members of nearly the name":     {`{"paymentId":"p","account":"a","ACCOUNT":"b","amount":1,"Amount":2}`, "account#a", "1"},
		"an account of the longest name": {`{"paymentId":"p","account":"` + strings.Repeat("a", 2040) + `","amount":1}`, "account#" + strings.Repeat("a", 2040), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			api := &fake{}
			if err := pay(t.Context(), t, api, test.body, nil); err != nil {
				t.Fatal(err)
			}

			want := []*dynamodb.UpdateItemInput{{
				TableName:        aws.String("accounts"),
				Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: test.account}},
				UpdateExpression: aws.String("ADD balance :amount, payments :one"),
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":amount": &types.AttributeValueMemberN{Value: test.amount},
					":one":    &types.AttributeValueMemberN{Value: "1"},
				},
			}}
			if diff := cmp.Diff(want, api.updates, cmpopts.IgnoreUnexported(
				dynamodb.UpdateItemInput{}, types.AttributeValueMemberS{}, types.AttributeValueMemberN{},
			)); diff != "" {
				t.Errorf("updates (-want +got):\n%s", diff)
			}
		})
	}
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

			api := &fake{}

			err := pay(t.Context(), t, api, test.body, nil)
			if !permanent(err) || !strings.Contains(err.Error(), "payments: "+test.field+":") || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error %v (permanent: %t) does not name %s for good", err, permanent(err), test.field)
			}

			if len(api.updates) > 0 {
				t.Error("the ledger was updated")
			}
		})
	}
}

// What happens to the update decides what becomes of the message. The real client sends it, so that its retries count.
func TestPayNeverSendsAnUpdateAgainThatMayHaveBeenApplied(t *testing.T) {
	t.Parallel()

	const again, forGood, done = "not applied", "outcome unknown", "done"

	for name, test := range map[string]struct {
		answer   func(*http.Request) (*http.Response, error)
		requests int
		want     string
	}{
		"applied":                   {respond(200, `{}`), 1, done},
		"throttled":                 {refuse(400, "ThrottlingException"), 4, again},
		"throughput exceeded":       {refuse(400, "ProvisionedThroughputExceededException"), 4, again},
		"in a transaction":          {refuse(400, "TransactionConflictException"), 4, again},
		"access denied":             {refuse(400, "AccessDeniedException"), 1, again},
		"no such table":             {refuse(400, "ResourceNotFoundException"), 1, again},
		"a balance of another type": {refuse(400, "ValidationException"), 1, again},
		"a server error":            {refuse(500, "InternalServerError"), 1, forGood},
		"a service unavailable":     {refuse(503, "ServiceUnavailable"), 1, forGood},
		"a gateway's own page":      {respond(502, `<html>`), 1, forGood},
		"a reply cut short":         {respond(200, `{"Attributes":`), 1, forGood},
		"a connection reset":        {fail(&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}), 1, forGood},
		"an end of the connection":  {fail(io.ErrUnexpectedEOF), 1, forGood},
		"no connection":             {fail(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), 1, again},
		"a reply that never comes": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()

			return nil, r.Context().Err()
		}, 1, forGood},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				client := dynamodb.New(dynamodb.Options{
					Region:       "eu-west-1",
					BaseEndpoint: aws.String("http://dynamodb.test"),
					Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
						return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
					}),
					HTTPClient: roundTrip(func(r *http.Request) (*http.Response, error) {
						requests++

						return test.answer(r)
					}),
				})

				start := time.Now()
				err := pay(t.Context(), t, client, payment, nil)

				if requests != test.requests {
					t.Errorf("%d requests, want %d", requests, test.requests)
				}

				if got := time.Since(start); got > 6*time.Second {
					t.Errorf("took %v", got)
				}

				unknown := errors.Is(err, ledger.ErrOutcomeUnknown)
				if (err == nil) != (test.want == done) || unknown != (test.want == forGood) || permanent(err) != unknown {
					t.Errorf("error %v (permanent: %t), want %s", err, permanent(err), test.want)
				}
			})
		})
	}
}

func TestPayPauses(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		api, start := &fake{}, time.Now()
		if err := pay(t.Context(), t, api, payment, &ledger.Options{Pause: 3 * time.Second}); err != nil {
			t.Fatal(err)
		}

		if got := time.Since(start); got != 3*time.Second || len(api.updates) != 1 {
			t.Errorf("%d updates after %v", len(api.updates), got)
		}
	})
}

func TestPayEndsItsPauseWithTheContext(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the lease is lost")
		ctx, cancel := context.WithCancelCause(t.Context())

		time.AfterFunc(time.Second, func() { cancel(cause) })

		api, start := &fake{}, time.Now()

		err := pay(ctx, t, api, payment, &ledger.Options{Pause: time.Hour})
		if !errors.Is(err, cause) || permanent(err) || errors.Is(err, ledger.ErrOutcomeUnknown) {
			t.Errorf("error %v", err)
		}

		if got := time.Since(start); got != time.Second || len(api.updates) != 0 {
			t.Errorf("%d updates after %v", len(api.updates), got)
		}
	})
}

func TestPaySendsNothingWhenItsContextHasEnded(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	api := &fake{}
	if err := pay(ctx, t, api, payment, nil); !errors.Is(err, context.Canceled) || permanent(err) || len(api.updates) != 0 {
		t.Errorf("error %v, %d updates", err, len(api.updates))
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()

	accounts, err := ledger.New(&fake{}, "accounts", nil)
	if err != nil {
		t.Fatal(err)
	}

	opts := accounts.Options()
	accounts.Options().Key = nil // the caller's own copy

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
				want, errWant := f.key(first)

				got, err := f.key(events.SQSMessage{MessageId: "m-2", Body: test.body})
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

func TestAMessageThatLacksAPartOfAPaymentIsNoPayment(t *testing.T) {
	t.Parallel()

	accounts, err := ledger.New(&fake{}, "accounts", nil)
	if err != nil {
		t.Fatal(err)
	}

	opts := accounts.Options()

	for name, test := range map[string]struct {
		body string
		part lambdawrap.KeyFunc
	}{
		"no paymentId": {`{"account":"a-1","amount":1250}`, opts.Key},
		"no account":   {`{"paymentId":"p-1","amount":1250}`, opts.Fingerprint},
		"no amount":    {`{"paymentId":"p-1","account":"a-1"}`, opts.Fingerprint},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got, err := test.part(events.SQSMessage{Body: test.body}); !errors.Is(err, lambdawrap.ErrNoKey) {
				t.Errorf("got %q, %v, want ErrNoKey", got, err)
			}
		})
	}
}

func TestNewNamesTheField(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		api   ledger.DynamoDB
		table string
		opts  *ledger.Options
		want  string
	}{
		"no client":        {nil, "accounts", nil, "api"},
		"no table":         {&fake{}, "", nil, "table"},
		"a negative pause": {&fake{}, "accounts", &ledger.Options{Pause: -1}, "Options.Pause"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if l, err := ledger.New(test.api, test.table, test.opts); l != nil || err == nil || !strings.Contains(err.Error(), test.want) {
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

func ExampleLedger_Pay() {
	accounts, err := ledger.New(&fake{}, "accounts", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println(accounts.Pay(context.Background(), events.SQSMessage{Body: `{"paymentId":"p-1","account":"a-1","amount":1250}`}))
	fmt.Println(accounts.Pay(context.Background(), events.SQSMessage{Body: `{"paymentId":"p-1","account":"a-1","amount":12.5}`}))
	// Output:
	// <nil>
	// payments: amount: must be a whole number of minor units above 0, without fraction or exponent
}

// fake is a table that takes every update.
type fake struct{ updates []*dynamodb.UpdateItemInput }

func (f *fake) UpdateItem(
	_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	f.updates = append(f.updates, in)

	return &dynamodb.UpdateItemOutput{}, nil
}

func pay(ctx context.Context, t *testing.T, api ledger.DynamoDB, body string, opts *ledger.Options) error {
	t.Helper()

	accounts, err := ledger.New(api, "accounts", opts)
	if err != nil {
		t.Fatal(err)
	}

	return accounts.Pay(ctx, events.SQSMessage{Body: body})
}

// permanent tells what lambdawrap.Permanent returned. Its type is not exported; what the wrapper makes of it is tested there.
func permanent(err error) bool {
	return fmt.Sprintf("%T", err) == fmt.Sprintf("%T", lambdawrap.Permanent(io.EOF))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) Do(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Request: r, ContentLength: int64(len(body)), Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(bytes.NewReader([]byte(body))),
		}, nil
	}
}

func refuse(status int, code string) func(*http.Request) (*http.Response, error) {
	return respond(status, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"no"}`)
}

func fail(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}
