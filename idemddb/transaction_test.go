package idemddb_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// begin lets another transaction hold items.
func begin(t testing.TB, db *idemddbtest.DB, effects ...types.TransactWriteItem) *idemddbtest.Transaction {
	t.Helper()

	tx, err := db.Begin(&dynamodb.TransactWriteItemsInput{TransactItems: effects})
	if err != nil {
		t.Fatal(err)
	}

	return tx
}

// The first try has no answer: DynamoDB has it in flight. It is committed item by item, and each of the tries meanwhile sees
// another half of it.
func TestATransactionThatMeetsItsOwnEarlierTryIsCommittedOnce(t *testing.T) {
	t.Parallel()

	for _, forgets := range []bool{false, true} {
		for order, inOrder := range map[string][]int{"record first": {0, 1, 2}, "record last": {2, 1, 0}, "record between": {1, 0, 2}} {
			for verb, complete := range map[string]func(f *fixture) error{
				"Commit": func(f *fixture) error {
					rec, err := f.store.Commit(f.Context(), "k", nil, []byte("r"), items(onlyOnce("a"), onlyOnce("b")))
					if rec != nil {
						f.Error("the own commit is taken for another's")
					}

					return err
				},
				"CompleteWith": func(f *fixture) error {
					return claim(f, f.store, "k").CompleteWith(f.Context(), []byte("r"), items(onlyOnce("a"), onlyOnce("b")))
				},
			} {
				t.Run(fmt.Sprintf("%s, %s, token forgotten %t", verb, order, forgets), func(t *testing.T) {
					t.Parallel()
					bubbleAround(t, nil, forgetting(forgets), func(f *fixture) {
						seen := 0
						f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
							if r.Operation != "TransactWriteItems" {
								return idemddbtest.None
							}

							if seen++; seen == 1 {
								return idemddbtest.LateCommit
							}

							if seen >= 3 && seen < 6 && len(f.db.InFlight()) > 0 {
								f.db.InFlight()[0].CommitItem(inOrder[seen-3])
							}

							return idemddbtest.None
						})

						must(f, complete(f))
						f.db.Deliver() // DynamoDB commits in the end what it has begun to commit
						happened(f, f.db, "a", 1)
						happened(f, f.db, "b", 1)
						replay(f.T, f.store, "k")
					})
				})
			}
		}
	}
}

// forgetting has DynamoDB forget each token at once, or none.
func forgetting(forgets bool) around.Func {
	return func(ctx context.Context, in any, send around.Send) (any, error) {
		if sent, is := in.(*dynamodb.TransactWriteItemsInput); is && forgets {
			without := *sent
			without.ClientRequestToken = nil
			in = &without
		}

		return send(ctx, in)
	}
}

// The renewal is under way and not answered when the claim is completed with effects: it must neither conflict nor delay them,
// but for the time that the client takes to end the request.
func TestARenewalUnderWayNeitherDelaysNorMeetsTheTransaction(t *testing.T) {
	t.Parallel()

	for _, ending := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run(ending.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				c := claim(f, f.store, "k")
				work, stop := c.Keep(f.Context())

				defer stop()

				var renewals atomic.Int64

				f.db.Intercept(func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
					switch {
					case r.Operation == "UpdateItem":
						renewals.Add(1)
						<-ctx.Done()
						time.Sleep(ending) //nolint:forbidigo // this moves the bubble's clock
						renewals.Add(-1)
					case renewals.Load() > 0:
						f.Error("a renewal is under way")
					}

					return idemddbtest.None
				})
				time.Sleep(15*time.Second + time.Millisecond) //nolint:forbidigo // this moves the bubble's clock by half of the lease

				if renewals.Load() != 1 {
					f.Error("no renewal")
				}

				f.takes(ending, func() { must(f, c.CompleteWith(work, nil, items(counted("a")))) })
				happened(f, f.db, "a", 1)

				if f.events.count(idemddb.KindConflict) > 0 || work.Err() != nil {
					f.Error("conflict, or the work is cancelled")
				}
			})
		})
	}
}

