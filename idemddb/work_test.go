package idemddb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

var errClosed = errors.New("the bank is closed")

// The other worker has died before it sent its messages, and only the next delivery sends them: this one must not count as done.
func TestFailedWorkIsNotDoneWhileMessagesOfAnotherWorkerAreUnsent(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{RedeliverUnsent: true}, func(f *fixture) {
		other := storeOn(f, f.db, &idemddb.Options{Now: anHourAhead})
		_, err := f.do(nil, func(context.Context) (string, error) {
			must(f, claim(f, other, "k").CompleteWith(f.Context(), nil, idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: "b"}}}))

			return "", errClosed
		})
		is(f, err, errClosed)
		is(f, err, idemddb.ErrUnsent)
	})
}

// An earlier try of the transaction was applied although an effect was refused later: the key is completed, and its messages are
// unsent.
func TestARefusedEffectOfAnAppliedTransactionIsNotDoneWhileItsMessagesAreUnsent(t *testing.T) {
	t.Parallel()
	inBothWays(t, &idemddb.Options{RedeliverUnsent: true}, func(f *fixture, opts *idemddb.ClaimOptions) {
		f.refuseAfterALateTry()

		e := items(counted("a"))
		e.Messages = []idemddb.Message{{To: "nobody", Body: "b"}}

		_, err := f.do(opts, staging("receipt", e))
		is(f, err, idemddb.ErrUnsent)
		happened(f, f.db, "a", 1)
	})
}

func TestUnsentMessagesAreOneEventOfAClaim(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{RedeliverUnsent: true, Codec: &vault{keys: []string{"a"}}}, func(f *fixture) {
		message := idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: "b"}}}
		is(f, claim(f, f.store, "k").CompleteWith(f.Context(), []byte("not opened"), message), idemddb.ErrUnsent)

		before := f.events.count(idemddb.KindUnsent)
		_, record, err := f.store.Claim(f.Context(), "k", nil)
		is(f, err, idemddb.ErrUnsent)

		if n := f.events.count(idemddb.KindUnsent) - before; n != 1 || record != nil {
			f.Errorf("%d events KindUnsent and record %v, want one and none", n, record)
		}

		if f.events.count(idemddb.KindUnanswered) != 0 || f.events.count(idemddb.KindReplayed) != 1 {
			f.Errorf("events %q: the claim was answered: the key is completed", f.events.kinds())
		}
	})
}

// The completion that the work wrote by itself was applied, though its answer was lost. It is not that of another worker: the
// value is that of the work. Its result need not be read, and cannot be in one of the cases.
func TestDoneWorkNeedsNoResultOfItsOwnRecord(t *testing.T) {
	t.Parallel()

	for name, result := range map[string][]byte{"in the record": []byte(`"early"`), "not readable": large("a")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Results: &shelf{OnGet: func() error { return errClosed }}}, func(f *fixture) {
				value, err := f.do(nil, func(ctx context.Context) (string, error) {
					c, _ := idemddb.FromContext(ctx)
					f.db.Intercept(always(idemddbtest.LostReply))
					is(f, c.Complete(ctx, result), idemddb.ErrUnrecorded)
					f.db.Intercept(nil)
					is(f, c.Complete(ctx, []byte(`"another"`)), idemddb.ErrFenced) // by its own record

					return "receipt", nil
				})
				must(f, err)

				if value != "receipt" {
					f.Errorf("got %q", value)
				}
			})
		})
	}
}

// A wrapper writes the error into its log.
func TestTheErrorOfAKeyThatItsHandlerEndedCountsItsAttempts(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, nil)
	must(t, claim(t, s, "k").Release(t.Context(), errors.New("bank closed")))

	work := beginWork(t, s, "k", nil)
	must(t, work.Claim().Fail(t.Context(), errors.New("account closed")))

	e := work.Settle(t.Context(), nil, nil)
	if failed, ok := errors.AsType[*idemddb.FailedError](e.Err); !ok || failed.Attempts != 2 {
		t.Errorf("got %v, want the error of a key that failed with its second attempt", e.Err)
	}
}

