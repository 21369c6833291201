package idemddb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// reject runs work without a claim that fails with this error.
func reject(f *fixture, cause error) error {
	_, err := idemddb.Do(f.Context(), f.store, "k", optimistic, func(context.Context) (int, error) { return 0, cause })

	return err
}

// An operator reopens a key that failed for good without a claim, and a worker claims and releases it. Whichever request of the
// failure arrives late, the key stays open.
func TestALateRequestOfAFailureWithoutAClaimDoesNotEndAReopenedKey(t *testing.T) {
	t.Parallel()

	for name, faults := range map[string][]idemddbtest.Fault{
		"the claim is late":           {idemddbtest.LateRequest},
		"the failure is late":         {idemddbtest.None, idemddbtest.LateRequest},
		"the claim's answer is lost":  {idemddbtest.LostReply},
		"the failure's answer is too": {idemddbtest.LostReply, idemddbtest.None, idemddbtest.LostReply},
		"both are late":               {idemddbtest.LateRequest, idemddbtest.None, idemddbtest.LateRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				f.db.Inject(faults...)

				if err := reject(f, permanentError{errors.New("closed")}); err == nil {
					f.Fatal("no error")
				}

				if st := textOf(recordOf(f.db, "k"), "st"); st != "FAILED" {
					f.Errorf("the key is %s", st)
				}

				must(f, f.store.Reopen(f.Context(), "k"))
				must(f, claim(f, f.store, "k").Release(f.Context(), errors.New("try again")))
				f.db.Deliver()
				time.Sleep(time.Minute) //nolint:forbidigo // the lease that a late claim asked for is over

				if _, _, err := f.store.Claim(f.Context(), "k", nil); err != nil {
					f.Errorf("a late request keeps the key from being claimed: %v", err)
				}
			})
		})
	}
}

// A late try of a rejection that may be repeated counts one attempt more, as a late claim does.
func TestALateRejectionCountsOneAttemptMore(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{MaxAttempts: 3}, func(f *fixture) {
		f.db.Inject(idemddbtest.LateRequest)

		if err := reject(f, errors.New("not now")); err == nil {
			f.Fatal("no error")
		}

		must(f, claim(f, f.store, "k").Release(f.Context(), errors.New("try again")))
		f.db.Deliver()

		_, _, err := f.store.Claim(f.Context(), "k", nil)
		if failed, ok := errors.AsType[*idemddb.FailedError](err); !ok || failed.Attempts != 3 {
			f.Errorf("got %v, want the error of a key whose three attempts are used up", err)
		}
	})
}

// The first try of a commit has no answer. The second one is refused by an effect. When the rejection is written, the first try
// has been applied after all, and a sweep has sent its message: this run has completed the key, it is no replay of another one,
// and nothing is sent again.
func TestACommitThatWasAppliedAfterItsRefusalIsCompleted(t *testing.T) {
	t.Parallel()

	for name, meaning := range map[string]func(*idemddb.EffectError) error{
		"released": nil, "for good": func(e *idemddb.EffectError) error { return permanentError{e} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			sent := &bankSender{}
			opts := &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": sent}}

			bubble(t, opts, func(f *fixture) {
				tries := forTransactions(idemddbtest.LateRequest, idemddbtest.AccessDenied)
				f.db.Intercept(func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if r.Operation != "TransactWriteItems" {
						f.db.Intercept(nil)
						f.db.Deliver() // the late request comes before the rejection
						sendStored(f, opts)
					}

					return tries(ctx, r)
				})

				work := beginWork(f, f.store, "k", optimistic)
				effects := idemddb.Effects{Items: items(counted("a")).Items, Messages: oneMessage.Messages, Refused: meaning}
				must(f, idemddb.Stage(work.Context(f.Context()), effects))

				e := work.Settle(f.Context(), []byte("r"), nil)
				if e.Kind != idemddb.KindCompleted || e.Err != nil || e.Record != nil {
					f.Errorf("got %+v, want the ending of completed work", e)
				}

				happened(f, f.db, "a", 1)

				if n, released := f.events.count(idemddb.KindCompleted), f.events.count(idemddb.KindReleased); n != 1 || released != 0 {
					f.Errorf("%d events of a completion, %d of a release", n, released)
				}

				if len(sent.ids) != 1 {
					f.Errorf("sent %q, want the message once", sent.ids)
				}
			})
		})
	}
}

