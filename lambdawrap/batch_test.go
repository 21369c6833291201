package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

var errBank = errors.New("bank closed")

// modes are the ways in which a store makes its requests.
var modes = []struct {
	name string
	opts idemddb.Options
}{
	{"groups", idemddb.Options{}},
	{"single", idemddb.Options{Single: true}},
	{"claims count", idemddb.Options{MaxAttempts: 5}},
	{"single, claims count", idemddb.Options{Single: true, MaxAttempts: 5}},
}

// ways are the wrappers of the package, for the same work.
var ways = []struct {
	name string
	wrap func(*lab, lambdawrap.Handler) wrapped
}{
	{"SQS", (*lab).handle},
	{"SQS, 4 workers", func(l *lab, work lambdawrap.Handler) wrapped { l.opts.Workers = 4; return l.handle(work) }},
	{"Batch", (*lab).whole},
}

// everyMode runs a test for each mode, everyWay for each mode and wrapper.
func everyMode(t *testing.T, test func(*lab)) {
	t.Helper()

	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &mode.opts, test)
		})
	}
}

func everyWay(t *testing.T, test func(l *lab, wrap func(lambdawrap.Handler) wrapped)) {
	t.Helper()

	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) { test(l, func(work lambdawrap.Handler) wrapped { return way.wrap(l, work) }) })
		})
	}
}

// bubble runs a test with a time of its own. What is left at its end must end by itself.
func bubble(t *testing.T, opts *idemddb.Options, test func(*lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer pass(10 * time.Minute)

		test(newLab(t, opts))
	})
}

// check is expect for handlers side by side: runs are compared as a set.
func (l *lab) check(h wrapped, event events.SQSEvent, failed, runs []string) {
	l.Helper()

	l.runs.clear()

	response, err := h(l.Context(), event)
	l.equal("error", err, nil)
	l.equal("failed", ids(response), failed)
	l.ran(runs...)
}

// ran compares the messages that were run with these, in whatever order.
func (l *lab) ran(want ...string) {
	l.Helper()

	got := slices.Sorted(slices.Values(l.runs.all()))
	slices.Sort(want)

	if !slices.Equal(got, want) {
		l.Errorf("runs: %v, want %v", got, want)
	}
}

// failing is work that fails for these keys, as long as it is told to.
func failing(on *atomic.Bool, keys ...string) lambdawrap.Handler {
	return func(_ context.Context, m events.SQSMessage) error {
		if on.Load() && slices.Contains(keys, m.Body) {
			return errBank
		}

		return nil
	}
}

func always() *atomic.Bool {
	on := &atomic.Bool{}
	on.Store(true)

	return on
}

func TestWhatAllDoneAnswersToLambda(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		h := wrap(succeed)

		for range 2 {
			for _, event := range []events.SQSEvent{{}, batch("m1 k1", "m2 k2")} {
				response, err := h(l.Context(), event)
				text, _ := json.Marshal(response)
				l.equal("error", err, nil)
				l.equal("answer", string(text), `{"batchItemFailures":[]}`)
			}
		}

		l.ran("m1", "m2")
		l.equal("log", l.log.String(), "")
	})
}

func TestThoseThatFailAreReportedAndOnlyTheyRunAgain(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		closed := always()
		h := wrap(failing(closed, "k2", "k4"))
		event := batch("m1 k1", "m2 k2", "m3 k3", "m4 k4", "m5 k5")

		l.check(h, event, []string{"m2", "m4"}, []string{"m1", "m2", "m3", "m4", "m5"})
		l.equal("k1", l.state("k1"), "COMPLETED")
		l.equal("k2", l.state("k2"), "INPROGRESS released")

		closed.Store(false)
		l.check(h, deliveredFor(event, 2), nil, []string{"m2", "m4"}) // all of it, as after a time-out
		l.equal("attempts", l.attempts("k2"), "2")
		l.check(h, deliveredFor(event, 3), nil, nil)
	})
}

func TestAllFailedIsEveryIDAndNoInvocationError(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		h := wrap(failing(always(), "k0", "k1", "k2"))
		all := []string{"m0", "m1", "m2"}
		l.check(h, numbered(3), all, all)
	})
}

