package functions_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
)

const someUser = "AIDA-OF-SOMEBODY"

// guardedRequests are those of the story that have a key and a caller. The others are refused before their record is asked for.
const guardedRequests = 7

// apiKey is the partition key of the record of a request of someUser.
func apiKey(idempotencyKey string) string {
	return `api##["` + someUser + `","` + idempotencyKey + `"]`
}

// api sends requests to the API.
func (a *fakeAWS) api(t *testing.T, template template) (observed story) {
	t.Helper()

	observed.printed = a.run(t, template, "Api", func(invoke func(event any) string) {
		post := func(user, key, body string) {
			observed.answers = append(observed.answers, invoke(request(user, key, body)))
		}
		body := `{"account":"` + someAccount + `","amount":` + someAmount + `}`

		post(someUser, "first", body)
		post(someUser, "first", body) // this is a replay
		post(someUser, "first", "[]") // another request has the same key
		post(someUser, "", body)
		post(someUser, "no-payment", `{"account":"`+someAccount+`","amount":-1}`)
		post("", "unsigned", body)
		a.fault(paymentsARN, "AccessDenied")
		post(someUser, "unsent", body) // it is accepted, and not passed on
		a.fault(paymentsARN, "")
		a.expire(t, apiKey("first"))
		post(someUser, "first", body) // its retention is over, so this is another payment
		a.hold(t, apiKey("first"), time.Minute)
		post(someUser, "first", body) // another worker holds the key
	})

	return observed
}

// request is a POST to the function's URL that IAM has verified, if it names a user.
func request(user, key, body string) *events.LambdaFunctionURLRequest {
	r := &events.LambdaFunctionURLRequest{RawPath: "/payments", Body: body, Headers: map[string]string{"content-type": "application/json"}}
	r.RequestContext.HTTP.Method = "POST"

	if key != "" {
		r.Headers["idempotency-key"] = key
	}

	if user != "" {
		r.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
			IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserID: user},
		}
	}

	return r
}

// parse splits an answer to a function URL into what it says about itself and its body.
func parse(t *testing.T, answer string) (status int, headers map[string]string, body string) {
	t.Helper()

	var prelude struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
	}

	first, body, ok := strings.Cut(answer, "\x00\x00\x00\x00\x00\x00\x00\x00")
	if err := json.Unmarshal([]byte(first), &prelude); err != nil || !ok {
		t.Fatalf("no answer of a function URL: %q", answer)
	}

	return prelude.StatusCode, prelude.Headers, body
}

func statuses(t *testing.T, asked story) (all []int) {
	t.Helper()

	for _, answer := range asked.answers {
		status, _, _ := parse(t, answer)
		all = append(all, status)
	}

	return all
}

// checkPassedOn wants a message for each payment that was accepted, under one id each, and the replay to be the first answer.
func checkPassedOn(t *testing.T, cloud *fakeAWS, asked story) {
	t.Helper()

	accepted := map[string]bool{}

	for _, answer := range asked.answers {
		var payment ledger.Payment

		if status, _, body := parse(t, answer); status == 202 {
			if err := json.Unmarshal([]byte(body), &payment); err != nil {
				t.Error(err)
			}

			accepted[payment.PaymentID] = true
		}
	}

	_, first, firstBody := parse(t, asked.answers[0])
	_, again, againBody := parse(t, asked.answers[1])

	if firstBody != againBody || first["Idempotent-Replayed"] != "false" || again["Idempotent-Replayed"] != "true" {
		t.Errorf("the replay is %v %s, after %v %s", again, againBody, first, firstBody)
	}

	requests := 0

	for _, item := range cloud.db.Items("LedgerTable") {
		if key, _ := item["pk"].(*types.AttributeValueMemberS); strings.HasPrefix(key.Value, "request#") {
			requests++
		}
	}

	ids := slices.Sorted(slices.Values(cloud.sent[paymentsARN]))
	if got := len(slices.Compact(slices.Clone(ids))); got != len(accepted) || len(ids) != got || requests != got {
		t.Errorf("%d payments accepted, %d requests in the ledger, passed on %v: want one of each", len(accepted), requests, ids)
	}
}
