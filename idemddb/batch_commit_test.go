package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// commitAnswer is what a commit returned.
type commitAnswer struct {
	record *idemddb.Record
	err    error
}

func (f *fixture) commitAll(n int, effects func(i int) idemddb.Effects) []commitAnswer {
	f.Helper()

	return f.commitAllWith([]byte("r"), n, effects)
}

// commitAllWith lets commits of the keys 0 to n-1 wait in the fixture's batch, sends them, and returns their answers.
func (f *fixture) commitAllWith(result []byte, n int, effects func(i int) idemddb.Effects) []commitAnswer {
	f.Helper()

	waits := make([]func() (*idemddb.Record, error), n)
	for i := range waits {
		waits[i] = f.batch.Commit(f.Context(), fmt.Sprint(i), nil, result, effects(i))
	}

	f.batch.FlushCommits()

	answers := make([]commitAnswer, n)
	for i, wait := range waits {
		answers[i].record, answers[i].err = wait()
	}

	return answers
}

// allCommitted demands that each commit was accepted, and that its effect has happened once.
func (f *fixture) allCommitted(answers []commitAnswer) {
	f.Helper()

	for i, a := range answers {
		f.committedOne(i, a)
	}
}

func (f *fixture) committedOne(i int, a commitAnswer) {
	f.Helper()

	if a.record != nil || a.err != nil {
		f.Errorf("key %d: got record %v, error %v", i, a.record, a.err)
	}

	happened(f, f.db, fmt.Sprint(i), 1)

	if textOf(recordOf(f.db, fmt.Sprint(i)), "st") != "COMPLETED" {
		f.Errorf("key %d is not completed", i)
	}
}

func each(i int) idemddb.Effects { return items(onlyOnce(fmt.Sprint(i))) }

// sizes are the numbers of items of the transactions that were sent.
func (f *fixture) sizes() (sizes []int) {
	for _, r := range f.db.Requests() {
		if r.Operation == "TransactWriteItems" {
			sizes = append(sizes, len(r.Items))
		}
	}

	f.db.ResetRequests()

	return sizes
}

func (f *fixture) wantSizes(want ...int) {
	f.Helper()

	got := f.sizes()
	slices.Sort(got)
	slices.Sort(want)

	if !slices.Equal(got, want) {
		f.Errorf("transactions of %v items, want %v", got, want)
	}
}

func TestCommitsOfABatchShareATransaction(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		n       int
		effects func(i int) idemddb.Effects
		want    []int
		result  []byte
	}{
		"ten":           {10, each, []int{20}, nil},
		"one":           {1, each, []int{2}, nil},
		"more than 25":  {30, each, []int{50, 10}, nil},
		"large results": {5, each, []int{4, 4, 2}, make([]byte, 30<<10)},
		"more than 100 items": {12, func(i int) idemddb.Effects {
			e := each(i)
			for j := range 8 {
				e.Items = append(e.Items, counted(fmt.Sprint(i, "and", j)))
			}

			return e
		}, []int{100, 20}, nil},
		"the most items": {2, func(i int) idemddb.Effects {
			e := each(i)
			for j := range 98 {
				e.Items = append(e.Items, counted(fmt.Sprint(i, "and", j)))
			}

			return e
		}, []int{100, 100}, nil},
		"no effects": {3, func(i int) idemddb.Effects {
			if i == 1 {
				return idemddb.Effects{}
			}

			return each(i)
		}, []int{5}, nil},
		"the same item in two": {4, func(i int) idemddb.Effects {
			e := each(i)
			if i < 2 {
				e.Items = append(e.Items, counted("balance"))
			}

			return e
		}, []int{7, 3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				answers := f.commitAllWith(c.result, c.n, c.effects)
				f.wantSizes(c.want...)

				for i, a := range answers {
					if name == "no effects" && i == 1 {
						continue
					}

					f.committedOne(i, a)
				}
			})
		})
	}
}

// The messages of completions that are written together are sent together, and a claim that is completed with effects is not
// waited for.
func TestClaimsOfABatchThatAreCompletedWithMessagesShareACallOfTheSender(t *testing.T) {
	t.Parallel()

	calls := 0

	bubble(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": sendFunc(func(ms []idemddb.Message) []error {
		calls++

		return accepted(ms)
	})}}, func(f *fixture) {
		claims := f.claims(3)
		f.succeed(claims[:2], func(c *idemddb.Claim) error { return c.CompleteWith(f.Context(), nil, oneMessage) })
		f.takes(0, func() { f.complete(claims[2]) })

		if calls != 1 {
			f.Errorf("%d calls of the sender, want one", calls)
		}
	})
}