func TestTheLeaseIsExtendedBetweenTheTriesOfALongTransaction(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 2 * time.Second}, func(f *fixture) {
		c := claim(f, f.store, "k")
		held := begin(f, f.db, counted("hot"))
		time.AfterFunc(5*time.Second, held.Commit)

		ctx := idemddb.WithInvocation(f.Context(), time.Now().Add(time.Minute), time.Now().Add(time.Minute))
		must(f, c.CompleteWith(ctx, nil, items(counted("hot"))))

		extends := 0
		for _, r := range f.db.Requests() {
			if r.Operation == "UpdateItem" && strings.HasPrefix(r.Update, "SET lease") {
				extends++
			}
		}

		if extends < 2 || extends > 4 {
			f.Errorf("%d extensions", extends)
		}
	})
}

// An extension in line that is not answered takes its part of the time, and the transaction is sent all the same.
func TestAnExtensionInLineDoesNotKeepTheTransactionFromBeingSent(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(f *fixture) {
		c := claim(f, f.store, "k")
		time.Sleep(9 * time.Second) //nolint:forbidigo // this moves the bubble's clock

		once := forTransactions(idemddbtest.LostRequest, idemddbtest.None)
		f.db.Intercept(func(ctx context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if r.Operation == "UpdateItem" {
				return idemddbtest.LateReply
			}

			return once(ctx, r)
		})
		must(f, c.CompleteWith(f.Context(), nil, items(counted("a"))))
		happened(f, f.db, "a", 1)
	})
}

// A proxy may answer 200 without content any number of times. Three in a row counted as a commit once: nothing was written, and
// nobody knew.
func TestAnswersOfTransactionsThatProveNothing(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied, idemddbtest.TruncatedBody, idemddbtest.LateReply, idemddbtest.LateRequest,
		idemddbtest.LateCommit, idemddbtest.CanceledWithoutReasons, idemddbtest.TransactionInProgress, idemddbtest.ThrottleReason,
		idemddbtest.TransactionConflict, idemddbtest.ServerErrorApplied, idemddbtest.ReplicatedWriteConflict,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				n, times := 0, 2
				if fault == idemddbtest.EmptyAnswer {
					times = 50
				}

				f.db.Intercept(func(_ context.Context, _ idemddbtest.Request) idemddbtest.Fault {
					if len(f.db.InFlight()) > 0 && n > 3 {
						f.db.Deliver()
					}

					if n++; n <= times {
						return fault
					}

					return idemddbtest.None
				})
				rec, err := f.store.Commit(f.Context(), "k", nil, []byte("r"), items(onlyOnce("a"), counted("b")))
				must(f, err)

				if rec != nil {
					f.Error("a record")
				}

				happened(f, f.db, "b", 1)
				f.db.Deliver()
				happened(f, f.db, "b", 1)
				f.db.ForgetTokens()
			})
		})
	}
}

// A backend that never sends the consumed capacity commits nevertheless: the second try is refused by the record of the first,
// which is the proof. Without a record there is none.
func TestABackendThatNeverSendsTheConsumedCapacity(t *testing.T) {
	t.Parallel()
	bubbleAround(t, nil, around.After(func(out *dynamodb.TransactWriteItemsOutput) { out.ConsumedCapacity = nil }), func(f *fixture) {
		for i := range 5 {
			rec, err := f.store.Commit(f.Context(), fmt.Sprint(i), nil, nil, items(counted("a")))
			if rec != nil || err != nil {
				f.Fatal(rec, err)
			}
		}

		happened(f, f.db, "a", 5)

		if n := len(f.db.Requests()); n != 10 {
			f.Errorf("%d requests, want 2 for each key", n)
		}
	})
}

