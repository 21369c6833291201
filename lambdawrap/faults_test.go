package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// sizes are how many writes each request of the log had.
func (l *lab) sizes() []int {
	var sizes []int
	for _, r := range l.db.Requests() {
		sizes = append(sizes, max(1, len(r.Items)))
	}

	return sizes
}

// isCompletion tells a write that completes.
func isCompletion(r idemddbtest.Request) bool {
	return strings.Contains(r.Update, "done") && strings.HasPrefix(strings.TrimLeft(r.Update, `SET "`), "st")
}

// isClaim tells a write that claims.
func isClaim(r idemddbtest.Request) bool {
	return r.Operation == "INSERT" || strings.Contains(r.Update, "own")
}

func isCallOf(is func(idemddbtest.Request) bool) func(idemddbtest.Request) bool {
	return func(r idemddbtest.Request) bool { return is(r) || slices.ContainsFunc(r.Items, is) }
}

func TestStatementsThatMeetAFaultInsideAnAnswerGoOutAgainAlone(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.Throttle, idemddbtest.ThrottleAccount, idemddbtest.ServerError, idemddbtest.ServerErrorApplied, idemddbtest.TransactionConflict,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(l *lab) {
				var met sync.Map

				l.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					what := fmt.Sprint(keyOf(r), isClaim(r))
					if _, again := met.LoadOrStore(what, true); !again && slices.Contains([]string{"k2", "k5"}, keyOf(r)) {
						return fault
					}

					return idemddbtest.None
				})

				l.check(l.handle(succeed), numbered(10), nil, l.runsOf(10))

				sizes, want := l.sizes(), 24
				if fault == idemddbtest.ServerErrorApplied { // an INSERT meets its own record, and the UPDATE sees whose it is
					want = 26
				}

				l.equal("claims", sizes[:2], []int{10, 8}) // the others do not wait for those two
				l.equal("writes", sum(sizes), want)
				l.equal("fenced", l.count(idemddb.Fenced)+l.count(idemddb.Unrecorded), 0)

				for i := range 10 {
					l.equal("record", l.state(fmt.Sprint("k", i)), "COMPLETED")
					l.equal("attempts", l.attempts(fmt.Sprint("k", i)), "1")
				}
			})
		})
	}
}

func sum(numbers []int) int {
	n := 0
	for _, i := range numbers {
		n += i
	}

	return n
}

func TestDeniedGroupsAreGoneForGoodAndTheMessagesDoneTheSingleWay(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name string
		deny func(r idemddbtest.Request) bool // of calls
		each func(r idemddbtest.Request) bool // of statements
	}{
		{"the call", func(r idemddbtest.Request) bool { return len(r.Items) > 0 }, nil},
		{"the claims' statements", nil, func(r idemddbtest.Request) bool { return r.Operation == "INSERT" }},
		{"the completions' statements", nil, func(r idemddbtest.Request) bool { return r.Operation == "UPDATE" }},
		{"the completions' call", func(r idemddbtest.Request) bool { return len(r.Items) > 0 && r.Items[0].Operation == "UPDATE" }, nil},
		{"one statement", nil, func(r idemddbtest.Request) bool { return keyOf(r) == "k3" }},
	} {
		for _, way := range ways {
			t.Run(c.name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(l *lab) {
					deny := func(is func(idemddbtest.Request) bool) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
						return func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
							if is != nil && is(r) && r.Operation != "UpdateItem" {
								return idemddbtest.AccessDenied
							}

							return idemddbtest.None
						}
					}
					l.db.Intercept(deny(c.deny))
					l.db.InterceptStatements(deny(c.each))

					h := way.wrap(l, succeed)
					l.check(h, numbered(30), nil, l.runsOf(30))
					l.equal("events", l.count(idemddb.Ungrouped), 1)
					l.equal("ahead", l.store.Batch().Ahead(), 0)
					l.equal("log", l.log.String(), "")

					for i := range 30 {
						l.equal("record", l.state(fmt.Sprint("k", i)), "COMPLETED")
					}

					l.db.ResetRequests()
					l.check(h, batch("n1 n1", "n2 n2", "m1 k1"), nil, []string{"n1", "n2"})
					l.equal("sizes", l.sizes(), []int{1, 1, 1, 1, 1})
					l.equal("events", l.count(idemddb.Ungrouped), 1)
				})
			})
		}
	}
}