// The record of an earlier time is past its retention. Whether the rejection is in its place is not always known.
func TestARejectionInThePlaceOfARecordPastItsRetention(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		meanwhile func(f *fixture) idemddbtest.Fault // when the rejection is put into that place
		kind      idemddb.Kind
		isUnknown bool
	}{
		"is written":           {func(*fixture) idemddbtest.Fault { return idemddbtest.None }, idemddb.KindReleased, false},
		"is not answered":      {func(*fixture) idemddbtest.Fault { return idemddbtest.LostRequest }, idemddb.KindReleased, true},
		"finds no record":      {func(f *fixture) idemddbtest.Fault { erase(f, f.db, "k"); return idemddbtest.None }, idemddb.KindReleased, false},
		"finds another worker": {func(f *fixture) idemddbtest.Fault { claim(f, f.store, "k"); return idemddbtest.None }, idemddb.KindInProgress, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Retention: time.Hour}, func(f *fixture) {
				must(f, claim(f, f.store, "k").Complete(f.Context(), []byte("old")))
				<-time.After(2 * time.Hour)

				isFirst := true
				f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if r.Operation != "PutItem" || !isFirst && !c.isUnknown {
						return idemddbtest.None
					}

					isFirst = false

					return c.meanwhile(f)
				})

				e := beginWork(f, f.store, "k", optimistic).Settle(f.Context(), nil, errClosed)
				if e.Kind != c.kind || e.Unknown != c.isUnknown || !errors.Is(e.Err, errClosed) {
					f.Errorf("got %+v, want %s, unknown %t", e, c.kind, c.isUnknown)
				}

				if c.kind == idemddb.KindReleased && !c.isUnknown {
					f.events.want(f, idemddb.KindClaimed, idemddb.KindCompleted, idemddb.KindReleased)
				}
			})
		})
	}
}

// Work that failed for good is claimed first. If only the write that ends its key is not answered, nobody knows whether it has
// ended.
func TestAFailureWithoutAClaimWhoseSecondWriteIsNotAnsweredIsUnknown(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.Inject(idemddbtest.None) // the claim
		f.db.Intercept(always(idemddbtest.LostRequest))

		e := beginWork(f, f.store, "k", optimistic).Settle(f.Context(), nil, permanentError{errClosed})
		if e.Kind != idemddb.KindFailed || !e.Unknown {
			f.Errorf("got %+v, want failed, unknown", e)
		}
	})
}

// What its batch still expects to be claimed is nothing that it waits for.
func TestARejectionWaitsForNoOtherCallOfItsBatch(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		work, e := f.batch.Begin(f.Context(), "k", optimistic)
		if work == nil {
			f.Fatal(e.Err)
		}

		f.batch.Expect(2)
		f.takes(0, func() { work.Settle(f.Context(), nil, permanentError{errClosed}) })
	})
}

// The wrapper's other work commits after it: nothing of what the failed work staged is sent with that.
func TestWorkThatFailedWithoutAClaimIsNeverSentWithOthers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		for _, key := range []string{"a", "b"} {
			work, e := f.batch.Begin(f.Context(), key, optimistic)
			if work == nil {
				f.Fatal(e.Err)
			}

			must(f, idemddb.Stage(work.Context(f.Context()), items(counted(key))))

			if e := work.Settle(f.Context(), nil, errors.New("not now")); e.Kind != idemddb.KindReleased || e.Unknown {
				f.Errorf("got %+v", e)
			}
		}

		time.Sleep(time.Second) //nolint:forbidigo // a commit waits 0.1 s for others
		f.batch.FlushCommits()

		for _, r := range f.db.Requests() {
			if r.Operation == "TransactWriteItems" {
				f.Errorf("a transaction is sent: %+v", r)
			}
		}
	})
}
