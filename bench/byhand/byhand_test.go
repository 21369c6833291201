package byhand_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/bench/byhand"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The comparison is fair only if by hand works, too.
func TestSQS(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*byhand.Options{
		"one by one":     nil,
		"together":       {Workers: 10},
		"lean":           {Lean: true},
		"lean, together": {Lean: true, Workers: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := idemddbtest.New(nil)
			if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
				t.Fatal(err)
			}

			runs := make(chan string, 10)
			serve := byhand.SQS(db.Client(), "records", func(_ context.Context, m events.SQSMessage) error {
				runs <- m.MessageId

				if m.MessageId == "fails" {
					return errors.New("no")
				}

				return nil
			}, opts)

			event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "works"}, {MessageId: "fails"}}}
			want := []events.SQSBatchItemFailure{{ItemIdentifier: "fails"}}

			for range 2 { // the second time "works" is completed, and the lease of "fails" still runs
				response, err := serve(t.Context(), event)
				if diff := cmp.Diff(want, response.BatchItemFailures); err != nil || diff != "" {
					t.Error(err, diff)
				}
			}

			if len(runs) != 2 {
				t.Errorf("the handler ran %d times, want 2", len(runs))
			}
		})
	}
}
