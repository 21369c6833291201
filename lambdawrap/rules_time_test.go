package lambdawrap_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// moment is how late an answer may come in a bubble, where only timers take time.
const moment = 2 * time.Millisecond

// within makes one invocation with a time limit. The answer must come when a quarter of the reserve is left, and without an error.
func (h *harness) within(limit time.Duration, function wrapped, event events.SQSEvent) (failed []string, took time.Duration) {
	h.Helper()

	reserve := h.opts.Reserve
	if reserve == 0 {
		reserve = time.Second
	}

	ctx, cancel := context.WithTimeout(h.Context(), limit)
	defer cancel()

	begun := time.Now()
	response, err := function(ctx, event)
	took = time.Since(begun)

	h.equal("error", err, nil)

	if took > limit-reserve/4+moment {
		h.Errorf("the answer comes after %v of %v, with a reserve of %v", took, limit, reserve)
	}

	return ids(response), took
}

// bothModes runs a test with shared and with single requests, without a limit of attempts.
func bothModes(t *testing.T, test func(*harness)) {
	t.Helper()

	for _, single := range []bool{false, true} {
		t.Run(fmt.Sprint("single: ", single), func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Single: single}, test)
		})
	}
}

// effects counts what handlers did, by message.
type effects struct {
	mu    sync.Mutex
	times map[string]int
}

func (e *effects) add(m events.SQSMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.times == nil {
		e.times = map[string]int{}
	}

	e.times[m.MessageId]++
}

// sum returns how many effects there were, and how many of them were not the first of their message.
func (e *effects) sum() (all, doubles int) {
	e.mu.Lock()
	defer e.mu.Unlock()

	for _, n := range e.times {
		all, doubles = all+n, doubles+n-1
	}

	return all, doubles
}

// untilDone delivers messages in batches of so many until none is left, with a minute between two deliveries. It returns the number of
// invocations.
func (h *harness) untilDone(limit time.Duration, function wrapped, event events.SQSEvent, size int) int {
	h.Helper()

	open := event.Records

	for n := 1; n <= 100; n++ {
		some := open[:min(size, len(open))]
		failed, _ := h.within(limit, function, deliveredFor(events.SQSEvent{Records: slices.Clone(some)}, n))
		open = slices.DeleteFunc(slices.Clone(open), func(m events.SQSMessage) bool {
			isInBatch := slices.ContainsFunc(some, func(other events.SQSMessage) bool { return other.MessageId == m.MessageId })

			return isInBatch && !slices.Contains(failed, m.MessageId)
		})

		if len(open) == 0 {
			return n
		}

		time.Sleep(time.Minute)
	}

	h.Errorf("%d messages are still open after 100 invocations", len(open))

	return 100
}

func TestABatchThatDoesNotFitHasAsManyEffectsAsMessages(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		for _, timeout := range []time.Duration{0, 2100 * time.Millisecond, 3 * time.Second} {
			for _, reserve := range []time.Duration{0, 1900 * time.Millisecond, 2500 * time.Millisecond, 3 * time.Second, 4500 * time.Millisecond, 6500 * time.Millisecond} {
				t.Run(fmt.Sprintf("%d workers, Timeout %v, Reserve %v", workers, timeout, reserve), func(t *testing.T) {
					t.Parallel()
					everyMode(t, func(h *harness) {
						h.opts.Workers, h.opts.Timeout, h.opts.Reserve = workers, timeout, reserve

						var done effects

						h.untilDone(10*time.Second, h.handle(func(_ context.Context, m events.SQSMessage) error {
							time.Sleep(2 * time.Second) // a call that cannot be interrupted
							done.add(m)

							return nil
						}), numbered(20), 10)

						all, doubles := done.sum()
						h.equal("effects", []int{all, doubles}, []int{20, 0})
					})
				})
			}
		}
	}
}

