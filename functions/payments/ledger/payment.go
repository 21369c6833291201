package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Payment is the body of a message that asks for a payment, and of the message that announces it.
type Payment struct {
	PaymentID string `json:"paymentId"`
	Account   string `json:"account"`
	Amount    int64  `json:"amount"` // in minor units, such as cents; positive
}

// decode reads a body as the key function does: with member names compared exactly. Into a Payment itself, encoding/json would
// also take "PAYMENTID", and the payment could be another one than its key says. Errors name the field and quote nothing.
func decode(body string) (Payment, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &fields); err != nil || fields == nil {
		return Payment{}, errObject
	}

	var id string
	if err := json.Unmarshal(fields["paymentId"], &id); err != nil || id == "" {
		return Payment{}, errors.New("payments: paymentId: must be a string that is not empty")
	}

	if len(entryKey(id)) > maxPartitionKey {
		return Payment{}, fmt.Errorf("payments: paymentId: must have at most %d bytes", maxPartitionKey-len(entryKey("")))
	}

	return read(id, fields)
}

// NewPayment reads the account and the amount of a payment that gets its paymentId here. Its errors name the field and quote
// nothing.
func NewPayment(id string, body []byte) (Payment, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return Payment{}, errObject
	}

	return read(id, fields)
}

var errObject = errors.New("payments: body: must be one JSON object")

func read(id string, fields map[string]json.RawMessage) (Payment, error) {
	payment := Payment{PaymentID: id}

	if err := json.Unmarshal(fields["account"], &payment.Account); err != nil || payment.Account == "" {
		return Payment{}, errors.New("payments: account: must be a string that is not empty")
	}

	if len(accountKey(payment.Account)) > maxPartitionKey {
		return Payment{}, fmt.Errorf("payments: account: must have at most %d bytes", maxPartitionKey-len(accountKey("")))
	}

	// Into an int64, encoding/json takes nothing but plain whole numbers: not 12.5, 1e3 or 1250.0, and no string.
	if err := json.Unmarshal(fields["amount"], &payment.Amount); err != nil || payment.Amount <= 0 {
		return Payment{}, errors.New("payments: amount: must be a whole number of minor units above 0, without fraction or exponent")
	}

	return payment, nil
}

const maxPartitionKey = 2048 // bytes; DynamoDB takes no longer one

func accountKey(account string) string { return "account#" + account }

func entryKey(paymentID string) string { return "payment#" + paymentID }

func (p Payment) encode() string {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // never: two texts and a number
	}

	return string(body)
}