func TestABodyThatDoesNotParseCostsItsOwnMessage(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		l.opts.Key, _ = lambdawrap.Body("id")
		event := batch(`m1 {"id":1}`, `m2 {"id":`, `m3 {"id":3}`)
		h := wrap(succeed)
		l.check(h, event, []string{"m2"}, []string{"m1", "m3"})
		l.equal("records", len(l.db.Items("records")), 2)
		l.check(h, event, []string{"m2"}, nil)
	})
}

func TestOneKeyTwiceInABatchIsOnePieceOfWork(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		closed := always()
		h := wrap(failing(closed, "k"))
		event := batch("m1 k", "m2 other", "m3 k", "m4 k")

		l.check(h, event, []string{"m1", "m3", "m4"}, []string{"m1", "m2"})
		closed.Store(false)
		l.check(h, event, nil, []string{"m1"})
		l.equal("attempts", l.attempts("k"), "2")
	})
}

func TestAKeyInProgressElsewhereCostsItsOwnMessage(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		_, _, err := l.store.Claim(l.Context(), "k2", nil)
		l.equal("error", err, nil)

		before := l.db.Item("records", recordKey("k2"))
		h := wrap(succeed)
		l.check(h, batch("m1 k1", "m2 k2", "m3 k3", "m4 k2"), []string{"m2", "m4"}, []string{"m1", "m3"})
		l.equal("its record", cmp.Diff(before, l.db.Item("records", recordKey("k2")), ignoreUnexported), "")

		pass(time.Minute) // the other died
		l.check(h, deliveredFor(batch("m2 k2", "m4 k2"), 2), nil, []string{"m2"})
	})
}

func TestGroupsOfAFIFOQueueStopAtTheirFirstFailureAndOthersGoOn(t *testing.T) {
	t.Parallel()

	for _, way := range ways[:2] { // what a handler of whole events does after a failure is its own affair
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) {
				closed := always()
				h := way.wrap(l, failing(closed, "a1"))
				event := batch("m1 a0 a", "m2 b1 b", "m3 a1 a", "m4 b2 b", "m5 a2 a", "m6 c1 c", "m7 a3 a")

				l.check(h, event, []string{"m3", "m5", "m7"}, []string{"m1", "m2", "m3", "m4", "m6"})
				l.ordered("m1", "m3")
				l.ordered("m2", "m4")

				for _, key := range []string{"a2", "a3"} {
					l.equal(key, l.state(key), "none")
				}

				closed.Store(false)
				l.check(h, deliveredFor(batch("m3 a1 a", "m5 a2 a", "m7 a3 a"), 2), nil, []string{"m3", "m5", "m7"})
				l.ordered("m3", "m5", "m7")
			})
		})
	}
}

// ordered demands that these ran in this order, whatever ran between them.
func (l *lab) ordered(want ...string) {
	l.Helper()

	got := slices.DeleteFunc(l.runs.all(), func(id string) bool { return !slices.Contains(want, id) })
	if !slices.Equal(got, want) {
		l.Errorf("in order: %v, want %v", got, want)
	}
}

func TestAFIFOHeadStopsItsGroupUnlessItIsDone(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		l.opts.Key = func(m events.SQSMessage) (string, error) {
			if m.Body == "none" {
				return "", lambdawrap.ErrNoKey
			}

			return m.Body, nil
		}

		done, _, err := l.store.Claim(l.Context(), "a1", nil)
		l.equal("error", errors.Join(err, done.Complete(l.Context(), nil)), nil)

		_, _, err = l.store.Claim(l.Context(), "b1", nil)
		l.equal("error", err, nil)

		h := wrap(succeed)
		l.check(h, batch("m1 a1 a", "m2 a2 a", "m3 b1 b", "m4 b2 b", "m5 none c", "m6 c2 c", "m7 a3 a", "m8 b3 b"),
			[]string{"m3", "m4", "m5", "m6", "m8"}, []string{"m1", "m2", "m7"}[1:])

		for _, key := range []string{"b2", "b3", "c2"} {
			if state := l.state(key); state != "none" && (state != "INPROGRESS released" || l.attempts(key) != "0") {
				l.Errorf("%s: %s, attempts %s", key, state, l.attempts(key))
			}
		}

		pass(time.Minute)
		l.check(h, deliveredFor(batch("m3 b1 b", "m4 b2 b", "m8 b3 b"), 2), nil, []string{"m3", "m4", "m8"})
		l.ordered("m3", "m4", "m8")
	})
}