func TestABatchHandlerThatLooksAtItsDeadlineHasAsManyEffectsAsMessages(t *testing.T) {
	t.Parallel()

	for _, timeout := range []time.Duration{0, 2100 * time.Millisecond, 5 * time.Second} {
		for _, reserve := range []time.Duration{0, 1900 * time.Millisecond, 3 * time.Second, 4500 * time.Millisecond} {
			t.Run(fmt.Sprintf("Timeout %v, Reserve %v", timeout, reserve), func(t *testing.T) {
				t.Parallel()
				bothModes(t, func(h *harness) {
					h.opts.Timeout, h.opts.Reserve = timeout, reserve

					var done effects

					h.untilDone(10*time.Second, h.event(&h.runs, func(ctx context.Context, event events.SQSEvent) (r events.SQSEventResponse, _ error) {
						deadline, _ := ctx.Deadline()

						for _, m := range event.Records {
							if time.Until(deadline) < 2*time.Second {
								r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})

								continue
							}

							time.Sleep(2 * time.Second)
							done.add(m)
						}

						return r, nil
					}), numbered(20), 10)

					all, doubles := done.sum()
					h.equal("effects", []int{all, doubles}, []int{20, 0})
				})
			})
		}
	}
}

// A call on the slow ledger takes 50 to 250 ms and has its effect at once. The ledger of a handler that obeys loses its answer when the
// context ends, and then nobody knows of the effect.
func TestASlowLedgerWithoutAFaultHasNoDoubleEffect(t *testing.T) {
	t.Parallel()

	runs := 40
	if testing.Short() {
		runs = 5
	}

	for _, obeys := range []bool{false, true} {
		t.Run(fmt.Sprint("the handler obeys: ", obeys), func(t *testing.T) {
			t.Parallel()

			for seed := range runs {
				bubble(t, &idemddb.Options{Single: seed%2 == 1}, func(h *harness) {
					random := rand.New(rand.NewPCG(uint64(seed), 1))

					if obeys {
						h.opts.Timeout = 300 * time.Millisecond
					}

					var done effects

					h.untilDone(3*time.Second, h.handle(func(ctx context.Context, m events.SQSMessage) error {
						done.add(m)

						if !obeys {
							ctx = context.WithoutCancel(ctx)
						}

						select {
						case <-time.After(50*time.Millisecond + time.Duration(random.Int64N(int64(200*time.Millisecond)))):
							return nil
						case <-ctx.Done():
							return context.Cause(ctx)
						}
					}), numbered(60), 20)

					if all, doubles := done.sum(); all != 60 || doubles != 0 {
						t.Errorf("seed %d: %d effects of 60 messages, %d doubles", seed, all, doubles)
					}
				})
			}
		})
	}
}

// started is how many handlers of 100 messages start in an invocation of 21 s, of which the reserve takes one, when the handlers take
// these times, and the last of them all others.
func started(h *harness, takes ...time.Duration) int {
	var n atomic.Int64

	h.within(21*time.Second, h.handle(func(context.Context, events.SQSMessage) error {
		time.Sleep(takes[min(int(n.Add(1)), len(takes))-1])

		return nil
	}), numbered(100))

	return int(n.Load())
}

func TestTheFirstHalfOfAnInvocationStartsWhateverComes(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		// 9 s need 11.25 s, more than the half that is the most that is asked for: they start at 0 s and 9 s.
		h.equal("started", started(h, 9*time.Second), 2)
	})
	everyMode(t, func(h *harness) { h.equal("started", started(h, 9900*time.Millisecond), 2) })
	everyMode(t, func(h *harness) { h.equal("started", started(h, 10100*time.Millisecond), 1) })
}

func TestAHandlerStartsIfAQuarterMoreThanTheLongestIsLeft(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		// 4 s need 5 s: they start at 0, 4, 8 and 12 s, and not at 16 s with 4 s left. 2 s after one of 4 s: up to 15 s.
		h.equal("started", started(h, 4*time.Second), 4)
	})
	everyMode(t, func(h *harness) {
		h.equal("started", started(h, 4*time.Second, 2*time.Second), 7) // at 0, 4, 6, 8, 10, 12, 14 s; not at 16 s
	})
	everyMode(t, func(h *harness) {
		h.equal("started", started(h, 2*time.Second), 9) // the last at 16 s with 4 s left; not at 18 s, when 2 s are left
	})
}