// What stands in the record says whether the work is done whose completion was refused.
func TestWhatARefusedCompletionSaysOfItsWork(t *testing.T) {
	t.Parallel()

	complete := func(e idemddb.Effects) func(*fixture, *idemddb.Store) {
		return func(f *fixture, other *idemddb.Store) {
			must(f, claim(f, other, "k").CompleteWith(f.Context(), nil, e))
		}
	}

	for name, c := range map[string]struct {
		redelivers     bool
		happens        func(f *fixture, other *idemddb.Store)
		isUnsent, done bool
	}{
		"completed":                             {true, complete(idemddb.Effects{}), false, true},
		"completed, with a message":             {true, complete(oneMessage), true, false},
		"completed, with a message, by a sweep": {false, complete(oneMessage), false, true},
		"gone":                                  {true, func(f *fixture, _ *idemddb.Store) { erase(f, f.db, "k") }, false, true},
		"unreadable": {true, func(f *fixture, _ *idemddb.Store) {
			f.edit("k", map[string]types.AttributeValue{"own": text("other"), "v": number(2)})
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{RedeliverUnsent: c.redelivers}, func(f *fixture) {
				mine := claim(f, f.store, "k")
				c.happens(f, ahead(f, f.db))

				err := mine.Complete(f.Context(), nil)
				is(f, err, idemddb.ErrFenced)

				if isUnsent := errors.Is(err, idemddb.ErrUnsent); isUnsent != c.isUnsent || mine.IsDone(err) != c.done {
					f.Errorf("unsent %t, done %t, want %t, %t", isUnsent, mine.IsDone(err), c.isUnsent, c.done)
				}
			})
		})
	}
}

// A wrapper that ends without an answer says whether the work may have had an effect.
func TestWorkHasPerhapsHadAnEffectUnlessItIsStaged(t *testing.T) {
	t.Parallel()

	never := permanentError{errClosed}

	for name, c := range map[string]struct {
		opts   *idemddb.ClaimOptions
		stages []idemddb.Effects
		err    error
		want   bool
	}{
		"it succeeds":                          {nil, nil, nil, true},
		"it succeeds and stages nothing":       {nil, []idemddb.Effects{{}}, nil, true},
		"it succeeds and stages an item":       {nil, []idemddb.Effects{items(counted("a"))}, nil, false},
		"it succeeds, and its item is refused": {nil, []idemddb.Effects{tooBig()}, nil, false},
		"it fails":                             {nil, nil, errClosed, false},
		"it fails for good":                    {nil, nil, never, true},
		"it has staged and fails for good":     {nil, []idemddb.Effects{items(counted("a"))}, never, true},
		"it has no claim and fails for good":   {optimistic, nil, never, false},
	} {
		s, _ := newStore(t, nil)
		work := beginWork(t, s, "k", c.opts)
		ctx := work.Context(t.Context())

		for _, e := range c.stages {
			_ = idemddb.Stage(ctx, e)
		}

		if got := work.HasEffect(c.err); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestTheContextOfWorkEndsWithIt(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, nil)
	work := beginWork(t, s, "settled", nil)
	settled := work.Context(t.Context())
	must(t, work.Settle(t.Context(), nil, nil).Err)

	stopped, stop := claim(t, s, "stopped").Keep(t.Context())
	stop()

	if settled.Err() == nil || stopped.Err() == nil {
		t.Errorf("settled: %v, stopped: %v, want both to have ended", settled.Err(), stopped.Err())
	}
}

// The code may run on for long after the context of its call.
func TestTheClaimOfAbandonedWorkIsKeptAfterItsContext(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		work := beginWork(f, f.store, "k", nil)
		work.Context(f.Context()) // from here on its lease is renewed

		ctx := within(f, time.Second)
		stop, err := work.Abandon(ctx)
		must(f, err)

		<-time.After(2 * time.Minute)

		if !work.Claim().Held() {
			f.Error("the claim is not kept")
		}

		stop()
		<-time.After(2 * time.Minute)

		if work.Claim().Held() {
			f.Error("the claim is kept for nothing")
		}
	})
}

// The invocation ends soon, and its code may run on in the next one: the extension itself, not only a renewal after it, goes
// beyond the deadline.
func TestTheLeaseOfAbandonedWorkGoesBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		ctx := within(f, time.Second)
		work, _ := f.store.Begin(ctx, "k", nil)

		stop, err := work.Abandon(ctx)
		must(f, err)

		defer stop()

		if left := time.Until(f.lease("k")); left != 30*time.Second {
			f.Errorf("the lease lasts %v, want 30s", left)
		}
	})
}

func TestAbandonSaysThatTheLeaseIsPerhapsNotExtended(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		work := beginWork(f, f.store, "k", nil)
		f.db.Intercept(always(idemddbtest.LostRequest))

		stop, err := work.Abandon(f.Context())
		if stop(); err == nil {
			f.Error("no error")
		}
	})
}
