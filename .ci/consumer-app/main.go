// This program is a user's, with a module of its own. .ci/consumer builds it with the released modules.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemotel"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type payment struct {
	PaymentID string `json:"paymentId"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(ctx, idemddbtest.CreateTable("records", "")); err != nil {
		return err
	}

	tel, err := idemotel.New(nil)
	if err != nil {
		return err
	}

	store, err := idemddb.New(db, "records", "payments", tel.StoreOptions(nil))
	if err != nil {
		return err
	}

	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		return err
	}

	pay := func(_ context.Context, p payment) error {
		fmt.Print("paid ", p.PaymentID, ", once: ")

		return nil
	}

	opts := tel.MessageOptions(&lambdawrap.Options{Key: key, Timeout: time.Second})
	function := idemotel.Flush(tel, lambdawrap.SQS(store, lambdawrap.JSON(pay), opts))

	event := events.SQSEvent{Records: []events.SQSMessage{message("m-1"), message("m-2")}}

	answer, err := function(ctx, event)
	if err != nil {
		return err
	}

	fmt.Printf("%d of %d messages done\n", len(event.Records)-len(answer.BatchItemFailures), len(event.Records))

	return nil
}

func message(id string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: id, Body: `{"paymentId":"p-1"}`, ReceiptHandle: "r",
		EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
	}
}