func TestAFIFOHeadThatTheHookTakesDoesNotStopItsGroup(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		var dead []string

		gone := false
		l.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			dead = append(dead, m.MessageId)

			if gone {
				return errors.New("queue gone")
			}

			return nil
		}
		h := l.handle(func(_ context.Context, m events.SQSMessage) error {
			if strings.HasPrefix(m.Body, "bad") {
				return lambdawrap.Permanent(errBank)
			}

			return nil
		})
		l.expect(h, batch("m1 bad1 a", "m2 a2 a", "m3 bad1 a"), nil, []string{"m1", "m2"})
		l.equal("dead letters", dead, []string{"m1", "m3"})

		gone = true
		l.expect(h, batch("m1 bad1 a", "m4 a4 a"), []string{"m1", "m4"}, nil)
	})
}

func TestAStandardQueueWithMessageGroupsIsStandard(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		event := batch("m1 k1", "m2 k2", "m3 k3")
		for i := range event.Records {
			event.Records[i].Attributes = map[string]string{"MessageGroupId": "tenant"}
		}

		l.check(wrap(failing(always(), "k1")), event, []string{"m1"}, []string{"m1", "m2", "m3"})
	})
}

func TestNeverMoreHandlersThanWorkers(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3, 50} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) {
				l.opts.Workers = workers

				var running, most atomic.Int64

				h := l.handle(func(context.Context, events.SQSMessage) error {
					raise(&most, running.Add(1))
					defer running.Add(-1)

					pass(time.Second)

					return nil
				})

				begun := time.Now()
				response, err := h(l.Context(), numbered(100))
				l.equal("error", err, nil)
				l.equal("failed", ids(response), []string(nil))
				l.equal("at once", most.Load(), int64(workers))
				l.equal("runs", len(l.runs.all()), 100)

				// No worker waits for a claim, for longer than a group waits for company.
				if took, want := time.Since(begun), time.Duration((99+workers)/workers)*time.Second; took < want || took > want+time.Millisecond {
					l.Errorf("took %v, want %v", took, want)
				}
			})
		})
	}
}

// raise sets a number to a higher one.
func raise(n *atomic.Int64, to int64) {
	for {
		now := n.Load()
		if to <= now || n.CompareAndSwap(now, to) {
			return
		}
	}
}

func TestHandlersAndHooksTogetherAreNeverMoreThanWorkers(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) {
				l.opts.Workers = workers

				var running, most, hooks atomic.Int64

				call := func() {
					raise(&most, running.Add(1))
					defer running.Add(-1)

					pass(time.Second)
				}
				l.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
					hooks.Add(1)
					call()

					return nil
				}
				h := l.handle(func(_ context.Context, m events.SQSMessage) error {
					call()

					if m.Body[len(m.Body)-1]%2 == 0 {
						return lambdawrap.Permanent(errBank)
					}

					return nil
				})

				for range 2 { // the second time, the hook takes what failed for good before
					response, err := h(l.Context(), numbered(60))
					l.equal("error", err, nil)
					l.equal("failed", ids(response), []string(nil))
				}

				l.equal("hooks", hooks.Load(), int64(60))
				l.equal("runs", len(l.runs.all()), 60)
				l.equal("at once", most.Load(), int64(workers))
			})
		})
	}
}

// requests counts, and the write units of the log; then it empties the log.
func (l *lab) costs() (requests, units int) {
	for _, r := range l.db.Requests() {
		units += r.WriteUnits
	}

	requests = len(l.db.Requests())
	l.db.ResetRequests()

	return requests, units
}

