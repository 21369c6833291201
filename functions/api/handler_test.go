package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// The tests of wire set the environment, so they do not run in parallel.

// function is the whole function, as Lambda calls it, with a DynamoDB in memory and a queue that is not there.
type function struct {
	*testing.T

	db     *idemddbtest.DB
	invoke func(context.Context, *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error)
}

// newFunction is the function with a caller that nobody verifies, or without one.
func newFunction(t *testing.T, caller string) *function {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", ""))
	audited.DB(t, db, nil, audit.Options{})

	db.ResetRequests()

	dynamo := httptest.NewServer(db.Handler())
	t.Cleanup(dynamo.Close)

	queue := httptest.NewServer(http.NotFoundHandler()) // the record keeps the message
	t.Cleanup(queue.Close)

	stand.Env(t, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": dynamo.URL, "AWS_ENDPOINT_URL_SQS": queue.URL, "UNVERIFIED_CALLER": caller})

	handler, err := wire(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return &function{t, db, lambdaurl.Wrap(handler)}
}

const notOfIAM = "not of IAM"

// post sends a body under a key, as a user of IAM; "" for a request that nobody has signed.
func (f *function) post(user, key, body string) (*events.LambdaFunctionURLStreamingResponse, string) {
	f.Helper()

	r := &events.LambdaFunctionURLRequest{RawPath: "/payments", Body: body, Headers: map[string]string{"content-type": "application/json"}}
	r.RequestContext.HTTP.Method = http.MethodPost

	if key != "" {
		r.Headers["idempotency-key"] = key
	}

	if user != "" {
		r.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{}
	}

	if user != "" && user != notOfIAM {
		r.RequestContext.Authorizer.IAM = &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserID: user}
	}

	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()

	got, err := f.invoke(ctx, r)
	if err != nil {
		f.Fatal(err)
	}

	text, err := io.ReadAll(got.Body)
	if err != nil {
		f.Fatal(err)
	}

	return got, string(text)
}

func TestAPaymentIsAcceptedOnceAndPassedOn(t *testing.T) {
	f := newFunction(t, "")

	const body = `{"account":"a-1","amount":1250}`

	first, text := f.post("AIDA1", "k-1", body)

	var payment ledger.Payment
	if err := json.Unmarshal([]byte(text), &payment); err != nil {
		t.Fatal(err)
	}

	want := map[string]string{
		"Content-Type": "application/json", "Location": "/payments/" + payment.PaymentID, "Idempotent-Replayed": "false",
		"Content-Length": first.Headers["Content-Length"],
	}
	if diff := cmp.Diff(want, first.Headers); diff != "" || first.StatusCode != http.StatusAccepted || payment.Account != "a-1" || payment.Amount != 1250 {
		t.Errorf("status %d, payment %+v, headers (-want +got):\n%s", first.StatusCode, payment, diff)
	}

	again, textAgain := f.post("AIDA1", "k-1", body)
	want["Idempotent-Replayed"] = "true"

	if diff := cmp.Diff([]any{want, text}, []any{again.Headers, textAgain}); diff != "" || again.StatusCode != http.StatusAccepted {
		t.Errorf("the replay has status %d, headers and body (-want +got):\n%s", again.StatusCode, diff)
	}

	if got := f.db.Items("accounts"); len(got) != 1 {
		t.Errorf("the items of payments are %v, want one", got)
	}

	// The queue did not take the message. The record has it, for the relay.
	record := f.db.Items("records")[0]
	outbox, _ := record["outbox"].(*types.AttributeValueMemberL)

	if outbox == nil || len(outbox.Value) != 1 {
		t.Fatalf("the record is %v", record)
	}

	message, _ := outbox.Value[0].(*types.AttributeValueMemberM)
	sent, _ := message.Value["body"].(*types.AttributeValueMemberS)

	if sent == nil || sent.Value != text {
		t.Errorf("the message is %v, want %s", message.Value, text)
	}
}

func TestWhatTheAPIRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		user, key, body string
		status          int
		want            string // in the answer
	}{
		"no key":                {"AIDA1", "", "{}", http.StatusBadRequest, "Idempotency-Key"},
		"no signature":          {"", "k", "{}", http.StatusUnauthorized, "caller"},
		"another authorizer":    {notOfIAM, "k", "{}", http.StatusUnauthorized, "caller"},
		"no account":            {"AIDA1", "k", `{"amount":1}`, http.StatusBadRequest, "account"},
		"no amount":             {"AIDA1", "k", `{"account":"a-1"}`, http.StatusBadRequest, "amount"},
		"a negative amount":     {"AIDA1", "k", `{"account":"a-1","amount":-1}`, http.StatusBadRequest, "amount"},
		"no object":             {"AIDA1", "k", `[]`, http.StatusBadRequest, "one JSON object"},
		"an account too long":   {"AIDA1", "k", `{"account":"` + strings.Repeat("a", 2100) + `","amount":1}`, http.StatusBadRequest, "account"},
		"a body over the limit": {"AIDA1", "k", strings.Repeat(" ", maxBody+1), http.StatusRequestEntityTooLarge, "at most 8192 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, "")

			for range 2 {
				got, text := f.post(test.user, test.key, test.body)
				if got.StatusCode != test.status || !strings.Contains(text, test.want) || got.Headers["Content-Type"] != "application/problem+json" {
					t.Errorf("status %d with %v and %s, want %d that names %q", got.StatusCode, got.Headers, text, test.status, test.want)
				}
			}

			if items := f.db.Items("accounts"); len(items) != 0 {
				t.Errorf("payments: %v", items)
			}
		})
	}
}