func TestWhateverHappensToARequestEachEffectIsOnce(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateReply, idemddbtest.TruncatedBody,
		idemddbtest.ServerErrorApplied, idemddbtest.ServerError, idemddbtest.Throttle, idemddbtest.ThrottleAccount,
		idemddbtest.TransactionConflict, idemddbtest.ConditionWithoutItem,
	} {
		for name, is := range map[string]func(idemddbtest.Request) bool{"claim": isClaim, "completion": isCompletion} {
			for times := 1; times <= 2; times++ {
				t.Run(fmt.Sprint(fault, " of the ", name, ", times ", times), func(t *testing.T) {
					t.Parallel()
					everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
						failed, rest := l.broken(fault, isCallOf(is), times), deliveredFor(numbered(6), 1)

						ctx, cancel := context.WithTimeout(l.Context(), 2*time.Minute)
						defer cancel()

						response, err := wrap(succeed)(ctx, rest)
						l.equal("error", err, nil)
						l.equal("failed", ids(response), []string(nil))
						l.ran(l.runsOf(6)...)
						l.equal("faults", failed.Load() > 0, true)
						l.equal("fenced", l.count(idemddb.Fenced)+l.count(idemddb.Unrecorded), 0)
						l.settled(6)
					})
				})
			}
		}
	}
}

// broken lets the next requests of a kind meet a fault.
func (l *lab) broken(fault idemddbtest.Fault, is func(idemddbtest.Request) bool, times int) *atomic.Int64 {
	var n atomic.Int64

	l.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if is(r) && n.Add(1) <= int64(times) {
			return fault
		}

		return idemddbtest.None
	})

	return &n
}

// settled demands that keys are completed, by their first claim, and that twins which arrive late change nothing.
func (l *lab) settled(keys int) {
	l.Helper()

	before := l.db.Items("records")
	l.equal("records", len(before), keys)

	for _, it := range before {
		l.equal("record", l.stateOf(it), "COMPLETED")
	}

	l.db.Intercept(nil)
	l.db.InterceptStatements(nil)

	for range 2 {
		l.db.Deliver()
		l.equal("after late twins", cmp.Diff(before, l.db.Items("records"), ignoreUnexported), "")
		pass(time.Minute)
	}
}

// In an outage nothing is lost and nothing is run twice by one invocation.
func TestAnOutageThatBeginsInTheMiddle(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.Throttle, idemddbtest.AccessDenied, idemddbtest.TruncatedBody,
	} {
		for _, way := range ways {
			for _, mode := range modes[:3] {
				t.Run(fmt.Sprint(fault, ", ", way.name, ", ", mode.name), func(t *testing.T) {
					t.Parallel()
					bubble(t, nil, func(of *lab) {
						k := 0
						for outage(newLab(of.TB, &mode.opts), way.wrap, fault, k) {
							k++
						}
					})
				})
			}
		}
	}
}

// outage cuts DynamoDB off after k requests; it answers whether there were more.
func outage(l *lab, wrap func(*lab, lambdawrap.Handler) wrapped, fault idemddbtest.Fault, k int) bool {
	const size = 6

	var (
		requests atomic.Int64
		effects  journal // keys
		out      atomic.Bool
	)

	out.Store(true)
	l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		if n := requests.Add(1); out.Load() && n > int64(k) {
			return fault
		}

		return idemddbtest.None
	})

	count := func(key string) int {
		return len(slices.DeleteFunc(effects.all(), func(of string) bool { return of != key }))
	}
	h := wrap(l, func(_ context.Context, m events.SQSMessage) error {
		pass(time.Second)

		if m.Body == "k4" && out.Load() {
			return errBank
		}

		effects.add(m.Body)

		return nil
	})
	event := deliveredFor(batch("m0 k0", "m1 k1", "m2 k2", "m3 k3", "m4 k4", "m5 k5", "m6 k1"), 1)

	ctx, cancel := context.WithTimeout(l.Context(), 40*time.Second)
	defer cancel()

	response, err := h(ctx, event)
	l.equal("error", err, nil)
	l.equal("in time", ctx.Err(), nil)

	failed := ids(response)
	met := requests.Load() > int64(k)

	for i := range size {
		key, id := fmt.Sprint("k", i), fmt.Sprint("m", i)
		l.equal(id+" is reported unless its work is done", slices.Contains(failed, id), count(key) == 0)
		l.equal(id+" runs once", count(key) <= 1, true)
	}

	l.equal("twins alike", slices.Contains(failed, "m6"), slices.Contains(failed, "m1"))

	// It ends; leases do; what was under way arrives.
	out.Store(false)
	pass(time.Minute)
	l.db.Deliver()
	pass(time.Minute)

	var back events.SQSEvent
	for _, m := range event.Records {
		if slices.Contains(failed, m.MessageId) {
			back.Records = append(back.Records, m)
		}
	}

	response, err = h(l.Context(), deliveredFor(back, 2))
	l.equal("error", err, nil)
	l.equal("failed, later", ids(response), []string(nil))

	for i := range size {
		l.equal("effects of what came back", count(fmt.Sprint("k", i)), 1)
	}

	// Even of what need not come back, each works once more at most: whose completion was lost.
	response, err = h(l.Context(), deliveredFor(event, 3))
	l.equal("error", err, nil)
	l.equal("failed, at last", ids(response), []string(nil))

	for i := range size {
		l.equal("twice at most", count(fmt.Sprint("k", i)) <= 2, true)
		l.equal("record", l.state(fmt.Sprint("k", i)), "COMPLETED")
	}

	if l.Failed() {
		l.Logf("in an outage after %d requests", k)
	}

	return met && !l.Failed()
}

