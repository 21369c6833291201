package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// DynamoDB stops to answer after some requests, and answers again when the invocation has ended. No message is lost, and no
// invocation runs a key twice.
func TestAnOutageThatBeginsInTheMiddle(t *testing.T) {
	t.Parallel()

	for f, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateCommit, idemddbtest.Throttle, idemddbtest.AccessDenied, idemddbtest.TruncatedBody,
	} {
		for w, way := range waysAndOptimistic {
			for m, mode := range modes[:3] {
				if m != 0 && fault != idemddbtest.LostReply && fault != idemddbtest.LateRequest {
					continue // the mode of the store changes what is sent, not what becomes of it
				}

				if testing.Short() && (m != 0 || w != 1+f%3 || fault == idemddbtest.AccessDenied || fault == idemddbtest.TruncatedBody) {
					continue
				}

				each(t, fmt.Sprint(fault, ", ", way.name, ", ", mode.name), inBubble(nil), func(of *harness) {
					k := 0
					for runOutage(newHarness(of.TB, &mode.opts), way.wrap, fault, k) {
						k++
					}
				})
			}
		}
	}
}

// runOutage lets all requests after the first k fail. It returns false if there were no more than k.
func runOutage(h *harness, wrap func(*harness, lambdawrap.Handler) wrapped, fault idemddbtest.Fault, k int) bool {
	o := &outage{harness: h, event: deliveredFor(batch("m0 k0", "m1 k1", "m2 k2", "m3 k3", "m4 k4", "m5 k5", "m6 k1"), 1)}
	o.function = wrap(h, o.work)
	o.begin(fault, k)

	failed := o.during()
	hasFailed := o.requests.Load() > int64(k)

	o.end()
	o.deliverFailed(failed)
	o.deliverAll()

	if h.Failed() {
		h.Logf("in an outage after %d requests", k)
	}

	return hasFailed && !h.Failed()
}

// outage delivers an event of outageKeys keys, one of which has two messages, while DynamoDB stops to answer.
type outage struct {
	*harness

	function wrapped
	event    events.SQSEvent

	requests atomic.Int64
	effects  journal // the keys whose work was done
	isOut    atomic.Bool
}

const outageKeys = 6

func (o *outage) begin(fault idemddbtest.Fault, k int) {
	o.isOut.Store(true)
	o.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		if n := o.requests.Add(1); o.isOut.Load() && n > int64(k) {
			return fault
		}

		return idemddbtest.None
	})
}

// end ends the outage and the leases, and has the requests arrive that were under way.
func (o *outage) end() {
	o.isOut.Store(false)
	time.Sleep(time.Minute)
	o.db.Deliver()
	time.Sleep(time.Minute)
}

func (o *outage) work(_ context.Context, m events.SQSMessage) error {
	time.Sleep(time.Second)

	if m.Body == "k4" && o.isOut.Load() {
		return errBank
	}

	o.effects.add(m.Body)

	return nil
}

// done returns how often the work of the key with this number was done. What is staged is done when it is committed.
func (o *outage) done(key int) int {
	name := fmt.Sprint("k", key)

	if o.opts.Optimistic {
		n, _ := strconv.Atoi(o.counted(name))

		return n
	}

	return len(slices.DeleteFunc(o.effects.all(), func(of string) bool { return of != name }))
}

// during delivers the event in the outage, and returns the ids of the messages that are reported failed.
func (o *outage) during() (failed []string) {
	o.Helper()

	ctx := o.limited(40 * time.Second)
	response, err := o.function(ctx, o.event)
	o.equal("error", err, nil)
	o.equal("in time", ctx.Err(), nil)

	failed = ids(response)

	for i := range outageKeys {
		id := fmt.Sprint("m", i)
		isFailed, isDone := slices.Contains(failed, id), o.done(i) > 0

		// A commit without an answer is reported, whether it was applied or not.
		o.equal(id+" is reported unless its work is done", isFailed, !isDone || o.opts.Optimistic && isFailed)
		o.equal(id+" runs once", o.done(i) <= 1, true)
	}

	o.equal("messages of one key are reported alike", slices.Contains(failed, "m6"), slices.Contains(failed, "m1"))

	return failed
}

// deliverFailed delivers the messages that were reported failed, when the outage is over.
func (o *outage) deliverFailed(failed []string) {
	o.Helper()

	var back events.SQSEvent
	for _, m := range o.event.Records {
		if slices.Contains(failed, m.MessageId) {
			back.Records = append(back.Records, m)
		}
	}

	o.answered(o.function, deliveredFor(back, 2))

	for i := range outageKeys {
		o.equal("effects of what came back", o.done(i), 1)
	}
}

// deliverAll delivers all messages once more. Those run again whose completion was lost, and a commit that was lost did nothing.
func (o *outage) deliverAll() {
	o.Helper()

	o.answered(o.function, deliveredFor(o.event, 3))

	most := 2
	if o.opts.Optimistic {
		most = 1
	}

	for i := range outageKeys {
		o.equal("as often as it may be done", o.done(i) <= most, true)
		o.equal("record", o.state(fmt.Sprint("k", i)), "COMPLETED")
	}
}

