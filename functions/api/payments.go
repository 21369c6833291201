package main

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
)

const maxBody = 8 << 10 // bytes

// api accepts payments. It is safe for concurrent use.
type api struct {
	table string
}

// accept accepts one payment, with a new paymentId. It makes no request: it stages the item "request#" + paymentId and the
// message to the payments queue, which are committed together with the answer. So a client that repeats its request gets the
// first paymentId.
func (a *api) accept(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		answer(w, http.StatusBadRequest, problem{Title: "The body could not be read"})

		return
	}

	payment, err := ledger.NewPayment(rand.Text(), body)
	if err != nil {
		answer(w, http.StatusBadRequest, problem{Title: "This is no payment", Detail: err.Error()})

		return
	}

	effects, err := a.effects(payment)
	if err == nil {
		err = idemddb.Stage(r.Context(), effects)
	}

	if err != nil {
		answer(w, http.StatusInternalServerError, problem{Title: "The payment could not be accepted"})

		return
	}

	w.Header().Set("Location", "/payments/"+payment.PaymentID)
	answer(w, http.StatusAccepted, payment)
}

// effects returns what is written when a payment is accepted.
func (a *api) effects(payment ledger.Payment) (idemddb.Effects, error) {
	message, err := json.Marshal(payment)
	if err != nil {
		return idemddb.Effects{}, err //nolint:wrapcheck // never: two texts and a number
	}

	return idemddb.Effects{
		Items: []types.TransactWriteItem{{Put: &types.Put{
			TableName: &a.table,
			Item: map[string]types.AttributeValue{
				"pk":      &types.AttributeValueMemberS{Value: "request#" + payment.PaymentID},
				"account": &types.AttributeValueMemberS{Value: payment.Account},
				"amount":  &types.AttributeValueMemberN{Value: strconv.FormatInt(payment.Amount, 10)},
			},
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}}},
		Messages: []idemddb.Message{{To: ledger.Accepted, Body: string(message)}},
	}, nil
}

// problem is an answer of RFC 9457 without a type: its status says it all.
type problem struct {
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
}

// answer sends a value as JSON.
func answer(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, nil
	}

	w.Header().Set("Content-Type", "application/json")

	if _, ok := value.(problem); ok {
		w.Header().Set("Content-Type", "application/problem+json")
	}

	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone asks again
}
