package outbox_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/realengine"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }

// On DynamoDB Local, because the engine in memory has no indexes.
func TestSweepFindsTheUnsentByTheIndexAndWithoutIt(t *testing.T) {
	t.Parallel()

	for name, index := range map[string]string{"by the index": "unsent", "by a scan": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			client, table, clock := realengine.Client(t), "sweep-"+rand.Text(), idemddbtest.NewClock(time.Now().Truncate(time.Millisecond))
			if _, err := client.CreateTable(t.Context(), idemddbtest.CreateTable(table, "unsent")); err != nil {
				t.Fatal(err)
			}

			target := &target{down: true}

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

			target.down = false
			sweep(outbox.Report{Records: 3, Sent: 3, Oldest: 2 * time.Minute})
			sweep(outbox.Report{})

			if diff := cmp.Diff([]string{"p-1", "p-2", "p-3"}, target.got, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// A sweep that could not look must not be taken for one that found nothing.
func TestAReportSaysWhetherTheSweepSawEverything(t *testing.T) {
	t.Parallel()

	store, err := idemddb.New(idemddbtest.New(nil), "records", "payments", &idemddb.Options{UnsentIndex: "unsent"})
	if err != nil {
		t.Fatal(err)
	}

	over, cancel := context.WithCancel(t.Context())
	cancel()

	for name, test := range map[string]struct {
		ctx      context.Context
		api      denied
		want     bool
		hasError bool
	}{
		"it did":                  {t.Context(), denied{}, false, false},
		"the index was denied":    {t.Context(), denied{query: errors.New("denied")}, true, true},
		"the time was over":       {over, denied{}, true, false},
		"a record was not read":   {t.Context(), denied{get: errors.New("denied"), found: true}, true, true},
		"a record was sent since": {t.Context(), denied{found: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := outbox.Sweep(test.ctx, store, test.api)
			if want := (outbox.Report{Incomplete: test.want}); got != want || (err != nil) != test.hasError {
				t.Errorf("got %+v, %v, want %+v and an error: %v", got, err, want, test.hasError)
			}
		})
	}
}

// target is a queue that is down or takes everything.
type target struct {
	down bool
	got  []string // bodies
}

func (q *target) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	answers := make([]error, len(ms))

	for i, m := range ms {
		if q.down {
			answers[i] = errors.New("down")
		} else {
			q.got = append(q.got, m.Body)
		}
	}

	return answers
}

// denied is a table without records that may have one in its index.
type denied struct {
	query, get error
	found      bool
}

func (d denied) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	if d.found {
		out.Items = append(out.Items, nil)
	}

	return out, d.query
}

func (d denied) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return &dynamodb.ScanOutput{}, nil
}

func (d denied) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, d.get
}