// Ten records that are committed together are also freed of their messages together.
func TestCommitsOfABatchShareTheRemovalOfTheirMessages(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": sendFunc(accepted)}}, func(f *fixture) {
		var commits sync.WaitGroup

		for _, key := range numbered(10) {
			wait := f.batch.Commit(f.Context(), key, nil, nil, oneMessage)

			commits.Go(func() {
				if rec, err := wait(); rec != nil || err != nil {
					f.Errorf("got %v, %v", rec, err)
				}
			})
		}

		f.batch.FlushCommits()
		commits.Wait()
		f.want("TransactWriteItems", "UPDATE×10")

		for _, it := range f.db.Items("records") {
			if it["outbox"] != nil {
				f.Errorf("a record has its message still:%s", show(it))
			}
		}

		f.isIdle()
	})
}

func TestOneKeyIsNotTwiceInATransaction(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		first := f.batch.Commit(f.Context(), "k", nil, nil, items(counted("a")))
		second := f.batch.Commit(f.Context(), "k", nil, nil, items(counted("b")))

		f.batch.FlushCommits()

		rec1, err1 := first()
		rec2, err2 := second()
		must(f, err1, err2)

		if (rec1 == nil) == (rec2 == nil) {
			f.Errorf("got records %v and %v", rec1, rec2)
		}
	})
}

func TestACommitWaitsForOthersNoLongerThan100ms(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.takes(100*time.Millisecond, func() {
			first := f.batch.Commit(f.Context(), "0", nil, nil, each(0))

			time.Sleep(50 * time.Millisecond) //nolint:forbidigo // this moves the bubble's clock

			second := f.batch.Commit(f.Context(), "1", nil, nil, each(1))
			rec, err := first()
			f.committedOne(0, commitAnswer{rec, err})
			rec, err = second()
			f.committedOne(1, commitAnswer{rec, err})
		})
		f.wantSizes(4)

		f.takes(0, func() {
			f.allCommitted(f.commitAll(25, func(i int) idemddb.Effects { return items(counted(fmt.Sprint("x", i))) })[:0])
		})
	})
}

func TestARedeliveredCommitDoesNotWait(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.takes(0, func() {
			rec, err := f.batch.Commit(f.Context(), "0", &idemddb.ClaimOptions{Redelivered: true}, nil, each(0))()
			f.committedOne(0, commitAnswer{rec, err})
		})
	})
}

// Those that are refused have their answers, and the rest is sent once more together.
func TestOneRefusedCommitDoesNotHarmTheOthers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		refused := errors.New("balance too low")

		must(f, claim(f, f.store, "3").Complete(f.Context(), []byte("theirs")))
		claim(f, f.store, "4")
		must(f, claim(f, f.store, "5").Fail(f.Context(), nil), claim(f, f.store, "other").CompleteWith(f.Context(), nil, items(counted("6"))))
		f.sizes()

		answers := f.commitAll(10, func(i int) idemddb.Effects {
			e := each(i)
			e.Refused = func(*idemddb.EffectError) error { return refused }

			return e
		})
		f.wantSizes(20, 12)

		for i, a := range answers {
			switch i {
			case 3:
				must(f, a.err)

				if a.record == nil || string(a.record.Result) != "theirs" {
					f.Errorf("got record %v", a.record)
				}
			case 4:
				is(f, a.err, idemddb.ErrInProgress)
			case 5:
				is(f, a.err, idemddb.ErrFailed)
			case 6:
				effect, ok := errors.AsType[*idemddb.EffectError](a.err)
				if !ok || effect.Index != 0 || effect.Unknown || !errors.Is(effect.Meaning(), refused) {
					f.Errorf("got %v", a.err)
				}
			default:
				f.committedOne(i, a)
			}
		}
	})
}

func TestExpiredRecordsAreReplacedBehindTheirGroup(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Retention: time.Hour}, func(f *fixture) {
		must(f, claim(f, f.store, "1").Complete(f.Context(), []byte("old")))
		time.Sleep(2 * time.Hour) //nolint:forbidigo // this moves the bubble's clock
		f.sizes()
		f.allCommitted(f.commitAll(3, each))
		f.wantSizes(6, 2, 4)
	})
}