func TestAnOutageEndsTheInvocationWhenTheRetryTimeOfItsClaimsIsOver(t *testing.T) {
	t.Parallel()

	for fault, retryTime := range map[idemddbtest.Fault]time.Duration{
		idemddbtest.LostRequest: 5 * time.Second, idemddbtest.Throttle: 5 * time.Second, idemddbtest.ThrottleAccount: 5 * time.Second,
		idemddbtest.ServerError: 5 * time.Second, idemddbtest.EmptyAnswer: 5 * time.Second, idemddbtest.LateReply: 5 * time.Second,
		idemddbtest.AccessDenied: 0,
	} {
		for _, w := range ways {
			for _, count := range []int{10, 100} {
				if testing.Short() && count == 100 && fault != idemddbtest.Throttle {
					continue
				}

				each(t, fmt.Sprintf("%s, %s, %d messages", fault, w.name, count), bothModes, func(h *harness) {
					h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
						time.Sleep(time.Millisecond) // claims that are made meanwhile share the next request

						return fault
					})

					took := h.answeredIn(15*time.Minute, w.wrap(h, succeed), numbered(count), messageIDs(count)...)
					h.equal("runs", len(h.runs.all()), 0)
					h.equal("lines", strings.Count(h.log.String(), "outcome=unanswered"), count)

					// One try of a request that is never answered takes 100 ms when the retry time is over.
					after := 1500 * time.Millisecond
					if fault == idemddbtest.LateReply && h.store.Engine().Ahead() == 0 {
						after += time.Duration(count) * 100 * time.Millisecond
					}
					h.lasts(took, retryTime-time.Second/10, retryTime+after)

					// Pauses are 1 s at most, the first and the last ones are shorter. Then each message or group has one try.
					const tries = 35

					limit := tries + count
					if w.name == "Batch" { // all messages are claimed at the same time, 25 with each request
						limit = tries*(count+24)/25 + count
					}

					if claiming := map[string]int{"SQS": 1, "SQS, 4 workers": 4, "Batch": count}[w.name]; fault == idemddbtest.EmptyAnswer {
						limit = tries*max(claiming, 25) + count // it turns shared requests off
					} else if h.store.Engine().Ahead() == 0 {
						limit = tries*claiming + count
					}

					h.atMost("requests", len(h.db.Requests()), limit)
					h.idle()
				})
			}
		}
	}
}

func TestAnOutageThatIsShorterThanTheRetryTimeOfClaimsFailsNoMessage(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		begun := time.Now()
		h.db.Intercept(faultFor(func(idemddbtest.Request) bool { return time.Since(begun) < 3*time.Second }, idemddbtest.Throttle))

		h.answeredIn(time.Minute, wrap(succeed), numbered(30))
		h.ran(messageIDs(30)...)
	})
}

func TestAClaimWhoseAnswerIsLostIsRecognised(t *testing.T) {
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		var met atomic.Int64

		h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return isCallOf(isClaim)(r) && met.Add(1)%2 == 1 }, idemddbtest.LostReply))

		h.answeredIn(time.Minute, wrap(succeed), numbered(60))
		h.ran(messageIDs(60)...)
	})
}

func TestWithFailOnOutageAnOutageIsAnInvocationError(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name     string
		messages events.SQSEvent
		limit    time.Duration
	}{
		{"a standard queue", numbered(30), time.Minute},
		{"one FIFO group", batch("m1 k1 a", "m2 k2 a", "m3 k3 a"), time.Minute},
		{"FIFO groups", batch("m1 k1 a", "m2 k2 b", "m3 k3 a"), time.Minute},
		{"a key twice", batch("m1 k1", "m2 k1"), time.Minute},
		{"an invocation that is not much longer than the retry time of claims", numbered(30), 8 * time.Second},
	} {
		for _, w := range waysAndOptimistic {
			if testing.Short() && len(c.messages.Records) == 30 && (w.name == "Batch" || w.name == "SQS, optimistic" && c.limit == time.Minute) {
				continue // many tries
			}

			each(t, c.name+", "+w.name, bothModes, func(h *harness) {
				h.opts.FailOnOutage = true
				h.meets(idemddbtest.LostRequest)

				h.errs("the invocation", errorOf(w.wrap(h, succeed)(h.limited(c.limit), c.messages)), "DynamoDB")
			})
		}
	}
}

func TestWithFailOnOutageAnythingElseIsReportedMessageByMessage(t *testing.T) {
	t.Parallel()

	for name, set := range map[string]func(h *harness) lambdawrap.Handler{
		"one is done": func(h *harness) lambdawrap.Handler {
			h.throttled("k1", func() bool { return true })
			h.throttled("k2", func() bool { return true })

			return succeed
		},
		"one handler fails, the others have no answer": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return len(r.Items) > 0 || keyOf(r) != "k0" }, idemddbtest.AccessDenied))

			return failWith(errBank)
		},
		"all handlers fail": func(*harness) lambdawrap.Handler {
			return failWith(errBank)
		},
		"all are held elsewhere": func(h *harness) lambdawrap.Handler {
			for i := range 3 {
				claim(h, h.store, fmt.Sprint("k", i))
			}

			return succeed
		},
		"none has a key": func(h *harness) lambdawrap.Handler {
			h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "", nil }

			return succeed
		},
		"the records of all are unwritten": func(h *harness) lambdawrap.Handler {
			h.db.Intercept(faultFor(isCallOf(isCompletion), idemddbtest.Throttle))

			return succeed
		},
		"the invocation begins in its reserve": func(h *harness) lambdawrap.Handler {
			h.opts.Reserve = 20 * time.Second

			return succeed
		},
	} {
		for _, w := range ways {
			each(t, name+", "+w.name, bothModes, func(h *harness) {
				h.opts.FailOnOutage = true

				h.within(20*time.Second, w.wrap(h, set(h)), numbered(3))
			})
		}
	}
}