// client is a DynamoDB of the test's own.
type client struct {
	*idemddbtest.DB

	before func(operation string)
}

func (c client) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	c.before("BatchExecuteStatement")

	return c.DB.BatchExecuteStatement(ctx, in, opts...)
}

func (c client) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	c.before("UpdateItem")

	return c.DB.UpdateItem(ctx, in, opts...)
}

func TestAClientThatPanicsIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name  string
		mode  idemddb.Options
		calls int // that go well
		size  int
	}{
		{"claims in a group", idemddb.Options{}, 0, 5},
		{"completions in a group", idemddb.Options{}, 1, 5},
		{"the second group of claims", idemddb.Options{}, 2, 60},
		{"the completion of one message", idemddb.Options{}, 1, 1},
		{"the claim of one message", idemddb.Options{}, 0, 1},
		{"single claims", idemddb.Options{Single: true}, 0, 5},
		{"single completions", idemddb.Options{Single: true}, 1, 5},
	} {
		for _, way := range ways {
			t.Run(c.name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(l *lab) {
					var calls atomic.Int64

					l.store = l.open(client{l.db, func(string) {
						if calls.Add(1) > int64(c.calls) {
							panic("client")
						}
					}}, &c.mode)

					response, err := way.wrap(l, func(context.Context, events.SQSMessage) error {
						pass(time.Second)

						return nil
					})(l.Context(), numbered(c.size))
					if err == nil || !strings.Contains(err.Error(), "wrapper panicked: ") || !strings.HasSuffix(err.Error(), "client") || response.BatchItemFailures != nil {
						t.Errorf("got %v, %v, want an invocation error", response, err)
					}

					calls.Store(-1 << 40) // well again
					l.noRenewals()
				})
			})
		}
	}
}

// noRenewals demands that nothing is left that keeps leases: a day later each key can be claimed.
func (l *lab) noRenewals() {
	l.Helper()
	l.db.ResetRequests()
	pass(24 * time.Hour)
	l.equal("requests within a day", len(l.db.Requests()), 0)
}

// As t.FailNow in somebody's fake client does.
func TestTheEndOfTheWrappersGoroutineIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, calls := range []int64{0, 1} {
		for _, mode := range modes[:2] {
			t.Run(fmt.Sprint(mode.name, ", calls that go well: ", calls), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(l *lab) {
					var n atomic.Int64

					l.store = l.open(client{l.db, func(string) {
						if n.Add(1) > calls {
							goexit()
						}
					}}, &mode.opts)

					ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
					defer cancel()

					response, err := l.handle(succeed)(ctx, numbered(3))
					if err == nil && len(response.BatchItemFailures) < 3-int(calls) {
						t.Errorf("got %v, %v", response, err)
					}

					l.equal("in time", ctx.Err(), nil)
				})
			})
		}
	}
}

func TestAPanicOfWhatTheWrapperCallsIsAnInvocationError(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		l.opts.Logger = panicking()
		h := wrap(failing(always(), "k1"))

		response, err := h(l.Context(), numbered(5))
		if err == nil || !strings.Contains(err.Error(), "wrapper panicked: ") || !strings.HasSuffix(err.Error(), "logger") || response.BatchItemFailures != nil {
			l.Errorf("got %v, %v, want an invocation error", response, err)
		}

		l.noRenewals()
	})
}

func TestAKeyFunctionThatPanicsIsItsMessagesFailure(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		l.opts.Key = func(m events.SQSMessage) (string, error) {
			if m.Body == "k1" {
				panic("key")
			}

			return m.Body, nil
		}
		l.opts.Fingerprint = func(m events.SQSMessage) (string, error) {
			if m.Body == "k2" {
				panic(errors.New("fingerprint"))
			}

			return m.Body, nil
		}
		l.check(wrap(succeed), numbered(4), []string{"m1", "m2"}, []string{"m0", "m3"})

		for _, want := range []string{"panicked: key", "panicked: fingerprint", "stack="} {
			if !strings.Contains(l.log.String(), want) {
				l.Errorf("the log lacks %q: %s", want, l.log)
			}
		}
	})
}