// The commit whose effect another transaction holds waits. The others of its transaction leave at once, together.
func TestACommitThatMeetsAConflictDelaysNoOther(t *testing.T) {
	t.Parallel()

	for name, conflicts := range map[string]int{"one conflict": 1, "conflicts": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				left := conflicts
				f.db.InterceptParts(func(_ context.Context, part idemddbtest.Request) idemddbtest.Fault {
					if textOf(part.Key, "pk") != "effect 1" || left == 0 {
						return idemddbtest.None
					}

					left--

					return idemddbtest.TransactionConflict
				})

				f.allCommitted(f.commitAll(3, each))
				f.wantSizes(append(slices.Repeat([]int{2}, conflicts), 6, 4)...)

				if n := f.events.count(idemddb.KindConflict); n != conflicts {
					f.Errorf("%d events %s, want %d", n, idemddb.KindConflict, conflicts)
				}
			})
		})
	}
}

func TestARefusalBesideAConflictIsNotAnAnswerForTheOthers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		must(f, claim(f, f.store, "0").Complete(f.Context(), []byte("theirs")))
		f.sizes()

		n := 0
		f.db.InterceptParts(func(_ context.Context, part idemddbtest.Request) idemddbtest.Fault {
			if textOf(part.Key, "pk") == "effect 1" {
				if n++; n == 1 {
					return idemddbtest.TransactionConflict
				}
			}

			return idemddbtest.None
		})

		answers := f.commitAll(3, each)
		if answers[0].record == nil {
			f.Errorf("got %v", answers[0])
		}

		f.committedOne(1, answers[1])
		f.committedOne(2, answers[2])
		f.wantSizes(6, 2, 2)
	})
}

func TestWhatIsNotValidTogetherIsSentAloneAtOnce(t *testing.T) {
	t.Parallel()

	broken := counted("1")
	broken.Update.UpdateExpression = new("ADD n")
	large := strings.Repeat("x", 300<<10)

	for name, c := range map[string]struct {
		effects func(i int) idemddb.Effects
		n       int
		breaks  bool
		want    int // transactions
	}{
		"one item not valid": {func(i int) idemddb.Effects {
			if i == 1 {
				return items(broken)
			}

			return each(i)
		}, 3, true, 4},
		"more than 4 MB": {func(i int) idemddb.Effects {
			return items(onlyOnce(fmt.Sprint(i)), putOf(fmt.Sprint("large", i), large))
		}, 20, false, 2}, // what fits together
		"one item twice, as two Puts into a table whose key is not known": {func(i int) idemddb.Effects {
			put := putOf("same", fmt.Sprint(i))
			put.Put.TableName = new("ledger")

			return items(onlyOnce(fmt.Sprint(i)), put)
		}, 3, false, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				schema := idemddbtest.CreateTable("ledger", "")
				if _, err := f.db.CreateTable(f.Context(), schema); err != nil {
					f.Fatal(err)
				}

				f.db.ResetRequests()

				f.takes(0, func() {
					for i, a := range f.commitAll(c.n, c.effects) {
						if c.breaks && i == 1 {
							effect, ok := errors.AsType[*idemddb.EffectError](a.err)
							if !ok || effect.Index != -1 || effect.Code != "ValidationException" || !strings.Contains(a.err.Error(), "(MRSC)") {
								f.Errorf("got %v", a.err)
							}

							if _, isWrapped := errors.AsType[smithy.APIError](a.err); !isWrapped {
								f.Errorf("%v does not wrap the answer of DynamoDB", a.err)
							}

							continue
						}

						f.committedOne(i, a)
					}
				})

				if n := len(f.sizes()); n != c.want {
					f.Errorf("%d transactions, want %d", n, c.want)
				}
			})
		})
	}
}

func TestDeniedTogetherIsTriedAlone(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if slices.ContainsFunc(r.Items, func(part idemddbtest.Request) bool { return textOf(part.Key, "pk") == "effect 1" }) {
				return idemddbtest.AccessDenied
			}

			return idemddbtest.None
		})

		answers := f.commitAll(3, each)
		f.committedOne(0, answers[0])
		f.committedOne(2, answers[2])
		is(f, answers[1].err, idemddb.ErrEffectRefused)

		if together := len(slices.DeleteFunc(f.sizes(), func(size int) bool { return size != 6 })); together != 1 {
			f.Errorf("%d transactions of all three", together)
		}
	})
}

