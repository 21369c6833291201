package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// DynamoDB stops to answer after some requests, and answers again when the invocation has ended. No message is lost, and no invocation
// runs a key twice.
func TestAnOutageThatBeginsInTheMiddle(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateCommit, idemddbtest.Throttle, idemddbtest.AccessDenied, idemddbtest.TruncatedBody,
	} {
		for w, way := range waysAndOptimistic {
			for m, mode := range modes[:3] {
				if testing.Short() && (m != 0 || w == 0 || fault == idemddbtest.AccessDenied || fault == idemddbtest.TruncatedBody) {
					continue
				}

				t.Run(fmt.Sprint(fault, ", ", way.name, ", ", mode.name), func(t *testing.T) {
					t.Parallel()
					bubble(t, nil, func(of *harness) {
						k := 0
						for runOutage(newHarness(of.TB, &mode.opts), way.wrap, fault, k) {
							k++
						}
					})
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

	ctx, cancel := context.WithTimeout(o.Context(), 40*time.Second)
	defer cancel()

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

	response, err := o.function(o.Context(), deliveredFor(back, 2))
	o.equal("error", err, nil)
	o.equal("failed, later", ids(response), []string(nil))

	for i := range outageKeys {
		o.equal("effects of what came back", o.done(i), 1)
	}
}

// deliverAll delivers all messages once more. Those run again whose completion was lost, and a commit that was lost did nothing.
func (o *outage) deliverAll() {
	o.Helper()

	response, err := o.function(o.Context(), deliveredFor(o.event, 3))
	o.equal("error", err, nil)
	o.equal("failed, at last", ids(response), []string(nil))

	most := 2
	if o.opts.Optimistic {
		most = 1
	}

	for i := range outageKeys {
		o.equal("as often as it may be done", o.done(i) <= most, true)
		o.equal("record", o.state(fmt.Sprint("k", i)), "COMPLETED")
	}
}
