package idemddbtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// This is the third test that docs/testing.md shows: the specification judges what a handler does to its records.

func TestEveryChangeKeepsTheRules(t *testing.T) {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
		t.Fatal(err)
	}

	checker, err := audit.NewChecker(audit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	db.OnChange(func(c idemddbtest.Change) {
		checker.Check(audit.Change{Before: c.Before, After: c.After, Time: c.Time, ByTimeToLive: c.ByTimeToLive})
	})

	store, err := idemddb.New(db, "records", "payments", nil)
	if err != nil {
		t.Fatal(err)
	}

	failures := 1
	handler := lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error {
		if failures--; failures >= 0 {
			return errors.New("the bank is closed")
		}

		return nil
	}, nil)

	for range 2 { // the second delivery claims the key again
		if _, err := handler(t.Context(), oneMessage()); err != nil {
			t.Error(err)
		}
	}

	if err := checker.Report().Err(); err != nil {
		t.Error(err) // with the story of the key
	}

	t.Log(checker.Report())
}