func TestOneSlowMessageIsForgottenAfterSixteenOthers(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		takes := []time.Duration{4 * time.Second}
		for range 16 {
			takes = append(takes, 500*time.Millisecond)
		}

		// After 16 more, at 12 s, 5 s are not asked for any more but 0.625 s: the last one starts at 19 s.
		h.equal("started", started(h, append(takes, 500*time.Millisecond)...), 1+31)
	})
	everyMode(t, func(h *harness) {
		takes := []time.Duration{7 * time.Second}
		for range 14 {
			takes = append(takes, 600*time.Millisecond)
		}

		// The slow one stays among the last 16, so that 8.75 s are asked for: the last one starts at 11.2 s.
		h.equal("started", started(h, takes...), 9)
	})
}

func TestHandlersThatFailSayNothingAboutTheTimeThatOneTakes(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var n atomic.Int64

		h.within(21*time.Second, h.handle(func(context.Context, events.SQSMessage) error {
			n.Add(1)
			time.Sleep(990 * time.Millisecond)

			return errBank
		}), numbered(40))
		h.equal("started", n.Load(), int64(11)) // as nothing is known, half of the time must be left: from 0 to 9.9 s
	})
}

func TestATimeoutThatDoesNotFitIsAnErrorWithTheNumbers(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout, h.opts.Reserve = 8*time.Second, 3*time.Second
		function := wrap(succeed)

		ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
		defer cancel()

		_, err := function(ctx, numbered(3))
		for _, number := range []string{"8s", "3s", "10s", "Options.Timeout"} {
			if err == nil || !strings.Contains(err.Error(), number) {
				h.Errorf("got %v, want an error that says %s", err, number)
			}
		}

		h.equal("runs", len(h.runs.all()), 0)
		h.equal("requests", len(h.db.Requests()), 0)

		failed, _ := h.within(11*time.Second, function, numbered(1))
		h.equal("failed in 11 s", failed, []string(nil))
		h.check(function, numbered(3), nil, []string{"m1", "m2"}) // there is no deadline
	})
}

func TestTheTimeoutEndsTheContextOfAHandler(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout = 2 * time.Second

		var ended effects

		failed, _ := h.within(30*time.Second, wrap(func(ctx context.Context, m events.SQSMessage) error {
			begun := time.Now()
			deadline, _ := ctx.Deadline()

			<-ctx.Done()

			if took := time.Since(begun); deadline.After(begun.Add(2*time.Second)) || took > 2*time.Second {
				h.Errorf("%s: the context ends after %v, its deadline is in %v", m.MessageId, took, deadline.Sub(begun))
			}

			ended.add(m)

			return nil // it is done all the same
		}), numbered(3))
		h.equal("failed", failed, []string(nil))

		all, _ := ended.sum()
		h.equal("ended", all, 3)
	})
}

func TestAnAnswerAfterTheTimeoutCounts(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		h.opts.Timeout = 2 * time.Second

		failed, _ := h.within(30*time.Second, wrap(func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "k0" {
				time.Sleep(2400 * time.Millisecond) // it is late at 2.5 s
			}

			return nil
		}), numbered(4))
		h.equal("failed", failed, []string(nil))
		h.ran(messageIDs(4)...)
		h.equal("record", h.state("k0"), "COMPLETED")
	})
}

func TestAHandlerThatIsLateAfterItsTimeoutKeepsItsWorkerWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Timeout, h.opts.Workers = 2*time.Second, 2

		var running, most atomic.Int64

		failed, took := h.within(60*time.Second, h.handle(func(_ context.Context, m events.SQSMessage) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			if m.Body == "k1" {
				time.Sleep(20 * time.Second) // its answer counts, because the invocation has not been answered
			} else {
				time.Sleep(time.Second)
			}

			return nil
		}), numbered(30))
		h.equal("failed", failed, []string(nil))
		h.equal("at once", most.Load(), int64(2))
		h.equal("record", h.state("k1"), "COMPLETED")

		if took > 30*time.Second {
			h.Errorf("the other messages took %v", took)
		}
	})
}

