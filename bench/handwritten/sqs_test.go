package handwritten_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A comparison with a baseline that repeats finished work would not be fair.
func TestSQSHandlesEachMessageOnce(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*handwritten.Options{
		"in order":            nil,
		"concurrently":        {Workers: 10},
		"lean":                {Lean: true},
		"lean, two at a time": {Lean: true, Workers: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := idemddbtest.New(nil)
			if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
				t.Fatal(err)
			}

			handled := make(chan string, 10)
			invoke := handwritten.SQS(db.Client(), "records", func(_ context.Context, m events.SQSMessage) error {
				handled <- m.MessageId

				if m.MessageId == "fails" {
					return errors.New("no")
				}

				return nil
			}, opts)

			event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "works"}, {MessageId: "fails"}}}
			want := []events.SQSBatchItemFailure{{ItemIdentifier: "fails"}}

			for range 2 { // in the second delivery "works" is completed, and the lease of "fails" is not over yet
				response, err := invoke(t.Context(), event)
				if diff := cmp.Diff(want, response.BatchItemFailures); err != nil || diff != "" {
					t.Error(err, diff)
				}
			}

			if len(handled) != 2 {
				t.Errorf("the handler ran %d times, want 2", len(handled))
			}
		})
	}
}
