package idemddb_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// The first try writes the record, its answer proves nothing, and a sweep sends the message and removes it. The record that
// refuses the second try says that the write is this call's own, and that nothing is left to send.
func TestAWriteThatIsRecognisedSendsNothingThatASweepHasSent(t *testing.T) {
	t.Parallel()

	for name, complete := range map[string]func(*fixture) error{
		"Commit": func(f *fixture) error {
			rec, err := f.store.Commit(f.Context(), "k", nil, nil, oneMessage)
			if rec != nil {
				f.Errorf("got record %+v, want none: this call has completed the key", rec)
			}

			return err
		},
		"CompleteWith": func(f *fixture) error { return claim(f, f.store, "k").CompleteWith(f.Context(), nil, oneMessage) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var (
				once  sync.Once
				sweep func()
			)

			sent := &bankSender{}
			opts := &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": sent}}

			bubbleAround(t, opts, around.After(func(out *dynamodb.TransactWriteItemsOutput) {
				once.Do(func() {
					out.ConsumedCapacity = nil // the first answer loses its content

					sweep()
				})
			}), func(f *fixture) {
				sweep = func() { sendStored(f, opts) }

				must(f, complete(f))

				if len(sent.ids) != 1 {
					f.Errorf("sent %q, want the message once", sent.ids)
				}
			})
		})
	}
}

func TestAWriteThatIsRecognisedIsNotDoneWhileItsMessageIsUnsent(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{RedeliverUnsent: true}, func(f *fixture) {
		c := claim(f, f.store, "k")
		f.db.Inject(idemddbtest.EmptyAnswerApplied)
		is(f, c.CompleteWith(f.Context(), nil, oneMessage), idemddb.ErrUnsent)
	})
}

// sendStored sends the messages of the key k, as a sweep in another process does.
func sendStored(f *fixture, opts *idemddb.Options) {
	f.Helper()

	_, err := storeOn(f, f.db, opts).SendStored(f.Context(), recordOf(f.db, "k"), false)
	must(f, err)
}

// A commit finds a record past its retention. Before it has put a new one in its place, a worker whose clock is behind by 90
// minutes has done so, and its record is past its end, too.
func TestACommitThatLosesARecordPastItsRetentionBeginsAnew(t *testing.T) {
	t.Parallel()

	bubble(t, &idemddb.Options{Retention: time.Hour}, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), []byte("old")))
		<-time.After(3 * time.Hour)

		behind := storeOn(f, f.db, &idemddb.Options{Retention: time.Hour, Now: func() time.Time { return time.Now().Add(-90 * time.Minute) }})
		tries := 0
		f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if r.Operation != "TransactWriteItems" {
				return idemddbtest.None
			}

			if tries++; tries == 2 {
				must(f, claim(f, behind, "k").Complete(f.Context(), []byte("late")))
			}

			return idemddbtest.None
		})

		rec, err := f.store.Commit(f.Context(), "k", nil, []byte("new"), items(counted("a")))
		if rec != nil || err != nil {
			f.Errorf("got record %v, error %v, want neither", rec, err)
		}

		happened(f, f.db, "a", 1)

		if got := string(replay(f.T, f.store, "k").Result); got != "new" {
			f.Errorf("the record has %q", got)
		}
	})
}

// A claim puts a new record in the place of one past its retention, and its answer is lost. The record that refuses the next try
// is its own, so there is nothing more to ask.
func TestAClaimThatIsFoundInThePlaceOfARecordPastItsRetentionIsWonAtOnce(t *testing.T) {
	t.Parallel()

	bubble(t, &idemddb.Options{Retention: time.Hour, Single: true}, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), []byte("old")))
		<-time.After(2 * time.Hour)
		f.requests()
		f.db.Inject(idemddbtest.None, idemddbtest.LostReply)

		if c := claim(f, f.store, "k"); c.Attempt() != 1 || c.Takeover() {
			f.Errorf("attempt %d, takeover %t, want those of a new key", c.Attempt(), c.Takeover())
		}

		f.want("UpdateItem", "PutItem", "PutItem")
	})
}

// The lease is that of the request that was applied, which may be made long after the first one.
func TestAClaimInThePlaceOfARecordPastItsRetentionHasAWholeLease(t *testing.T) {
	t.Parallel()

	for outage, requests := range map[time.Duration]int{0: 2, 3 * time.Second: 4} { // at least
		bubble(t, &idemddb.Options{Retention: time.Hour, Single: true}, func(f *fixture) {
			must(f, claim(f, f.store, "k").Complete(f.Context(), []byte("old")))
			<-time.After(2 * time.Hour)
			f.requests()

			begun := time.Now()
			f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
				if r.Operation == "PutItem" && time.Since(begun) < outage {
					return idemddbtest.ServerError
				}

				return idemddbtest.None
			})

			if left := time.Until(claim(f, f.store, "k").Deadline()); left < 29*time.Second {
				f.Errorf("a lease of %v, want 30s", left)
			}

			if n := len(f.requests()); n < requests || n > 2 && outage == 0 {
				f.Errorf("%d requests, want %d", n, requests)
			}
		})
	}
}

// A caller that waits for another one does not take the old record for its answer either.
func TestAClaimInThePlaceOfARecordPastItsRetentionThatIsNotAnsweredIsAnError(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Retention: time.Hour}, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), []byte("old")))
		<-time.After(2 * time.Hour)
		f.db.Intercept(forOperation("PutItem", idemddbtest.LostRequest))

		var all sync.WaitGroup

		for _, wait := range []time.Duration{0, time.Minute, time.Minute} {
			all.Go(func() {
				c, rec, err := f.store.Claim(f.Context(), "k", &idemddb.ClaimOptions{Wait: wait})
				if c != nil || rec != nil || err == nil {
					f.Errorf("got claim %v, record %v, error %v, want an error", c, rec, err)
				}
			})
		}

		all.Wait()
	})
}