// All of a group is committed by a try whose answer was lost; with or without its token each finds its own record.
func TestAGroupWithoutAnAnswerIsCommittedOnce(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostReply, idemddbtest.LostRequest, idemddbtest.EmptyAnswerApplied, idemddbtest.EmptyAnswer,
		idemddbtest.CanceledWithoutReasons, idemddbtest.ThrottleReason, idemddbtest.Throttle, idemddbtest.TransactionInProgress,
	} {
		for _, forgets := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, token forgotten %t", fault, forgets), func(t *testing.T) {
				t.Parallel()
				bubbleAround(t, nil, forgetting(forgets), func(f *fixture) {
					f.db.Inject(fault)
					f.allCommitted(f.commitAll(5, each))

					if fault == idemddbtest.ThrottleReason { // of one item
						f.wantSizes(10, 8, 2)
					} else {
						f.wantSizes(10, 10)
					}
				})
			})
		}
	}
}

// The first try of the group is late; meanwhile one effect is refused, and its run is rejected. Then the late request arrives:
// either all of it is applied or nothing, and no effect happens twice.
func TestALateTwinOfAGroupAfterARejectedRun(t *testing.T) {
	t.Parallel()

	for _, final := range []bool{false, true} {
		bubbleAround(t, nil, forgetting(true), func(f *fixture) {
			begin(f, f.db, counted("1")).Commit() // the condition of 1 is false for now
			f.db.Inject(idemddbtest.LateRequest)

			answers := f.commitAll(3, each)
			effect, ok := errors.AsType[*idemddb.EffectError](answers[1].err)

			if !ok || !effect.Unknown {
				f.Fatalf("got %v", answers[1].err)
			}

			begin(f, f.db, types.TransactWriteItem{Delete: &types.Delete{TableName: new("records"), Key: counted("1").Update.Key}}).Commit()

			var cause error = effect
			if final {
				cause = permanentError{effect}
			}

			if _, err := f.store.Reject(f.Context(), "1", nil, cause); err != nil {
				f.Error(err)
			}

			f.db.Deliver()
			happened(f, f.db, "0", 1)
			happened(f, f.db, "1", 0)
			happened(f, f.db, "2", 1)
		})
	}
}

func TestEachTryOfACommitInThePlaceOfAnExpiredRecordHasThePresentTime(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Retention: time.Hour}, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), nil))
		time.Sleep(2 * time.Hour) //nolint:forbidigo // this moves the bubble's clock
		f.db.Intercept(faultUntil(5*time.Second, idemddbtest.None, idemddbtest.LostRequest))

		_, err := f.store.Commit(f.Context(), "k", nil, nil, idemddb.Effects{})
		must(f, err)

		if done := time.UnixMilli(numberOf(f, f.record("k"), "done")); time.Since(done) > time.Second {
			f.Errorf("completed at %v, now it is %v", done, time.Now())
		}
	})
}

// Deleted between the refusal and what follows from it.
func TestACommitWhoseRecordChangedBehindItsGroupBeginsAnew(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		must(f, claim(f, f.store, "1").Complete(f.Context(), nil))
		f.db.Inject(idemddbtest.ConditionWithoutItem)

		answers := f.commitAll(3, each)
		f.committedOne(0, answers[0])
		f.committedOne(2, answers[2])

		must(f, answers[1].err)

		if answers[1].record == nil {
			f.Error("no record")
		}
	})
}

func TestAPanicOfTheClientReachesEachCommit(t *testing.T) {
	t.Parallel()
	bubbleAround(t, nil, around.Before(func(*dynamodb.TransactWriteItemsInput) error { panic("client") }), func(f *fixture) {
		waits := []func() (*idemddb.Record, error){
			f.batch.Commit(f.Context(), "0", nil, nil, each(0)), f.batch.Commit(f.Context(), "1", nil, nil, each(1)),
		}
		f.batch.FlushCommits()

		for _, wait := range waits {
			if recovered(func() { _, _ = wait() }) == nil {
				f.Error("no panic")
			}
		}
	})
}

// A fake client of a test ends its goroutine when it calls Fatal.
func TestCommitsAreSentAlthoughTheClientEndedTheGoroutineOfTheirRequest(t *testing.T) {
	t.Parallel()

	var once sync.Once

	bubbleAround(t, nil, around.Before(func(*dynamodb.TransactWriteItemsInput) error {
		once.Do(runtime.Goexit)

		return nil
	}), func(f *fixture) {
		f.allCommitted(f.commitAll(4, each))
		f.wantSizes(2, 2, 2, 2) // each alone
	})
}