func TestWhatABatchCosts(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name                     string
		opts                     idemddb.Options
		messages                 int
		requests, units          int // unique
		again, againUnits        int // as a first delivery
		redelivery, redelivUnits int
	}{
		{"10 in groups", idemddb.Options{}, 10, 2, 20, 2, 20, 1, 10},
		{"25 in groups", idemddb.Options{}, 25, 2, 50, 2, 50, 1, 25},
		{"10 in single requests", idemddb.Options{Single: true}, 10, 20, 20, 10, 10, 10, 10},
		{"1", idemddb.Options{}, 1, 2, 2, 1, 1, 1, 1},
		{"from the cache", idemddb.Options{Cache: 100}, 10, 2, 20, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &c.opts, func(l *lab) {
				h := l.handle(succeed)

				for _, step := range []struct {
					name            string
					delivery        int
					requests, units int
				}{
					{"unique", 1, c.requests, c.units},
					{"duplicates, first delivery", 1, c.again, c.againUnits},
					{"duplicates, redelivered", 2, c.redelivery, c.redelivUnits},
				} {
					_, err := h(l.Context(), deliveredFor(numbered(c.messages), step.delivery))
					l.equal("error", err, nil)

					requests, units := l.costs()
					l.equal(step.name+", requests", requests, step.requests)
					l.equal(step.name+", write units", units, step.units)
				}

				l.equal("runs", len(l.runs.all()), c.messages)
			})
		})
	}
}

func TestWhatABatchOf100Costs(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 10, 50, 100} {
		for name, wrap := range map[string]func(*lab, lambdawrap.Handler) wrapped{"SQS": (*lab).handle, "Batch": (*lab).whole} {
			t.Run(fmt.Sprint(name, workers), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(l *lab) {
					l.opts.Workers = workers
					h := wrap(l, succeed)

					l.check(h, numbered(100), nil, l.runsOf(100))
					requests, units := l.costs()
					l.equal("write units", units, 200)

					if requests > 30 {
						t.Errorf("%d requests", requests)
					}

					l.check(h, deliveredFor(numbered(100), 2), nil, nil)
					requests, units = l.costs()
					l.equal("redelivered: write units", units, 100)
					l.equal("redelivered: requests", requests, 4)

					l.check(h, numbered(100), nil, nil)
					requests, units = l.costs()
					l.equal("first delivery: write units", units, 200)
					l.equal("first delivery: requests", requests, 8)
				})
			})
		}
	}
}

func (*lab) runsOf(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("m%d", i)
	}

	return all
}

func TestTheSwitchWorksForEveryWrapperAndKnowsTheOtherValues(t *testing.T) {
	for value, on := range map[string]bool{"true": false, "1": false, "false": true, "0": true, "": true} {
		for _, way := range ways {
			t.Run(value+", "+way.name, func(t *testing.T) {
				t.Setenv("IDEMDDB_DISABLED", value)

				l := newLab(t, nil)
				h := way.wrap(l, failing(always(), "bad"))
				event := batch("m1 k1", "m2 k1", "m3 bad")

				if on {
					l.check(h, event, []string{"m3"}, []string{"m1", "m3"})
					l.equal("warnings", l.log.Len() > 0 && strings.Contains(l.log.String(), "IDEMDDB_DISABLED"), false)
					l.equal("requests are made", len(l.db.Requests()) > 0, true)

					return
				}

				for range 2 {
					l.check(h, event, []string{"m3"}, []string{"m1", "m2", "m3"})
				}

				l.equal("warnings", strings.Count(l.log.String(), "IDEMDDB_DISABLED"), 1)
				l.equal("requests", len(l.db.Requests()), 0)
			})
		}
	}
}

