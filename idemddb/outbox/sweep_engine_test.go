package outbox_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/realengine"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }

// On DynamoDB Local, whose index and whose scans are its own.
func TestSweepFindsTheUnsentByTheIndexAndWithoutIt(t *testing.T) {
	t.Parallel()

	for name, index := range map[string]string{"by the index": "unsent", "by a scan": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			client, table, clock := realengine.Client(t), "sweep-"+rand.Text(), idemddbtest.NewClock(time.Now().Truncate(time.Millisecond))
			if _, err := client.CreateTable(t.Context(), idemddbtest.CreateTable(table, "unsent")); err != nil {
				t.Fatal(err)
			}

			down, sent := true, []string(nil)
			target := sendFunc(func(_ context.Context, ms []idemddb.Message) []error {
				if down {
					return slices.Repeat([]error{errors.New("down")}, len(ms))
				}

				for _, m := range ms {
					sent = append(sent, m.Body)
				}

				return make([]error, len(ms))
			})

			store, err := idemddb.New(client, table, "payments", &idemddb.Options{
				UnsentIndex: index, Now: clock.Now, Senders: map[string]idemddb.Sender{"receipts": target},
			})
			if err != nil {
				t.Fatal(err)
			}

			for _, key := range []string{"p-1", "p-2", "p-3"} {
				if _, err := store.Commit(t.Context(), key, nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: key}}}); err != nil {
					t.Fatal(err)
				}
			}

			sweep := func(want outbox.Report) {
				t.Helper()

				got, err := outbox.Sweep(t.Context(), store, client)
				if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (want.Left > 0) {
					t.Errorf("error %v, report (-want +got):\n%s", err, diff)
				}
			}

			sweep(outbox.Report{}) // their own process may still be sending them

			clock.Advance(2 * time.Minute)
			sweep(outbox.Report{Records: 3, Left: 3, Oldest: 2 * time.Minute})

			down = false
			sweep(outbox.Report{Records: 3, Sent: 3, Oldest: 2 * time.Minute})
			sweep(outbox.Report{})

			if diff := cmp.Diff([]string{"p-1", "p-2", "p-3"}, sent, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}