func TestWhenAllWorkersAreLateTheAnswerIsSentAndTheRestIsUnclaimed(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(h *harness) {
				h.opts.Timeout, h.opts.Workers = 2*time.Second, workers
				place := h.hiding(nil)

				function := h.handle(func(_ context.Context, m events.SQSMessage) error {
					if m.Body == "k0" {
						return nil
					}

					time.Sleep(time.Minute)

					return nil
				})
				failed, took := h.within(15*time.Minute, function, deliveredFor(numbered(60), 1))
				h.equal("failed", failed, messageIDs(60)[1:])

				if took < 2500*time.Millisecond || took > 2500*time.Millisecond+moment {
					h.Errorf("the answer comes after %v, want 2.5 s", took)
				}

				for i := 1; i < 60; i++ {
					state, want := h.state(fmt.Sprint("k", i)), "INPROGRESS" // of a late one, which may still run
					if i > workers {
						want = "INPROGRESS released"
						if state == "none" {
							want = "none"
						}
					}

					h.equal(fmt.Sprint("record of k", i), state, want)
				}

				h.hidden(place, "m1", 33, 33) // 30 s of lease, two skews, and over
				h.equal("lines of late handlers", strings.Count(h.log.String(), "outcome=late"), workers)
				h.idle()
			})
		})
	}
}

func TestABatchHandlerThatIsLateAfterItsTimeoutIsAnsweredForAtOnce(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Timeout, h.opts.Workers = 2*time.Second, 3

		failed, took := h.within(15*time.Minute, h.whole(slowly(time.Minute)), numbered(3))
		h.equal("failed", failed, messageIDs(3))

		if took < 2500*time.Millisecond || took > 2500*time.Millisecond+moment {
			h.Errorf("the answer comes after %v, want 2.5 s", took)
		}

		h.equal("held", h.held(), 3)
	})
}

// answers are what a handler may say, and what becomes of its message.
var answers = []struct {
	name   string
	give   func() error
	failed []string
	state  string
	log    string
}{
	{"success", func() error { return nil }, nil, "COMPLETED", ""},
	{"error", func() error { return errBank }, []string{"m0"}, "INPROGRESS released", "outcome=failed"},
	{"panic", func() error { panic("late") }, []string{"m0"}, "INPROGRESS released", "outcome=failed"},
	{"exit", func() error { goexit(); return nil }, []string{"m0"}, "INPROGRESS released", "outcome=failed"},
	{"permanent", func() error { return lambdawrap.Permanent(errBank) }, []string{"m0"}, "FAILED", "outcome=permanent"},
}

func TestWhatAHandlerAnswersInTheFirstHalfOfTheReserveCounts(t *testing.T) {
	t.Parallel()

	for _, answer := range answers {
		for _, into := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 499 * time.Millisecond} {
			t.Run(fmt.Sprint(answer.name, " after ", into), func(t *testing.T) {
				t.Parallel()
				everyMode(t, func(h *harness) {
					failed, _ := h.within(30*time.Second, h.handle(func(context.Context, events.SQSMessage) error {
						time.Sleep(29*time.Second + into)

						return answer.give()
					}), numbered(1))
					h.equal("failed", failed, answer.failed)
					h.equal("record", h.state("k0"), answer.state)

					if got := h.log.String(); answer.log == "" && got != "" || !strings.Contains(got, answer.log) {
						h.Errorf("log: got %q, want %q", got, answer.log)
					}

					h.idle()
				})
			})
		}
	}
}

func TestABatchThatObeysLosesNothing(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		var done effects

		n := h.untilDone(10*time.Second, h.event(&h.runs, func(ctx context.Context, event events.SQSEvent) (r events.SQSEventResponse, _ error) {
			for _, m := range event.Records {
				select {
				case <-time.After(2 * time.Second):
					done.add(m)
				case <-ctx.Done():
					r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
				}
			}

			return r, nil
		}), numbered(5), 5)

		all, doubles := done.sum()
		h.equal("effects, doubles, invocations", []int{all, doubles, n}, []int{5, 0, 2})
	})
}

func TestWithNoTakeoverAHandlerThatObeysNeverLeavesAFailedKey(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			t.Run(fmt.Sprint(name, ", single: ", single), func(t *testing.T) {
				t.Parallel()
				bubble(t, &idemddb.Options{NoTakeover: true, Single: single}, func(h *harness) {
					var done effects

					h.untilDone(10*time.Second, wrap(h, func(ctx context.Context, m events.SQSMessage) error {
						select {
						case <-time.After(2300 * time.Millisecond):
							done.add(m)

							return nil
						case <-ctx.Done():
							return errBank // nothing was sent
						}
					}), numbered(10), 10)

					for i := range 10 {
						h.equal("record", h.state(fmt.Sprint("k", i)), "COMPLETED")
					}

					all, doubles := done.sum()
					h.equal("effects", []int{all, doubles}, []int{10, 0})
				})
			})
		}
	}
}

