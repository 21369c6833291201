//go:build e2e || aws

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// A payment that is posted twice is accepted once, passed on once, and in its account once.
func testAPI(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const body = `{"account":"api","amount":125}`

	first := post(t, p, "key-1", body)
	again := post(t, p, "key-1", body)

	if first.Status != http.StatusAccepted || first.Replayed != "false" {
		t.Fatalf("the first answer is %d %q %s", first.Status, first.Replayed, first.Body)
	}

	if again.Status != first.Status || again.Replayed != "true" || string(again.Body) != string(first.Body) {
		t.Errorf("the second answer is %d %q %s, want a replay of %s", again.Status, again.Replayed, again.Body, first.Body)
	}

	for _, c := range []struct {
		key, body string
		want      int
	}{
		{"key-1", `{"account":"api","amount":126}`, http.StatusUnprocessableEntity},
		{"", body, http.StatusBadRequest},
		{"key-2", `{"account":"api","amount":-1}`, http.StatusBadRequest},
		{"key-3", strings.Repeat(" ", 10_000), http.StatusRequestEntityTooLarge},
	} {
		if got := post(t, p, c.key, c.body); got.Status != c.want {
			t.Errorf("%q %.40s: status %d, want %d: %s", c.key, c.body, got.Status, c.want, got.Body)
		}
	}

	var payment struct {
		PaymentID string `json:"paymentId"`
	}
	if err := json.Unmarshal(first.Body, &payment); err != nil || payment.PaymentID == "" {
		t.Fatalf("%v in %s", err, first.Body)
	}

	wantAnnounced(t, p, payment.PaymentID, 1)
	awaitDone(t, p, payment.PaymentID)
	wantAccounts(t, p, "api", map[string]pipeline.Account{"api": {Balance: 125, Payments: 1}})
	wantEntries(t, p, payment.PaymentID, 1)

	holdRequest(t, p, "key-1")

	if got := post(t, p, "key-1", body); got.Status != http.StatusConflict {
		t.Errorf("in progress elsewhere: status %d, want %d: %s", got.Status, http.StatusConflict, got.Body)
	}
}

func post(t *testing.T, p *pipeline.Pipeline, key, body string) pipeline.Answer {
	t.Helper()

	answer, err := p.Post(t.Context(), key, body)

	return must(t, answer, err)
}

// holdRequest makes the record of a request one that another worker is at.
func holdRequest(t *testing.T, p *pipeline.Pipeline, key string) {
	t.Helper()

	record, err := pipeline.RequestKey(t.Context(), p, key)
	edit(t, p, must(t, record, err), "SET st = :st, lease = :lease", nil, map[string]ddb.AttributeValue{
		":st":    &ddb.AttributeValueMemberS{Value: "INPROGRESS"},
		":lease": &ddb.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(time.Minute).UnixMilli())},
	})
}