// A commit that was not made has one event, which says why. An alarm on unanswered claims must not go off for a refused
// condition.
func TestEventsOfEffects(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		run  func(f *fixture)
		want []idemddb.Kind
	}{
		"committed": {func(f *fixture) {
			_, _ = f.store.Commit(f.Context(), "k", nil, nil, items(counted("a")))
		}, []idemddb.Kind{idemddb.KindCompleted}},
		"replayed": {func(f *fixture) {
			_, _ = f.store.Commit(f.Context(), "k", nil, nil, items(counted("a")))
			_, _ = f.store.Commit(f.Context(), "k", nil, nil, items(counted("a")))
		}, []idemddb.Kind{idemddb.KindCompleted, idemddb.KindReplayed}},
		"refused": {func(f *fixture) {
			_, _ = f.store.Commit(f.Context(), "k", nil, nil, items(onlyOnce("a")))
			_, _ = f.store.Commit(f.Context(), "l", nil, nil, items(onlyOnce("a")))
			_ = claim(f, f.store, "m").CompleteWith(f.Context(), nil, items(onlyOnce("a")))
		}, []idemddb.Kind{idemddb.KindCompleted, idemddb.KindEffectRefused, idemddb.KindClaimed, idemddb.KindEffectRefused}},
		"uncommitted": {func(f *fixture) {
			c := claim(f, f.store, "l")
			f.db.Intercept(always(idemddbtest.LostRequest))
			_, err := f.store.Commit(f.Context(), "k", nil, nil, items(onlyOnce("a")))
			is(f, err, idemddb.ErrUncommitted)
			is(f, c.CompleteWith(f.Context(), nil, items(onlyOnce("a"))), idemddb.ErrUncommitted)
		}, []idemddb.Kind{idemddb.KindClaimed, idemddb.KindUncommitted, idemddb.KindUncommitted}},
		"rejected for good": {func(f *fixture) {
			is(f, reject(f, permanentError{errClosed}), permanentError{errClosed})
		}, []idemddb.Kind{idemddb.KindFailed}},
		"rejected, and may be run again": {func(f *fixture) {
			is(f, reject(f, errClosed), errClosed)
		}, []idemddb.Kind{idemddb.KindReleased}},
		"rejected without an answer": {func(f *fixture) {
			f.db.Intercept(always(idemddbtest.LostRequest))
			is(f, reject(f, errClosed), errClosed)
		}, nil},
		"rejected for a refused effect": {func(f *fixture) {
			_, _ = f.store.Commit(f.Context(), "other", nil, nil, items(counted("b")))
			_, err := f.do(optimistic, staging("", items(onlyOnce("b"))))
			is(f, err, idemddb.ErrEffectRefused)
		}, []idemddb.Kind{idemddb.KindCompleted, idemddb.KindEffectRefused, idemddb.KindReleased}},
		"DynamoDB does not answer": {func(f *fixture) {
			f.db.Intercept(always(idemddbtest.LostReply))
			_, _ = f.store.Commit(f.Context(), "k", nil, nil, items(onlyOnce("a")))
		}, []idemddb.Kind{idemddb.KindUncommitted}},
		"DynamoDB throttles it": {func(f *fixture) {
			f.db.Intercept(always(idemddbtest.Throttle))
			_, _ = f.store.Commit(f.Context(), "k", nil, nil, items(onlyOnce("a")))
		}, []idemddb.Kind{idemddb.KindUncommitted}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				c.run(f)
				f.events.want(f, c.want...)

				for _, e := range f.events.all(idemddb.KindCompleted) {
					if e.Attempt != 1 {
						f.Errorf("attempt %d of work that was never claimed, want 1", e.Attempt)
					}
				}
			})
		})
	}
}

func TestACompletionWithEffectsIsCachedUnlessMessagesAreUnsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, &idemddb.Options{Cache: 10})
		must(t, claim(t, s, "plain").CompleteWith(t.Context(), []byte("r"), items(counted("a"))))
		must(t, claim(t, s, "unsent").CompleteWith(t.Context(), []byte("r"), oneMessage))

		_, err := s.Commit(t.Context(), "committed", nil, []byte("r"), items(counted("a")))
		must(t, err)

		for key, want := range map[string]int{"plain": 0, "unsent": 2, "committed": 1} {
			db.ResetRequests()
			replay(t, s, key)
			replay(t, s, key)

			if n := len(db.Requests()); n != want {
				t.Errorf("%s: %d requests for two replays, want %d", key, n, want)
			}
		}
	})
}

// A wrapper learns that a transaction is tried again, as it does of any other settlement, so that it begins no work meanwhile.
func TestARetryOfATransactionIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		f.db.Intercept(forTransactions(idemddbtest.ServerError, idemddbtest.None))

		told := 0
		must(f, c.CompleteWith(idemddb.OnRetry(f.Context(), func() { told++ }), nil, items(counted("a"))))

		if told != 1 {
			f.Errorf("told %d times of one retry", told)
		}
	})
}