func TestTwoBatchesAtOnceHaveTheirOwnOutcomesAndOrder(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		l.opts.Workers = 2

		h := l.handle(func(_ context.Context, m events.SQSMessage) error {
			pass(time.Second)

			if m.Body == "left3" || m.Body == "right1" {
				return errBank
			}

			return nil
		})
		side := func(name string) events.SQSEvent {
			var texts []string
			for i := range 5 {
				texts = append(texts, fmt.Sprintf("%s%d %s%d group", name, i, name, i)) // the same group name in both
			}

			return batch(texts...)
		}
		answers := make([][]string, 2)

		synctest.Wait()

		done := make(chan struct{})

		go func() {
			defer close(done)

			response, err := h(l.Context(), side("left"))
			l.equal("error", err, nil)
			answers[0] = ids(response)
		}()

		response, err := h(l.Context(), side("right"))
		l.equal("error", err, nil)
		answers[1] = ids(response)

		<-done
		l.equal("failed", answers, [][]string{{"left3", "left4"}, {"right1", "right2", "right3", "right4"}})
		l.ran("left0", "left1", "left2", "left3", "right0", "right1")
		l.ordered("left0", "left1", "left2", "left3")
		l.ordered("right0", "right1")
	})
}

func TestThousandInvocationsAtOnceDoEachKeyOnce(t *testing.T) {
	t.Parallel()

	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()

			const keys = 40

			l := newLab(t, &mode.opts)
			l.opts.Workers = 3
			l.opts.Logger = slog.New(slog.DiscardHandler)

			var (
				effects  [keys]atomic.Int64
				finished = make(chan error)
			)

			work := func(_ context.Context, m events.SQSMessage) error {
				var key int

				_, err := fmt.Sscanf(m.Body, "k%d", &key)
				effects[key].Add(1)

				return err
			}
			sqs := lambdawrap.SQS(l.store, work, l.opts)
			whole := l.whole(work)

			for n := range 1000 {
				go func() {
					h := sqs
					if n%3 == 0 {
						h = whole
					}

					event := batch(fmt.Sprintf("a%d k%d", n, n%keys), fmt.Sprintf("b%d k%d", n, (n*7+3)%keys), fmt.Sprintf("c%d k%d", n, (n*11)%keys))
					response, err := h(context.Background(), event)

					for _, id := range ids(response) {
						if !slices.ContainsFunc(event.Records, func(m events.SQSMessage) bool { return m.MessageId == id }) {
							err = fmt.Errorf("%s is of another batch", id)
						}
					}
					finished <- err
				}()
			}

			for range 1000 {
				l.equal("error", <-finished, nil)
			}

			for key := range effects {
				l.equal(fmt.Sprint("effects of ", key), effects[key].Load(), int64(1))
				l.equal(fmt.Sprint("record of ", key), l.state(fmt.Sprintf("k%d", key)), "COMPLETED")
			}
		})
	}
}

func TestEveryMessageFailsAtFullParallelismAndEachIsReportedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(all *lab) {
		const size = 12

		for round := range 1000 {
			mode := modes[round%len(modes)]
			mode.opts.Observe = func(context.Context, idemddb.Event) {}
			l := newLab(all.TB, &mode.opts)
			l.opts.Workers = 1 + round%(size+3)
			l.opts.Logger = slog.New(slog.DiscardHandler)

			if round%5 == 0 { // some claims are refused, some are said no to
				_, _, err := l.store.Claim(l.Context(), "k3", nil)
				l.equal("error", err, nil)
				l.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if r.Operation == "INSERT" && cmp.Equal(r.Key, recordKey("k4"), ignoreUnexported) {
						return idemddbtest.ServerError
					}

					return idemddbtest.None
				})
			}

			h := lambdawrap.SQS(l.store, func(ctx context.Context, m events.SQSMessage) error {
				switch (round + int(m.Body[len(m.Body)-1])) % 4 {
				case 0:
					panic("nil map")
				case 1:
					goexit()
				case 2:
					<-ctx.Done()
					pass(time.Minute) // deaf
				}

				return errBank
			}, l.opts)

			ctx, cancel := context.WithTimeout(l.Context(), 10*time.Second)
			response, err := h(ctx, numbered(size))

			if err != nil || !slices.Equal(ids(response), l.runsOf(size)) || ctx.Err() != nil {
				t.Fatalf("round %d: %v, %v, %v", round, ids(response), err, ctx.Err())
			}

			cancel()
		}

		pass(2 * time.Minute) // the deaf end
	})
}
