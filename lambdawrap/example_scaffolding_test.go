package lambdawrap_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Everything in this file is scaffolding of the examples: it stands in for AWS, and a function has none of it. Where an example calls
// invoke, a function says
//
//	lambda.Start(lambdawrap.SQS(store, handler, opts))

var quiet = slog.New(slog.DiscardHandler) // the examples print what they mean to show

// inMemory returns a Store on a table in memory, and the clock of its workers. A program says
// idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", opts).
func inMemory(opts *idemddb.Options) (*idemddb.Store, *idemddbtest.Clock) {
	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	db := idemddbtest.New(nil)

	if _, err := db.CreateTable(context.Background(), idemddb.Table("records")); err != nil {
		panic(err)
	}

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	o.Now = clock.Now

	store, err := idemddb.New(db, "records", "payments", &o)
	if err != nil {
		panic(err)
	}

	return store, clock
}

// received is an event with these bodies, as Lambda hands it to a function: messages m-1, m-2 and so on.
func received(bodies ...string) events.SQSEvent {
	var event events.SQSEvent

	for i, body := range bodies {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId:      fmt.Sprintf("m-%d", i+1),
			EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
			Body:           body,
		})
	}

	return event
}

// wrapped is what lambdawrap.SQS returns.
type wrapped = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// invoke is Lambda: it calls the function and prints the messages that come back.
func invoke(function wrapped, event events.SQSEvent) {
	response, err := function(context.Background(), event)
	if err != nil {
		fmt.Println("all come back:", err)

		return
	}

	failed := []string{}
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}

	fmt.Println("come back:", failed)
}

// withoutTime takes the time out of log lines.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}

	return a
}

// byPaymentID is the key of the examples, from the body.
func byPaymentID() lambdawrap.KeyFunc {
	key, err := lambdawrap.Body("paymentId")
	if err != nil {
		panic(err)
	}

	return key
}
