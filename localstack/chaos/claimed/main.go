// Claimed is functions/api with each key claimed before its handler runs. Its leases are shorter than its invocations, so that
// keys are taken over while the process that held them still works.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdaurl"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func main() {
	handler, err := wire(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	lambdaurl.Start(handler)
}

func wire(ctx context.Context) (http.Handler, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // says where it comes from
	}

	cfg.HTTPClient = idemddb.HTTPClient()

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "api", &idemddb.Options{
		Lease: 700 * time.Millisecond, ClockSkew: 100 * time.Millisecond,
		Senders: map[string]idemddb.Sender{ledger.Accepted: outbox.SQS(sqs.NewFromConfig(cfg), os.Getenv("PAYMENTS_QUEUE_URL"))},
	})
	if err != nil {
		return nil, err
	}

	return lambdawrap.HTTP(store, http.HandlerFunc(accept), &lambdawrap.HTTPOptions{Caller: caller, Required: true}), nil
}

func caller(r *http.Request) (string, error) {
	request, ok := lambdaurl.RequestFromContext(r.Context())
	if !ok {
		return "", errors.New("not a request to a function URL")
	}

	id, _, _ := strings.Cut(request.RequestContext.Authorizer.IAM.UserID, ":")

	return id, nil
}

// accept stages a payment with a new id. Nothing refuses a second one for the same request but the library.
func accept(w http.ResponseWriter, r *http.Request) {
	pause, _ := strconv.Atoi(os.Getenv("PAUSE_MS"))
	<-time.After(time.Duration(pause) * time.Millisecond) // so that processes are struck in the middle of it

	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)

		return
	}

	payment, err := ledger.NewPayment(rand.Text(), body)
	if err == nil {
		body, err = json.Marshal(payment)
	}

	if err == nil {
		err = stage(r.Context(), payment, string(body))
	}

	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)

		return
	}

	w.Header().Set("Location", "/payments/"+payment.PaymentID)
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(body)
}

func stage(ctx context.Context, payment ledger.Payment, message string) error {
	table := os.Getenv("LEDGER_TABLE")

	return idemddb.Stage(ctx, idemddb.Effects{
		Items: []types.TransactWriteItem{{Put: &types.Put{TableName: &table, Item: map[string]types.AttributeValue{
			"pk":      &types.AttributeValueMemberS{Value: "request#" + payment.PaymentID},
			"account": &types.AttributeValueMemberS{Value: payment.Account},
			"amount":  &types.AttributeValueMemberN{Value: strconv.FormatInt(payment.Amount, 10)},
		}}}},
		Messages: []idemddb.Message{{To: ledger.Accepted, Body: message}},
	})
}
