package idemddbtest_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// This is the test that docs/testing.md shows: what a user writes for a handler.

func TestPaysOnceWhenTheReplyIsLost(t *testing.T) {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
		t.Fatal(err)
	}

	store, err := idemddb.New(db, "records", "payments", nil)
	if err != nil {
		t.Fatal(err)
	}

	paid := 0
	handler := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		paid++

		return nil
	}, nil)

	db.Inject(idemddbtest.LostReply) // the claim is applied, its reply never comes

	for range 2 { // the second delivery is a duplicate
		response, err := handler(t.Context(), oneMessage())
		if err != nil || len(response.BatchItemFailures) > 0 {
			t.Errorf("got %v, %v, want every message done", response, err)
		}
	}

	if paid != 1 {
		t.Errorf("paid %d times, want once", paid)
	}
}
