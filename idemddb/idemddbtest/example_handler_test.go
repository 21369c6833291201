package idemddbtest_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The test of a handler: the reply to its claim is lost, the message is delivered twice, and it pays once.
func Example() {
	ctx := context.Background()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(ctx, idemddbtest.CreateTable("records", "")); err != nil {
		fmt.Println(err)

		return
	}

	store, err := idemddb.New(db, "records", "payments", nil)
	if err != nil {
		fmt.Println(err)

		return
	}

	paid := 0
	handler := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		paid++

		return nil
	}, nil)

	db.ResetRequests()
	db.Inject(idemddbtest.LostReply)

	for range 2 {
		response, err := handler(ctx, oneMessage())
		fmt.Println(len(response.BatchItemFailures), "failed", err)
	}

	fmt.Println("paid", paid)
	fmt.Println("requests", len(db.Requests())) // these are the claim, its repetition, the completion and the duplicate's claim
	// Output:
	// 0 failed <nil>
	// 0 failed <nil>
	// paid 1
	// requests 4
}
