package idemddb_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Ten records that are committed together are also freed of their messages together.
func TestCommitsOfABatchShareTheRemovalOfTheirMessages(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		db := newDB(t)
		judge(t, db, nil)

		store, err := idemddb.New(db, "records", "payments", &idemddb.Options{Senders: map[string]idemddb.Sender{"receipts": acceptAll{}}})
		if err != nil {
			t.Fatal(err)
		}

		var commits sync.WaitGroup

		batch := store.Batch()

		for i := range 10 {
			wait := batch.Commit(t.Context(), fmt.Sprintf("p-%d", i), nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "paid"}}})

			commits.Go(func() {
				if rec, err := wait(); rec != nil || err != nil {
					t.Errorf("got %v, %v", rec, err)
				}
			})
		}

		batch.FlushCommits()
		commits.Wait()

		var got []string
		for _, r := range db.Requests() {
			got = append(got, r.Operation)
		}

		if diff := cmp.Diff([]string{"TransactWriteItems", "BatchExecuteStatement"}, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}

		for _, item := range db.Items("records") {
			if item["outbox"] != nil {
				t.Errorf("a record has its message still: %v", item)
			}
		}
	})
}

// acceptAll is a target that accepts every message.
type acceptAll struct{}

func (acceptAll) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	return make([]error, len(ms))
}