// The handler of a late message may wake up with the next event of its process.
func TestALateHandlerAndItsMessagesNextDeliveryDoNotRunAtOnce(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		place := h.hiding(nil)

		var running, most atomic.Int64

		function := wrap(func(context.Context, events.SQSMessage) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			time.Sleep(30 * time.Second)

			return nil
		})

		begun := time.Now()
		failed, took := h.within(10*time.Second, function, deliveredFor(numbered(1), 1))
		h.equal("failed", failed, []string{"m0"})

		if took < 9500*time.Millisecond {
			h.Errorf("the handler is late after %v", took)
		}

		h.hidden(place, "m0", 33, 33)
		h.equal("extensions", h.count(idemddb.Extended), 1)
		h.equal("record", h.state("k0"), "INPROGRESS")

		for _, at := range []time.Duration{10, 11, 12, 30, 39} { // the lease ends 30 s after the handler was late, and the skew is 1 s
			time.Sleep(time.Until(begun.Add(at * time.Second)))
			h.runs.clear()

			failed, _ = h.within(10*time.Second, function, deliveredFor(numbered(1), 2))
			h.equal(fmt.Sprint("failed after ", at*time.Second), failed, []string{"m0"})
		}

		time.Sleep(time.Until(begun.Add(42 * time.Second)))

		failed, _ = h.within(time.Minute, function, deliveredFor(numbered(1), 3))
		h.equal("failed", failed, []string(nil))
		h.equal("at once", most.Load(), int64(1))
	})
}

// A hook that hangs delays the answer, and the late handler runs on.
func TestTheClaimOfALateHandlerIsHeldUntilTheAnswer(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(h *harness) {
				h.opts.Timeout = 2 * time.Second
				h.opts.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { time.Sleep(2 * time.Minute) }
				other := h.open(h.db, nil)
				end := time.Now().Add(2*time.Minute + 15*time.Second) // half a lease after the answer

				go func() {
					time.Sleep(time.Second) // the wrapper claims the key first

					for ; time.Now().Before(end); time.Sleep(time.Second) {
						if claim, _, _ := other.Claim(h.Context(), "k0", nil); claim != nil {
							h.Error("the key is taken over while its late handler runs")

							return
						}
					}
				}()

				failed, took := h.within(5*time.Minute, wrap(h, slowly(4*time.Minute)), numbered(1))
				h.equal("failed", failed, []string{"m0"})

				if took < 2*time.Minute {
					h.Errorf("the answer comes after %v", took)
				}

				h.idle()
			})
		})
	}
}

func TestTheLeaseOfAHandlerThatRunsInALongReserveIsRenewed(t *testing.T) {
	t.Parallel()

	for _, single := range []bool{false, true} {
		for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			t.Run(fmt.Sprint(name, ", single: ", single), func(t *testing.T) {
				t.Parallel()
				bubble(t, &idemddb.Options{Lease: 4 * time.Second, Single: single}, func(h *harness) {
					h.opts.Reserve = 30 * time.Second
					other := h.open(h.db, &idemddb.Options{Lease: 4 * time.Second})
					taken := false

					go func() {
						for range 58 {
							time.Sleep(time.Second)

							if claim, _, _ := other.Claim(h.Context(), "k0", nil); claim != nil {
								taken = true
							}
						}
					}()

					failed, _ := h.within(time.Minute, wrap(h, slowly(44*time.Second)), numbered(1)) // 14 s into the reserve
					h.equal("failed", failed, []string(nil))
					h.equal("taken over while its handler ran", taken, false)
					h.equal("record", h.state("k0"), "COMPLETED")
				})
			})
		}
	}
}