// A request without the middleware has nothing to stage with. The other has lost its client in the middle of its body.
func TestAPaymentThatCannotBeStagedIsNotAccepted(t *testing.T) {
	t.Parallel()

	for want, body := range map[int]io.Reader{
		http.StatusInternalServerError: strings.NewReader(`{"account":"a-1","amount":1250}`),
		http.StatusBadRequest:          iotest.ErrReader(io.ErrUnexpectedEOF),
	} {
		got := httptest.NewRecorder()
		(&api{table: "accounts"}).accept(got, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/payments", body))

		if got.Code != want || got.Header().Get("Location") != "" {
			t.Errorf("status %d with %v, want %d", got.Code, got.Header(), want)
		}
	}
}

// A client that runs as a role has another session after it restarts, and repeats its request in it.
func TestSessionsOfARoleAreOneCallerAndRolesAreNot(t *testing.T) {
	f := newFunction(t, "")

	const body = `{"account":"a-1","amount":1250}`

	for user, want := range map[string]string{"AROA1:first": "AROA1", "AROA2:first": "AROA2"} {
		_, text := f.post(user, "k", body)
		if _, again := f.post(want+":second", "k", body); again != text {
			t.Errorf("%s gets %s, then %s", want, text, again)
		}
	}

	if got := len(f.db.Items("accounts")); got != 2 {
		t.Errorf("%d payments, want one of each role", got)
	}
}

func TestWhereNobodyVerifiesTheCallerIsNamedByTheEnvironment(t *testing.T) {
	f := newFunction(t, "local")

	if got, text := f.post("", "k", `{"account":"a-1","amount":1250}`); got.StatusCode != http.StatusAccepted {
		t.Errorf("status %d: %s", got.StatusCode, text)
	}
}

func TestWireNamesWhatIsMissing(t *testing.T) {
	for _, name := range []string{"TABLE_NAME", "LEDGER_TABLE", "PAYMENTS_QUEUE_URL"} {
		stand.Env(t, map[string]string{name: ""})

		handler, err := wire(t.Context())
		if handler != nil || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
	}
}

// A panic of one request leaves the others in flight, and the process, as they are.
func TestAPanicOfOneRequestIs500AndTheOthersAreAnswered(t *testing.T) {
	var log bytes.Buffer

	started := make(chan struct{})
	handler := recovering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") == "panics" {
			panic("text")
		}

		close(started)
		<-r.Context().Done()
		w.WriteHeader(http.StatusAccepted)
	}), slog.New(slog.NewTextHandler(&log, nil)))

	ctx, cancel := context.WithCancel(t.Context())
	f := &function{T: t, invoke: lambdaurl.Wrap(handler)}
	status := make(chan int, 1)

	go func() {
		r := &events.LambdaFunctionURLRequest{RawPath: "/payments"}
		r.RequestContext.HTTP.Method = http.MethodPost

		got, err := f.invoke(ctx, r)
		if err != nil {
			t.Error(err)
		}

		status <- got.StatusCode
	}()

	<-started

	for range 64 {
		if got, _ := f.post("", "panics", "{}"); got.StatusCode != http.StatusInternalServerError {
			t.Errorf("status %d", got.StatusCode)
		}
	}

	cancel()

	if got := <-status; got != http.StatusAccepted || !strings.Contains(log.String(), "TestAPanicOfOneRequest") {
		t.Errorf("the other got %d; the log is %s", got, log.String())
	}
}