func TestTheAnswerIsSentWithAQuarterOfTheReserveLeft(t *testing.T) {
	t.Parallel()

	hang := func(ctx context.Context) { <-ctx.Done() }
	deaf := func(context.Context) { time.Sleep(time.Minute) }

	for name, set := range map[string]func(h *harness) lambdawrap.Handler{
		"claims hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isClaim), idemddbtest.LateReply))

			return succeed
		},
		"completions hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.LateReply))

			return succeed
		},
		"all requests after the claims hang": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
				if isCallOf(isClaim)(r) {
					return idemddbtest.None
				}

				return idemddbtest.LateReply
			})

			return func(_ context.Context, m events.SQSMessage) error {
				if m.Body == "k1" {
					return errBank
				}

				if m.Body == "k2" {
					return lambdawrap.Permanent(errBank)
				}

				time.Sleep(time.Minute)

				return nil
			}
		},
		"handlers do not stop": func(*harness) lambdawrap.Handler { return slowly(time.Minute) },
		"the dead-letter hook hangs": func(h *harness) lambdawrap.Handler {
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { hang(ctx); return nil }

			return func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }
		},
		"the dead-letter hook does not stop": func(h *harness) lambdawrap.Handler {
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { deaf(ctx); return nil }

			return func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }
		},
		"SQS hangs": func(h *harness) lambdawrap.Handler {
			h.hiding(func(ctx context.Context, _ string) error { hang(ctx); return nil })

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"the client of SQS does not stop": func(h *harness) lambdawrap.Handler {
			h.hiding(func(ctx context.Context, _ string) error { deaf(ctx); return nil })

			return func(context.Context, events.SQSMessage) error { return errBank }
		},
		"OnMessage hangs": func(h *harness) lambdawrap.Handler {
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { hang(ctx) }

			return succeed
		},
		"OnMessage does not stop": func(h *harness) lambdawrap.Handler {
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { deaf(ctx) }

			return slowly(time.Second)
		},
		"all of it": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return !isCallOf(isClaim)(r) }, idemddbtest.LateReply))
			h.hiding(func(ctx context.Context, _ string) error { deaf(ctx); return nil })
			h.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, _ lambdawrap.Outcome) { deaf(ctx) }
			h.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error { deaf(ctx); return nil }

			return func(_ context.Context, m events.SQSMessage) error {
				switch m.Body {
				case "k0":
					return lambdawrap.Permanent(errBank)
				case "k1":
					return errBank
				case "k2":
					return nil
				default:
					time.Sleep(time.Minute)

					return nil
				}
			}
		},
	} {
		for _, limit := range []time.Duration{1200 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
			t.Run(fmt.Sprint(name, " in ", limit), func(t *testing.T) {
				t.Parallel()
				everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
					work := set(h)

					h.within(limit, wrap(work), deliveredFor(numbered(8), 1))
					h.idle()
				})
			})
		}
	}
}

// faultFor is an interceptor that gives some requests a fault.
func faultFor(is func(idemddbtest.Request) bool, fault idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if is(r) {
			return fault
		}

		return idemddbtest.None
	}
}

// idle demands that no goroutine of the library is left in the bubble. User code that was abandoned may go on: it runs in a goroutine
// whose only function of the library is that of background.
func (h *harness) idle() {
	h.Helper()

	time.Sleep(moment) // what the end of the invocation woke up may end

	stacks := make([]byte, 1<<20)
	for n := len(stacks); n == len(stacks); {
		stacks = make([]byte, 2*len(stacks))
		n = runtime.Stack(stacks, true)
	}

	all := strings.Split(strings.TrimRight(string(stacks), "\x00\n"), "\n\n")
	own := bubbleOf(all[0]) // the first one is the caller's

	for _, stack := range all[1:] {
		if bubbleOf(stack) != own || strings.Contains(stack, "lambdawrap.background") {
			continue
		}

		for _, name := range []string{"go-idemddb/lambdawrap.", "go-idemddb/idemddb."} {
			if strings.Contains(stack, name) {
				h.Errorf("a goroutine is left after the call:\n%s", stack)

				return
			}
		}
	}
}

// bubbleOf returns the part of a goroutine's stack that names its bubble.
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, name, _ := strings.Cut(head, "synctest bubble ")

	return strings.TrimRight(name, "]:")
}
